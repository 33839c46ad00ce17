/* Who blocks is told, once; who computes, goes on slowly or has nothing to do is not. */
#include "runtime/watchdog.h"
#include "tests/runtime/test.h"

#include <pthread.h>
#include <time.h>

static atomic_bool over;

static void rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void *compute(void *argument) {
    beat_begin(argument, "computes");
    while (!over) continue;
    beat_end(argument);
    return NULL;
}

static void *go_on(void *argument) {
    beat_begin(argument, "goes on");
    for (int64_t record = 0; !over; record++) {
        beat_at(argument, record);
        rest();
    }
    beat_end(argument);
    return NULL;
}

static void *idle(void *argument) {
    beat_begin(argument, "was there");
    beat_end(argument);
    while (!over) rest();
    return NULL;
}

static void *block(void *argument) {
    beat_begin(argument, "makes a record");
    beat_at(argument, 17);
    while (!over) rest();
    beat_end(argument);
    return NULL;
}

int main(void) {
    enum { THREADS = 4, MINUTE = 12000 };
    static Beat beats[THREADS] = {
        {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "reader", .place = "x.tar"}};
    void *(*const bodies[])(void *) = {compute, go_on, idle, block};
    pthread_t threads[THREADS];
    size_t size = 0;
    test_folder();
    if (!freopen("said", "w", stderr)) return 99;
    setenv("FLOWC_WATCHDOG", "2", 1);
    watchdog_start("test");
    for (int i = 0; i < THREADS; i++) beat_add(&beats[i]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, bodies[i], &beats[i]);
    for (int i = 0; i < MINUTE && !size; i++) {
        rest();
        fflush(stderr);
        free(read_test_file("said", &size));
    }
    over = true;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) beat_remove(&beats[i]);
    watchdog_stop();
    char *said = read_test_file("said", &size);
    CHECK_SAYS(said, "test: blocked since ");
    CHECK_SAYS(said, ": reader makes a record (x.tar: record 17)\n");
    CHECK(said && strchr(said, '\n') == said + size - 1, "not one line: %s", said);
    free(said);
    test_folder_remove();
    return test_result();
}
