/* Fiber: a switch is a call that saves the registers that calls leave alone and returns on another
 * stack. Processors without a few lines of assembly here use ucontext, which asks the kernel. */
#define _GNU_SOURCE
#include "runtime/device/fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined __x86_64__ && !defined __aarch64__
#define FIBER_UCONTEXT
#include <ucontext.h>
typedef ucontext_t Place;
#else
typedef void *Place;
#endif

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define FIBER_ADDRESSES
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_THREADS
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIBER_ADDRESSES
#endif
#ifdef __SANITIZE_THREAD__
#define FIBER_THREADS
#endif
#ifdef FIBER_ADDRESSES
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_THREADS
#include <sanitizer/tsan_interface.h>
#endif

enum { SHIFT = 320, SHIFT_LIMIT = 4096 };

struct Fiber {
    char *stack;        /* the guard page is first */
    size_t size, shift; /* so much of it stays free: stacks in other lines of the caches */
    Place own, caller;  /* where each goes on */
    void (*function)(void *context);
    void *context;
    bool resting; /* the function has returned, the next one may take its place */
#ifdef FIBER_ADDRESSES
    const void *caller_stack;
    size_t caller_size;
    void *kept[2]; /* their fake stacks: the caller's, its own */
#endif
#ifdef FIBER_THREADS
    void *known, *caller_known;
#endif
};

static _Thread_local Fiber *starting;

/* What sanitizers want to know of stacks. */

static void before_switch(Fiber *fiber, int inside) {
    (void)fiber, (void)inside;
#ifdef FIBER_ADDRESSES
    if (inside)
        __sanitizer_start_switch_fiber(&fiber->kept[1], fiber->caller_stack, fiber->caller_size);
    else __sanitizer_start_switch_fiber(&fiber->kept[0], fiber->stack, fiber->size);
#endif
#ifdef FIBER_THREADS
    if (!inside) fiber->caller_known = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inside ? fiber->caller_known : fiber->known, 0);
#endif
}

static void after_switch(Fiber *fiber, int inside) {
    (void)fiber, (void)inside;
#ifdef FIBER_ADDRESSES
    if (inside)
        __sanitizer_finish_switch_fiber(fiber->kept[1], &fiber->caller_stack, &fiber->caller_size);
    else __sanitizer_finish_switch_fiber(fiber->kept[0], NULL, NULL);
#endif
}

/* The switch. */

#if defined __x86_64__
void flow_fiber_switch(Place *from, const Place *to);
__asm__(".text\n.globl flow_fiber_switch\n.hidden flow_fiber_switch\n"
        ".type flow_fiber_switch, @function\nflow_fiber_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov (%rsi), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\npop %rcx\njmp *%rcx\n"
        ".size flow_fiber_switch, . - flow_fiber_switch\n");
enum { SAVED = 8, RETURN = 6 }; /* words that a paused stack begins with, and the one returned to */
#elif defined __aarch64__
void flow_fiber_switch(Place *from, const Place *to);
__asm__(".text\n.globl flow_fiber_switch\n.hidden flow_fiber_switch\n"
        ".type flow_fiber_switch, %function\nflow_fiber_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nldr x9, [x1]\nmov sp, x9\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n"
        ".size flow_fiber_switch, . - flow_fiber_switch\n");
enum { SAVED = 20, RETURN = 11 };
#else
static void flow_fiber_switch(Place *from, const Place *to) {
    swapcontext(from, to);
}
#endif

static void run_function(void) {
    Fiber *fiber = starting;
    after_switch(fiber, 1);
    for (;;) {
        fiber->resting = false;
        fiber->function(fiber->context);
        fiber->resting = true;
        fiber_pause(fiber);
    }
}

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

Fiber *fiber_new(size_t stack) {
    static _Thread_local size_t count;
    Fiber *fiber = calloc(1, sizeof *fiber);
    if (!fiber) return NULL;
    fiber->shift = count++ * SHIFT % SHIFT_LIMIT;
    fiber->size = page_size() + (stack + page_size() - 1) / page_size() * page_size();
    fiber->stack = mmap(NULL, fiber->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->stack != MAP_FAILED && !mprotect(fiber->stack, page_size(), PROT_NONE)) {
#ifdef FIBER_THREADS
        fiber->known = __tsan_create_fiber(0);
#endif
        return fiber;
    }
    if (fiber->stack != MAP_FAILED) munmap(fiber->stack, fiber->size);
    free(fiber);
    return NULL;
}

void fiber_free(Fiber *fiber) {
    if (!fiber) return;
#ifdef FIBER_THREADS
    __tsan_destroy_fiber(fiber->known);
#endif
    munmap(fiber->stack, fiber->size);
    free(fiber);
}

bool fiber_is_beyond(const Fiber *fiber, const void *address) {
    return (uintptr_t)address - (uintptr_t)fiber->stack < page_size();
}

void fiber_begin(Fiber *fiber, void (*function)(void *context), void *context) {
    fiber->function = function;
    fiber->context = context;
    if (fiber->resting) return;
#ifdef FIBER_ADDRESSES
    fiber->kept[1] = NULL;
    __asan_unpoison_memory_region(fiber->stack + page_size(), fiber->size - page_size());
#endif
#ifdef FIBER_UCONTEXT
    getcontext(&fiber->own);
    fiber->own.uc_stack.ss_sp = fiber->stack + page_size();
    fiber->own.uc_stack.ss_size = fiber->size - page_size();
    makecontext(&fiber->own, run_function, 0);
#else
    uintptr_t *top = (uintptr_t *)(void *)(fiber->stack + fiber->size - fiber->shift) - SAVED;
    for (int i = 0; i < SAVED; i++) top[i] = 0;
    top[RETURN] = (uintptr_t)run_function;
    fiber->own = top;
#endif
}

void fiber_run(Fiber *fiber) {
    starting = fiber;
    before_switch(fiber, 0);
    flow_fiber_switch(&fiber->caller, &fiber->own);
    after_switch(fiber, 0);
}

void fiber_pause(Fiber *fiber) {
    before_switch(fiber, 1);
    flow_fiber_switch(&fiber->own, &fiber->caller);
    after_switch(fiber, 1);
}
