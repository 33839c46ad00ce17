/* Thread's own: what a thread that makes records keeps from one to the next, until it ends; and
 * memory that counts as what threads hold. */
#ifndef FLOW_THREAD_OWN_H
#define FLOW_THREAD_OWN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Something that each thread has one of: `size` bytes, 0 at first; `end` frees it. */
typedef struct ThreadOwn {
    size_t size;
    void (*end)(void *own);
    atomic_bool begun; /* there is a key */
    pthread_key_t key;
} ThreadOwn;

/* This thread's; NULL when there is no memory. */
void *thread_own(ThreadOwn *kind);

/* As realloc to a larger size, and free: counted. NULL also when the limit does not leave it. */
void *own_resize(void *bytes, size_t before, size_t after);
void own_free(void *bytes, size_t size);

/* Memory that grows. */
typedef struct Room {
    void *bytes;
    size_t size;
} Room;

/* At least so many bytes, aligned; what was in them is lost. NULL: as above. */
void *room_for(Room *room, size_t size);

/* Counts memory that somebody else asks for; false when the limit does not leave it. */
bool room_counted(Room *room, size_t size);

void room_free(Room *room);

#endif
