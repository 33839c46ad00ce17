/* Memory: the allocations that simulated kernels may touch. */
#ifndef FLOW_SIMULATED_MEMORY_H
#define FLOW_SIMULATED_MEMORY_H

#include "runtime/device/simulated_shadow.h"

typedef struct Allocation {
    uintptr_t address; /* what kernels see */
    size_t size;
    char *host;       /* the same, as this process reaches it */
    uint8_t *written; /* one a byte */
    Shadow *shadow;
    bool owned; /* made by flow_simulated_allocate */
    int device; /* that has it, if it is owned */
} Allocation;

/* All below, while the lock is held. */
void memory_lock(void);
void memory_unlock(void);

int memory_device(void);    /* of this thread */
bool memory_is_known(void); /* there is any allocation, or was one of the device */
/* The one with this address, or that ends there; NULL. */
Allocation *memory_find(uintptr_t address);
/* Was the address in one that has been freed? Tells its size. */
bool memory_was_freed(uintptr_t address, size_t *size);
/* It is an address of the device, with something there or not. */
bool memory_is_of_device(uintptr_t address);

/* Who touched a page of the process, where no allocation is known. NULL: no memory. */
enum { MEMORY_PAGE = 4096 };
Shadow *memory_page(uintptr_t address);
/* Epochs begin again. */
void memory_forget_touches(void);

#endif
