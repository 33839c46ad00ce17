#include "runtime/device/pinned.h"

#include "runtime/device/gpus_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Piece {
    void *memory;
    struct Piece *next;
} Piece;

static Piece *pieces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell_once(void) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        fprintf(stderr, "%s: no pinned memory for batches: copies to GPUs are slower\n",
                gpus_state.program->name);
}

void *pinned_new(size_t size) {
    if (!gpus_work()) return NULL;
    Piece *piece = malloc(sizeof *piece);
    void *memory = piece ? gpu_new_pinned(gpus_state.gpus, size) : NULL;
    if (!memory) {
        tell_once();
        free(piece);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *piece = (Piece){memory, pieces};
    pieces = piece;
    pthread_mutex_unlock(&lock);
    return memory;
}

bool pinned_free(void *memory) {
    pthread_mutex_lock(&lock);
    Piece **link = &pieces, *piece;
    while (*link && (*link)->memory != memory) link = &(*link)->next;
    if ((piece = *link)) *link = piece->next;
    pthread_mutex_unlock(&lock);
    if (!piece) return false;
    free(piece);
    gpu_end_pinned(gpus_state.gpus, memory);
    return true;
}
