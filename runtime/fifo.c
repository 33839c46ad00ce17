/* Fifo. A blocking open would go on behind a signal, or miss one that comes just before it: so it
 * asks again and again. */
#define _GNU_SOURCE
#include "runtime/fifo.h"

#include "runtime/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static bool is_fifo(const char *path) {
    struct stat target;
    return !stat(path, &target) && S_ISFIFO(target.st_mode);
}

static int open_now(const char *path, int flags) {
    int descriptor = open(path, flags | O_NONBLOCK, 0666);
    if (descriptor >= 0) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return descriptor;
}

int fifo_open(const char *path, int flags) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (;;) {
        int descriptor = open_now(path, flags);
        if (descriptor >= 0 || errno != ENXIO) return descriptor;
        if (!is_fifo(path)) return errno = ENXIO, -1;
        if (interrupted()) return errno = EINTR, -1;
        nanosleep(&pause, NULL);
    }
}
