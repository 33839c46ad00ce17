/* Tap: where the bytes of a feed come from, one after the other: standard input, a process, a
 * socket; or the names of files that come into a folder. One thread reads; another may stop it. */
#ifndef FLOW_TAP_H
#define FLOW_TAP_H

#include "runtime/flow.h"

/* What a read has met. */
typedef enum TapState {
    TAP_flows,   /* bytes */
    TAP_pauses,  /* who wrote has gone, another one may come: a record ends here */
    TAP_ended,   /* no more come */
    TAP_stopped, /* `stopper` has become readable */
} TapState;

typedef struct TapRead {
    TapState state;
    size_t size; /* bytes that were read */
} TapRead;

typedef struct Tap Tap;
struct Tap {
    const char *name; /* for messages */
    /* Waits for bytes, and takes as many as there are and there is room for. */
    FlowStatus (*read)(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got);
    void (*close)(Tap *tap);
};

/* What the path "-" stands for. On failure *tap is NULL. */
FlowStatus tap_open(const FlowOrigin *origin, Tap **tap);
void tap_close(Tap *tap);

/* Of a descriptor, which stays the caller's, as the name does. */
FlowStatus tap_of_descriptor(int descriptor, const char *name, Tap **tap);

/* Of a child process: what it writes to its standard output. */
FlowStatus tap_of_command(const FlowOrigin *origin, Tap **tap);

/* Of a socket: "unix:/path" or "host:port". */
FlowStatus tap_of_connection(const char *address, Tap **tap);
FlowStatus tap_of_listener(const char *address, Tap **tap);

/* The names of the files that match the pattern, each once, with a NUL behind it: those that are
 * there, sorted, then each when it is complete: closed after writing, or moved there. */
FlowStatus tap_of_folder(const char *pattern, Tap **tap);

/* The same bytes, unpacked if they begin as a codec's. Takes `packed` over, on failure too. */
FlowStatus tap_unpacked(Tap *packed, Tap **tap);

/* For taps: waits until the descriptor can be read. False: `stopper` can. */
bool tap_wait(int descriptor, int stopper);

/* For taps: reads from a descriptor; what has no more bytes has ended. */
FlowStatus tap_read_descriptor(const Tap *tap, int descriptor, int stopper, char *bytes,
                               size_t room, TapRead *got);

/* For taps: one of so many bytes, whose name is a copy; NULL: no memory. */
void *tap_new(size_t size, const char *name);
FlowStatus tap_no_memory(const char *name);

#endif
