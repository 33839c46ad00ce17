/* Feed: records in order, long ones too, however the bytes come; what is forgotten makes room; who
 * waits is woken by the end, by a deadline, and when the feed is stopped. */
#include "runtime/clock.h"
#include "runtime/feed.h"
#include "tests/runtime/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

enum { RECORDS = 50000 };

typedef struct Pipe {
    int ends[2];
    Feed *feed;
} Pipe;

static Pipe open_pipe(void) {
    Pipe pipes;
    CHECK(!pipe(pipes.ends), "pipe");
    Tap *tap;
    FlowStatus status = tap_of_descriptor(pipes.ends[0], "test", &tap);
    if (!status.exit) status = feed_open(tap, feed_cut_line, NULL, &pipes.feed);
    CHECK(!status.exit, "%s", status.text);
    return pipes;
}

static void close_pipe(Pipe *pipes) {
    feed_close(pipes->feed);
    close(pipes->ends[0]);
    if (pipes->ends[1] >= 0) close(pipes->ends[1]);
}

static void end_writing(Pipe *pipes) {
    close(pipes->ends[1]);
    pipes->ends[1] = -1;
}

static void say(const Pipe *pipes, const char *text) {
    CHECK(write(pipes->ends[1], text, strlen(text)) == (ssize_t)strlen(text), "write");
}

/* Record i is i % 977 letters and a line end; every 10,000th is longer than a chunk. */
static size_t size_of(int64_t record) {
    return record % 10000 == 9999 ? 700000 : (size_t)(record % 977);
}

static void *write_records(void *argument) {
    int descriptor = *(int *)argument;
    FILE *file = fdopen(descriptor, "w");
    for (int64_t i = 0; i < RECORDS; i++) {
        for (size_t j = 0; j < size_of(i); j++) fputc('a' + (int)(i % 26), file);
        fputc('\n', file);
    }
    fclose(file);
    return NULL;
}

static void check_record(Feed *feed, int64_t i) {
    size_t size;
    const char *bytes = feed_record(feed, i, &size);
    bool same = size == size_of(i) + 1 && bytes[size - 1] == '\n';
    for (size_t j = 0; same && j + 1 < size; j++) same = bytes[j] == 'a' + (int)(i % 26);
    CHECK(same, "record %lld has %zu bytes", (long long)i, size);
}

static void gives_records_in_order(void) {
    Pipe pipes = open_pipe();
    pthread_t writer;
    FlowStatus status;
    pthread_create(&writer, NULL, write_records, &pipes.ends[1]);
    for (int64_t i = 0; i < RECORDS; i++) {
        CHECK(feed_wait(pipes.feed, i + 1, 0, NULL) > i, "record %lld", (long long)i);
        check_record(pipes.feed, i);
        if (i % 100 == 0) feed_forget(pipes.feed, i - 50); /* some are asked for again */
        if (i >= 40) check_record(pipes.feed, i - 40);
    }
    CHECK(feed_wait(pipes.feed, RECORDS + 1, 0, NULL) == RECORDS, "no more");
    CHECK(feed_has_ended(pipes.feed, &status) && !status.exit, "%s", status.text);
    pthread_join(writer, NULL);
    pipes.ends[1] = -1;
    close_pipe(&pipes);
}

static void takes_the_rest_as_the_last(void) {
    Pipe pipes = open_pipe();
    size_t size;
    say(&pipes, "one\ntw");
    say(&pipes, "o\nthree");
    end_writing(&pipes);
    CHECK(feed_wait(pipes.feed, 9, 0, NULL) == 3, "three records");
    CHECK(!memcmp(feed_record(pipes.feed, 2, &size), "three", 5) && size == 5, "%zu", size);
    close_pipe(&pipes);
}

static void waits_no_longer_than_told(void) {
    Pipe pipes = open_pipe();
    say(&pipes, "one\n");
    int64_t start = clock_nanoseconds();
    CHECK(feed_wait(pipes.feed, 2, start + 20000000, NULL) == 1, "one record");
    CHECK(clock_nanoseconds() - start >= 20000000, "too early");
    close_pipe(&pipes);
}

static void *wait_for_one(void *feed) {
    return feed_wait(feed, 1, 0, NULL) ? feed : NULL;
}

static void stopping_wakes(void) {
    Pipe pipes = open_pipe();
    pthread_t thread;
    void *got;
    pthread_create(&thread, NULL, wait_for_one, pipes.feed);
    usleep(1000);
    feed_stop(pipes.feed);
    pthread_join(thread, &got);
    CHECK(!got, "there was no record");
    close_pipe(&pipes);
}

/* A reader that nobody follows does not read on and on. It counts pieces that may be hardly more
 * than half full, with the rest of a record twice, and the places of records. */
static void holds_back(void) {
    const int64_t least = FEED_ROOM / 5 * 2;
    Pipe pipes = open_pipe();
    static char line[4096];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    int64_t written = 0;
    fcntl(pipes.ends[1], F_SETFL, O_NONBLOCK);
    for (int idle = 0; idle < 500 || (written <= least && idle < 30000);) {
        ssize_t size = write(pipes.ends[1], line, sizeof line);
        if (size > 0) written += size, idle = 0;
        else usleep(2000), idle++;
    }
    CHECK(written > least && written < 2 * FEED_ROOM, "%lld bytes", (long long)written);
    feed_forget(pipes.feed, written / (int64_t)sizeof line - 100);
    bool goes_on = false;
    for (int i = 0; i < 30000 && !goes_on; i++)
        if (!(goes_on = write(pipes.ends[1], line, sizeof line) > 0)) usleep(2000);
    CHECK(goes_on, "it does not go on when records are forgotten");
    close_pipe(&pipes);
}

static void a_longer_record_is_an_error(void) {
    Pipe pipes = open_pipe();
    static char part[1 << 20];
    FlowStatus status = flow_ok;
    memset(part, 'x', sizeof part);
    signal(SIGPIPE, SIG_IGN);
    fcntl(pipes.ends[1], F_SETFL, O_NONBLOCK);
    while (!feed_has_ended(pipes.feed, &status))
        if (write(pipes.ends[1], part, sizeof part) < 0) usleep(100);
    CHECK(status.exit == FLOW_EXIT_data &&
              strstr(status.text, "test: record 1 is longer than 64 MB"),
          "%s", status.text);
    close_pipe(&pipes);
}

int main(void) {
    gives_records_in_order();
    takes_the_rest_as_the_last();
    waits_no_longer_than_told();
    stopping_wakes();
    holds_back();
    a_longer_record_is_an_error();
    return test_result();
}
