/* Mapping: a list says which memory is which file's. The handler may look at it whenever it is
 * called: whoever changes it holds a lock, and touches no mapped byte while he does. */
#define _GNU_SOURCE
#include "runtime/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Mapping {
    struct Mapping *next;
    const char *bytes;
    size_t room; /* with the page behind the file's */
    char path[];
} Mapping;

static Mapping *mappings;
static atomic_flag changing = ATOMIC_FLAG_INIT;
static const char *program_name;

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&changing, memory_order_acquire)) continue;
}

static void unlock(void) {
    atomic_flag_clear_explicit(&changing, memory_order_release);
}

/* What SIGBUS means. */

static const Mapping *find(const char *address) {
    const Mapping *mapping = mappings;
    while (mapping && (address < mapping->bytes || address >= mapping->bytes + mapping->room))
        mapping = mapping->next;
    return mapping;
}

typedef struct Line {
    char text[1024];
    size_t used;
} Line;

/* What would command a terminal is left out. */
static void add(Line *line, const char *text) {
    for (; *text && line->used < sizeof line->text; text++)
        line->text[line->used++] = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
}

/* Only calls what a signal handler may. */
static void handle(int number, siginfo_t *about, void *context) {
    (void)context;
    lock();
    const Mapping *mapping = find(about->si_addr);
    unlock();
    if (!mapping) {
        signal(number, SIG_DFL); /* and it happens again */
        return;
    }
    Line line = {.used = 0};
    add(&line, program_name);
    add(&line, ": error: ");
    add(&line, mapping->path);
    add(&line, ": has become shorter while it was read, or its disk fails");
    if (line.used == sizeof line.text) line.used--;
    line.text[line.used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line.text, line.used);
    (void)written;
    _exit(FLOW_EXIT_data);
}

void mapping_watch(const char *program) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    program_name = program;
    sigaction(SIGBUS, &action, NULL);
}

/* Mapping. */

static FlowStatus failure(const char *path, int error) {
    return flow_failure(FLOW_EXIT_resource, "%s: cannot be mapped: %s", path, strerror(error));
}

/* MAP_FAILED: errno says why. */
static void *map(int descriptor, size_t size, size_t room) {
    void *bytes = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED || !size ||
        mmap(bytes, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) != MAP_FAILED)
        return bytes;
    int error = errno;
    munmap(bytes, room);
    errno = error;
    return MAP_FAILED;
}

FlowStatus mapping_new(const char *path, int descriptor, size_t size, const char **bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), length = strlen(path) + 1;
    size_t room = (size + page - 1) / page * page + page;
    Mapping *mapping = malloc(sizeof *mapping + length);
    *bytes = NULL;
    if (!mapping) return failure(path, ENOMEM);
    void *mapped = map(descriptor, size, room);
    if (mapped == MAP_FAILED) {
        FlowStatus status = failure(path, errno);
        free(mapping);
        return status;
    }
    *mapping = (Mapping){.bytes = *bytes = mapped, .room = room};
    memcpy(mapping->path, path, length);
    lock();
    mapping->next = mappings;
    mappings = mapping;
    unlock();
    return flow_ok;
}

void mapping_free(const char *bytes) {
    if (!bytes) return;
    lock();
    Mapping **place = &mappings;
    while ((*place)->bytes != bytes) place = &(*place)->next;
    Mapping *mapping = *place;
    *place = mapping->next;
    unlock();
    munmap((void *)mapping->bytes, mapping->room);
    free(mapping);
}
