/* Fiber: a function with a stack of its own, which can pause in the middle and go on later. A fiber
 * stays with the OS thread that runs it; below its stack lies a page that nothing may touch. */
#ifndef FLOW_FIBER_H
#define FLOW_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Fiber Fiber;

/* NULL: no memory. Who makes a fiber frees it, while it is not running. */
Fiber *fiber_new(size_t stack);
void fiber_free(Fiber *fiber);

/* The next fiber_run starts the function, whatever the fiber was in before. */
void fiber_begin(Fiber *fiber, void (*function)(void *context), void *context);

/* Until the fiber pauses or its function returns. */
void fiber_run(Fiber *fiber);

/* Back to fiber_run, of the fiber that runs. */
void fiber_pause(Fiber *fiber);

/* The address lies where its stack would go on if it were larger. */
bool fiber_is_beyond(const Fiber *fiber, const void *address);

#endif
