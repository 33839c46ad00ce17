/* Trap: signals of threads that go where nothing is. The handler has a stack of its own, and leaves
 * it as threads do that wait: for the fiber that runs the others. Other faults are left to whoever
 * would have got them. ThreadSanitizer doesn't stand a handler that is left: under it there is
 * no trap. */
#define _GNU_SOURCE
#include "runtime/device/simulated_launch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__
#endif
#endif

enum { STACK = 64 << 10 };

static const int signals[] = {SIGSEGV, SIGBUS};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct {
    Launch *launch;
    pthread_t thread; /* that makes it */
    struct sigaction before[SIGNALS];
    stack_t stack_before;
    char *stack;
} trap;

static void handle(int number, siginfo_t *about, void *context) {
    Launch *launch = trap.launch;
    bool is_kernel = pthread_equal(pthread_self(), trap.thread) && launch->running;
    long long thread = launch->seen.thread;
    (void)context;
    if (is_kernel && fiber_is_beyond(launch->running, about->si_addr))
        launch_fail(launch, "thread %lld has no more stack", thread);
    if (is_kernel && memory_is_of_device((uintptr_t)about->si_addr))
        launch_fail(launch, "thread %lld goes to memory of the device without saying so", thread);
    for (int i = 0; i < SIGNALS; i++) /* it comes again there */
        if (signals[i] == number) sigaction(number, &trap.before[i], NULL);
}

bool trap_open(Launch *launch) {
#ifdef __SANITIZE_THREAD__
    return true;
#endif
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (!trap.stack && !(trap.stack = malloc(STACK))) return false;
    trap.launch = launch;
    trap.thread = pthread_self();
    sigemptyset(&action.sa_mask);
    if (sigaltstack(&(stack_t){.ss_sp = trap.stack, .ss_size = STACK}, &trap.stack_before))
        return false;
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &action, &trap.before[i]);
    return true;
}

void trap_close(void) {
#ifdef __SANITIZE_THREAD__
    return;
#endif
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &trap.before[i], NULL);
    sigaltstack(&trap.stack_before, NULL);
}
