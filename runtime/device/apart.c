#define _GNU_SOURCE
#include "runtime/device/apart.h"

#include "runtime/clock.h"
#include "runtime/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_EVERY = 2000000 /* nanoseconds */, OUT_OF_MEMORY_CODE = 3 };

/* The child. */

static void plain_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGSEGV,
                                  SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_DFL);
}

/* Bytes of memory of its own that this process has. */
static size_t own_memory(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*s %*s %*s %*s %*s %zu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(size_t more) {
    struct rlimit limit;
    const rlim_t most = own_memory() + more;
    if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur < most) return;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_DATA, &limit);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
}

static bool write_all(int file, const void *from, size_t size) {
    const char *bytes = from;
    while (size) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static void be_child(int result, int parent, ApartWork *work, const void *context, size_t memory) {
    setpgid(0, 0); /* so that what it starts ends with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    plain_signals();
    limit_memory(memory);
    ApartResult made = work(context);
    bool good = write_all(result, &made.status, sizeof made.status);
    if (good && !made.status.exit) good = write_all(result, made.bytes, made.size);
    _exit(good ? 0 : OUT_OF_MEMORY_CODE);
}

/* The parent. */

static FlowStatus not_started(const char *what) {
    return flow_failure(FLOW_EXIT_resource, "%s can't be given a process of its own: %s", what,
                        strerror(errno));
}

FlowStatus apart_start(Apart *apart, const char *what, ApartWork *work, const void *context,
                       ApartLimits limits) {
    const int parent = getpid();
    *apart = (Apart){.what = what, .result = memfd_create("flowc", MFD_CLOEXEC)};
    if (apart->result < 0) return not_started(what);
    apart->deadline = clock_nanoseconds() + (int64_t)limits.seconds * 1000000000;
    apart->process = fork();
    if (apart->process == 0) be_child(apart->result, parent, work, context, limits.memory);
    if (apart->process > 0) return flow_ok;
    FlowStatus status = not_started(what);
    close(apart->result);
    *apart = (Apart){0};
    return status;
}

static void end_now(const Apart *apart, int *how) {
    if (kill(-apart->process, SIGKILL)) kill(apart->process, SIGKILL);
    while (waitpid(apart->process, how, 0) < 0 && errno == EINTR) {
    }
}

/* How it ended: as waitpid says. Fails when it was ended. */
static FlowStatus await(const Apart *apart, int *how) {
    const struct timespec pause = {.tv_nsec = LOOK_EVERY};
    const int64_t began = clock_nanoseconds();
    for (;;) {
        int ended = waitpid(apart->process, how, WNOHANG);
        if (ended == apart->process) return flow_ok;
        if (ended < 0 && errno != EINTR) return not_started(apart->what);
        bool late = clock_nanoseconds() > apart->deadline;
        if (late || interrupted()) {
            double waited = (double)(clock_nanoseconds() - began) * 1e-9;
            end_now(apart, how);
            if (!late)
                return flow_failure(FLOW_EXIT_interrupted, "interrupted while %s worked",
                                    apart->what);
            return flow_failure(FLOW_EXIT_resource, "%s was stopped after %.0f seconds",
                                apart->what, waited);
        }
        nanosleep(&pause, NULL);
    }
}

static FlowStatus how_it_ended(const Apart *apart, int how) {
    if (WIFSIGNALED(how))
        return flow_failure(FLOW_EXIT_resource, "%s was ended by signal %d (%s)%s", apart->what,
                            WTERMSIG(how), strsignal(WTERMSIG(how)),
                            WTERMSIG(how) == SIGKILL ? "; perhaps memory was short" : "");
    if (!WEXITSTATUS(how)) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "%s gave up (exit code %d); perhaps memory was short",
                        apart->what, WEXITSTATUS(how));
}

static bool read_all(int file, void *to, size_t size, off_t from) {
    char *bytes = to;
    while (size) {
        ssize_t got = pread(file, bytes, size, from);
        if (got <= 0) return false;
        bytes += got, from += got, size -= (size_t)got;
    }
    return true;
}

static void take(const Apart *apart, ApartResult *made) {
    struct stat file;
    const size_t head = sizeof made->status;
    FlowStatus unread = flow_failure(FLOW_EXIT_resource, "%s gave nothing", apart->what);
    if (fstat(apart->result, &file) || (size_t)file.st_size < head ||
        !read_all(apart->result, &made->status, head, 0)) {
        made->status = unread;
        return;
    }
    if (made->status.exit) return;
    made->size = (size_t)file.st_size - head;
    made->bytes = calloc(made->size + 1, 1);
    if (made->bytes && read_all(apart->result, made->bytes, made->size, (off_t)head)) return;
    free(made->bytes);
    *made = (ApartResult){.status = unread};
}

ApartResult apart_finish(Apart *apart) {
    int how = 0;
    ApartResult made = {.status = await(apart, &how)};
    if (!made.status.exit) made.status = how_it_ended(apart, how);
    if (!made.status.exit) take(apart, &made);
    close(apart->result);
    *apart = (Apart){0};
    return made;
}
