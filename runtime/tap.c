#define _GNU_SOURCE
#include "runtime/tap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FlowStatus tap_no_memory(const char *name) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", name);
}

bool tap_wait(int descriptor, int stopper) {
    struct pollfd events[] = {{descriptor, POLLIN, 0}, {stopper, POLLIN, 0}};
    while (poll(events, 2, -1) < 0)
        if (errno != EINTR) return true; /* reading says what is wrong */
    return !events[1].revents;
}

FlowStatus tap_read_descriptor(const Tap *tap, int descriptor, int stopper, char *bytes,
                               size_t room, TapRead *got) {
    ssize_t size;
    do {
        *got = (TapRead){TAP_stopped, 0};
        if (!tap_wait(descriptor, stopper)) return flow_ok;
        size = read(descriptor, bytes, room);
    } while (size < 0 && (errno == EINTR || errno == EAGAIN));
    if (size < 0)
        return flow_failure(FLOW_EXIT_resource, "%s: cannot be read: %s", tap->name,
                            strerror(errno));
    *got = (TapRead){size ? TAP_flows : TAP_ended, (size_t)size};
    return flow_ok;
}

void *tap_new(size_t size, const char *name) {
    char *copy = strdup(name);
    Tap *tap = copy ? calloc(1, size) : NULL;
    if (tap) tap->name = copy;
    else free(copy);
    return tap;
}

void tap_close(Tap *tap) {
    if (!tap) return;
    char *name = (char *)tap->name;
    tap->close(tap);
    free(name);
}

/* A descriptor. */

typedef struct Descriptor {
    Tap tap;
    int number;
} Descriptor;

static FlowStatus read_descriptor(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    return tap_read_descriptor(tap, ((Descriptor *)tap)->number, stopper, bytes, room, got);
}

static void close_descriptor(Tap *tap) {
    free(tap);
}

FlowStatus tap_of_descriptor(int number, const char *name, Tap **tap) {
    Descriptor *descriptor = tap_new(sizeof *descriptor, name);
    *tap = descriptor ? &descriptor->tap : NULL;
    if (!descriptor) return tap_no_memory(name);
    descriptor->number = number;
    descriptor->tap.read = read_descriptor;
    descriptor->tap.close = close_descriptor;
    return flow_ok;
}

FlowStatus tap_open(const FlowOrigin *origin, Tap **tap) {
    switch (origin->kind) {
    case FLOW_ORIGIN_command: return tap_of_command(origin, tap);
    case FLOW_ORIGIN_connect: return tap_of_connection(origin->words[0].text, tap);
    case FLOW_ORIGIN_listen: return tap_of_listener(origin->words[0].text, tap);
    case FLOW_ORIGIN_input: break;
    }
    return tap_of_descriptor(STDIN_FILENO, "standard input", tap);
}
