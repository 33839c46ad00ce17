/* Cache: every record is made by one thread and found by all, in memory and in a file; a file is
 * there once all records are, and is refused when a byte that matters is another. */
#include "runtime/cache.h"
#include "tests/runtime/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { RECORDS = 5000, THREADS = 4, ROUNDS = 3 };

static const FlowField fields[] = {{.name = "a", .type = {FLOW_i64, 0, {0}}},
                                   {.name = "b", .type = {FLOW_u8, 1, {3}}}};

static CacheForm form_of(const char *path) {
    return (CacheForm){.name = "test",
                       .line = "test.flow:1",
                       .fields = fields,
                       .field_count = 2,
                       .records = RECORDS,
                       .path = path,
                       .key = {.code = {1, 2}, .data = {3, 4}}};
}

typedef struct Reader {
    Cache *cache;
    int first;
    atomic_int *made;
} Reader;

static bool fails(int64_t record) {
    return record % 1000 == 999;
}

static void check_record(int64_t record, const void *const *values) {
    int64_t a;
    unsigned char b[3];
    memcpy(&a, values[0], sizeof a);
    memcpy(b, values[1], sizeof b);
    bool good = a == record * 3 && b[0] == record % 251 && b[1] == 7 && b[2] == 9;
    CHECK(good, "record %lld", (long long)record);
}

static void make_record(int64_t record, const void *const *places) {
    int64_t a = record * 3;
    unsigned char b[3] = {(unsigned char)(record % 251), 7, 9};
    memcpy((void *)places[0], &a, sizeof a);
    memcpy((void *)places[1], b, sizeof b);
}

static void *read_all(void *argument) {
    const Reader *reader = argument;
    const void *values[2];
    for (int i = 0; i < RECORDS * ROUNDS; i++) {
        int64_t record = (i + reader->first) % RECORDS;
        if (cache_find(reader->cache, record, values)) check_record(record, values);
        else if (cache_claim(reader->cache, record, values)) {
            make_record(record, values);
            atomic_fetch_add(&reader->made[record], 1);
            cache_settle(reader->cache, record, !fails(record));
        }
    }
    return NULL;
}

static void read_by_many(Cache *cache) {
    static atomic_int made[RECORDS];
    pthread_t threads[THREADS];
    Reader readers[THREADS];
    for (int i = 0; i < RECORDS; i++) atomic_store(&made[i], 0);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (Reader){cache, i * 17, made};
        CHECK(!pthread_create(&threads[i], NULL, read_all, &readers[i]), "thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < RECORDS; i++)
        CHECK(atomic_load(&made[i]) == 1, "record %d was made %d times", i, atomic_load(&made[i]));
}

static void in_memory(void) {
    Cache *cache;
    CacheForm form = form_of(NULL);
    FlowStatus status = cache_new(&form, &cache);
    CHECK(!status.exit, "%s", status.text);
    read_by_many(cache);
    cache_close(cache);
}

static bool is_there(const CacheForm *form) {
    Cache *cache;
    FlowStatus status = cache_load(form, &cache);
    bool there = cache != NULL;
    CHECK(!status.exit || !there, "%s", status.text);
    for (int64_t i = 0; there && i < RECORDS; i++) {
        const void *values[2];
        bool found = cache_find(cache, i, values);
        CHECK(found == !fails(i), "record %lld", (long long)i);
        if (found) check_record(i, values);
        CHECK(!cache_claim(cache, i, values), "a record of a file can be claimed");
    }
    if (there) CHECK(cache_has_failures(cache) && cache_records(cache) == RECORDS, "its records");
    cache_close(cache);
    return there;
}

static void set_byte(const char *path, off_t place, unsigned char byte) {
    int descriptor = open(path, O_WRONLY);
    CHECK(pwrite(descriptor, &byte, 1, place) == 1, "pwrite");
    close(descriptor);
}

static unsigned char byte_at(const char *path, off_t place) {
    unsigned char byte = 0;
    int descriptor = open(path, O_RDONLY);
    CHECK(pread(descriptor, &byte, 1, place) == 1, "pread");
    close(descriptor);
    return byte;
}

/* Of the header and of the states. */
static void refuses_other_bytes(const CacheForm *form) {
    for (off_t place = 0; place < 4096 + 100; place = place == 63 ? 4096 : place + 1) {
        unsigned char byte = byte_at(form->path, place);
        set_byte(form->path, place, byte ^ 0x40);
        CHECK(!is_there(form), "byte %lld is another", (long long)place);
        set_byte(form->path, place, byte);
    }
    CHECK(is_there(form), "as it was");
}

static void in_file(void) {
    char path[4096];
    const char *folder = getenv("TEST_DIR");
    snprintf(path, sizeof path, "%s/cache.%d", folder ? folder : ".", (int)getpid());
    CacheForm form = form_of(path);
    Cache *cache;
    CHECK(!is_there(&form), "there is none yet");
    FlowStatus status = cache_new(&form, &cache);
    CHECK(!status.exit, "%s", status.text);
    CHECK(access(path, F_OK), "an empty cache has a name");
    read_by_many(cache);
    CHECK(!access(path, F_OK), "a whole cache has no name");
    cache_close(cache);
    CHECK(is_there(&form), "the file");
    if (!freopen("/dev/null", "w", stderr)) return; /* each refusal is a line */
    refuses_other_bytes(&form);
    CHECK(!truncate(path, 5000) && !is_there(&form), "a part of it");
    unlink(path);
}

int main(void) {
    in_memory();
    in_file();
    return test_result();
}
