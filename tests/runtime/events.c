/* Events: any text is a string of JSON, and the file is whole between any two calls. */
#include "runtime/format/events.h"
#include "runtime/format/json.h"
#include "tests/runtime/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

enum { MANY = 3000 };

static Events events;

/* Is it one value of JSON? How many events; -1: it is not. */
static int count_events(void) {
    size_t size = 0;
    const char *name;
    int count = 0;
    char *text = read_test_file("events.json", &size);
    Json json = json_new(text, size);
    bool good = json_open(&json, '{');
    while (good && json_member(&json, &name)) {
        bool is_list = !strcmp(name, "traceEvents");
        good = is_list ? json_open(&json, '[') : json_skip(&json);
        while (is_list && good && json_element(&json)) good = json_skip(&json), count++;
    }
    good = good && !json.error && json_end(&json);
    free(text);
    return good ? count : -1;
}

static void expect(int wanted) {
    int count = count_events();
    CHECK(count == wanted, "%d events, not %d", count, wanted);
}

static void spans(void) {
    const EventTrack track = {1, 7};
    FlowStatus status = events_open(&events, "events.json");
    CHECK(!status.exit, "%s", status.text);
    expect(0);
    events_process(&events, 1, "cpu");
    events_thread(&events, track, "worker \"0\"");
    expect(0); /* until it is flushed */
    events_flush(&events);
    expect(2);
    for (int i = 0; i < MANY; i++) events_span(&events, track, "x", NULL, i * 1000, i * 1000 + 1);
    CHECK(count_events() > 2, "no event was written before the end");
    events_count(&events, "ready", 5, -3);
    status = events_close(&events);
    CHECK(!status.exit, "%s", status.text);
    expect(3 + MANY);
}

/* Each byte by itself, each pair behind one that begins a character, and texts without end. */
static void texts(void) {
    char text[8] = "", *huge = malloc(1 << 20);
    int count = 0;
    events_open(&events, "events.json");
    for (int first = 1; first < 256; first++)
        for (int second = first < 0xc0 ? 255 : 0; second < 256; second++, count++) {
            snprintf(text, sizeof text, "%c%c", first, second);
            events_span(&events, (EventTrack){1, 1}, text, text, 0, 1);
        }
    memset(huge, '"', (1 << 20) - 1);
    huge[(1 << 20) - 1] = 0;
    events_span(&events, (EventTrack){1, 1}, huge, huge, 0, 1);
    events_close(&events);
    expect(count + 1);
    free(huge);
}

static void failures(void) {
    FlowStatus status = events_open(&events, "nowhere/events.json");
    CHECK(status.exit == FLOW_EXIT_resource, "%d", status.exit);
    CHECK_SAYS(status.text, "--trace: nowhere/events.json: No such file");
    events_span(&events, (EventTrack){1, 1}, "x", NULL, 0, 1); /* does nothing */
    CHECK(!events_close(&events).exit, "it was never open");
    if (events_open(&events, "/dev/full").exit) return;
    events_span(&events, (EventTrack){1, 1}, "x", NULL, 0, 1);
    status = events_close(&events);
    CHECK(status.exit == FLOW_EXIT_resource, "a full disk is noticed");
}

/* A file that may not become as large as it would: what was written before is whole, and what went
 * wrong is said, whatever does afterwards. */
static void full(void) {
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit little = {20000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    events_open(&events, "events.json");
    for (int i = 0; i < 10; i++) events_span(&events, (EventTrack){1, 1}, "x", NULL, i, i + 1);
    events_flush(&events);
    setrlimit(RLIMIT_FSIZE, &little);
    for (int i = 0; i < MANY; i++) events_span(&events, (EventTrack){1, 1}, "x", NULL, i, i + 1);
    events_flush(&events);
    expect(10);
    errno = 0;
    FlowStatus status = events_close(&events);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_SAYS(status.text, "--trace: events.json: File too large");
    expect(10);
}

int main(void) {
    test_folder();
    spans();
    texts();
    failures();
    full();
    test_folder_remove();
    return test_result();
}
