#define _GNU_SOURCE
#include "runtime/format/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EVENT_ROOM = 4096, TEXT_LIMIT = 600 }; /* bytes: of an event, of a text in it */

static const char start[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", end_text[] = "\n]}\n";

/* Writing. */

/* 0, or the errno. */
static int write_all(const Events *events, const char *bytes, size_t size, int64_t at) {
    while (size) {
        ssize_t written = pwrite(events->file, bytes, size, at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written ? errno : ENOSPC;
        bytes += written, at += written, size -= (size_t)written;
    }
    return 0;
}

/* What was written before is a whole file again: the place of its end is still the file's. */
static void take_back(const Events *events) {
    const size_t size = sizeof end_text - 1;
    if (!events->written || write_all(events, end_text, size, events->written)) return;
    if (ftruncate(events->file, events->written + (off_t)size)) return;
}

/* The end goes with it, and is where the next bytes go. */
void events_flush(Events *events) {
    if (events->file < 0 || events->failed) return;
    memcpy(events->text + events->used, end_text, sizeof end_text - 1);
    events->failed =
        write_all(events, events->text, events->used + sizeof end_text - 1, events->written);
    if (events->failed) take_back(events);
    else events->written += (int64_t)events->used;
    events->used = 0;
}

static void add(Events *events, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Events *events, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size =
        vsnprintf(events->text + events->used, EVENTS_ROOM - events->used, format, arguments);
    va_end(arguments);
    if (size > 0) events->used += (size_t)size;
}

/* Bytes of the character of UTF-8 that begins here; 0: none does. */
static int character(const unsigned char *text) {
    int size = *text < 0x80 ? 1 : *text >= 0xf0 ? 4 : *text >= 0xe0 ? 3 : *text >= 0xc2 ? 2 : 0;
    if (*text > 0xf4 || *text < 0x20 || *text == 0x7f) return 0;
    for (int i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    bool wrong = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] >= 0xa0) ||
                 (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] >= 0x90);
    return wrong ? 0 : size;
}

static void add_string(Events *events, const char *text) {
    const unsigned char *at = (const unsigned char *)text, *limit = at + TEXT_LIMIT;
    char *to = events->text + events->used;
    *to++ = '"';
    while (*at && at < limit) {
        int size = character(at);
        if (!size) *to++ = '?', at++;
        else if (*at == '"' || *at == '\\') *to++ = '\\';
        for (; size > 0; size--) *to++ = (char)*at++;
    }
    *to++ = '"';
    events->used = (size_t)(to - events->text);
}

/* Makes room for an event, and begins it. */
static bool begin(Events *events) {
    if (events->file < 0 || events->failed) return false;
    if (EVENTS_ROOM - events->used < EVENT_ROOM) events_flush(events);
    add(events, "%s\n", events->any ? "," : "");
    events->any = true;
    return true;
}

/* Microseconds. */
static void add_time(Events *events, const char *name, int64_t time) {
    add(events, ",\"%s\":%lld.%03d", name, (long long)(time / 1000), (int)(time % 1000));
}

/* Events. */

static void name_it(Events *events, const char *what, EventTrack track, const char *name) {
    if (!begin(events)) return;
    add(events, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what,
        track.process, track.thread);
    add_string(events, name);
    add(events, "}}");
}

void events_process(Events *events, int process, const char *name) {
    name_it(events, "process_name", (EventTrack){process, 0}, name);
}

void events_thread(Events *events, EventTrack track, const char *name) {
    name_it(events, "thread_name", track, name);
}

void events_span(Events *events, EventTrack track, const char *name, const char *detail,
                 int64_t begins, int64_t ends) {
    if (!begin(events)) return;
    add(events, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d", track.process, track.thread);
    add_time(events, "ts", begins);
    add_time(events, "dur", ends > begins ? ends - begins : 0);
    add(events, ",\"name\":");
    add_string(events, name);
    if (detail) {
        add(events, ",\"args\":{\"what\":");
        add_string(events, detail);
        add(events, "}");
    }
    add(events, "}");
}

void events_count(Events *events, const char *name, int64_t time, int64_t value) {
    if (!begin(events)) return;
    add(events, "{\"ph\":\"C\",\"pid\":1,\"name\":");
    add_string(events, name);
    add_time(events, "ts", time);
    add(events, ",\"args\":{\"number\":%lld}}", (long long)value);
}

/* Opening. */

static FlowStatus failure(const Events *events, int error) {
    return flow_failure(FLOW_EXIT_resource, "--trace: %.300s: %s", events->path, strerror(error));
}

FlowStatus events_open(Events *events, const char *path) {
    events->written = 0;
    events->used = 0;
    events->any = false;
    events->failed = 0;
    snprintf(events->path, sizeof events->path, "%s", path);
    events->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (events->file < 0) return failure(events, errno);
    add(events, "%s", start);
    events_flush(events);
    return events->failed ? failure(events, events->failed) : flow_ok;
}

FlowStatus events_close(Events *events) {
    if (events->file < 0) return flow_ok;
    events_flush(events);
    FlowStatus status = events->failed ? failure(events, events->failed) : flow_ok;
    if (close(events->file) && !status.exit) status = failure(events, errno);
    events->file = -1;
    return status;
}
