/* Interrupt: handlers only set a flag; everything else happens between two steps. */
#define _GNU_SOURCE
#include "runtime/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int stop;

static void handle(int signal) {
    if (atomic_exchange(&stop, 1)) _exit(128 + signal);
}

/* A signal that was being ignored, as under nohup, stays ignored. */
static void watch(int number) {
    struct sigaction old, action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void interrupt_watch(void) {
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

bool interrupted(void) {
    return atomic_load_explicit(&stop, memory_order_relaxed);
}

FlowStatus interrupt_reading(const char *path) {
    return flow_failure(FLOW_EXIT_interrupted, "interrupted while %s was read", path);
}

FlowStatus interrupt_unread(const char *path) {
    return flow_failure(FLOW_EXIT_interrupted, "interrupted before anyone read %s", path);
}

void interrupt_now(void) {
    stop = 1;
}
