/* Bounds: how much of a thing there may be, by the compiler's word and the runtime's. */
#ifndef FLOW_BOUNDS_H
#define FLOW_BOUNDS_H

enum {
    GPU_LIMIT = 62,   /* of a machine: with the CPU and those of replicas, bits of a word */
    FIELD_LIMIT = 32, /* fields of a source, outputs of a section */
    SECTION_LIMIT = 8,
    ORDER_LIMIT = 16, /* of a section */
    BUCKET_LIMIT = 32,
    RECORDS_AT_ONCE = 32,      /* made by one call of a compiled function */
    CATEGORY_SIZE = 1024,      /* bytes of a text that stands for a number */
    CATEGORY_LIMIT = 1 << 20,  /* numbers of a vocabulary */
    TEAM_SLOTS = 2,            /* batches without workers: the step's, and the next */
    WORKER_SLOTS = 4,          /* of a worker, unless the pipeline says how long its queue is */
    SHARED_SLOTS = 3,          /* of one whom the step helps: fewer stay in its cache */
    SMALL_SLOTS = 32,          /* the most of them, while they have together: */
    SMALL_HELD = 1 << 18,      /* bytes; else as of others */
    DEEPER = 8,                /* times as many, where they come unevenly, while they have: */
    DEEPER_HELD = 64 << 20,    /* bytes, of each worker */
    TEAM_LIMIT = 1024,         /* threads: of a run's steps, of a deployed instance */
    THREADS_BY_ITSELF = 16,    /* the most that make a run's steps without being asked; */
    WORKERS_BY_ITSELF = 16,    /* that prepare its batches */
    FEED_ROOM = 4 << 20,       /* bytes of a stream that are read ahead; one record may be longer */
    FEED_HELD = 2 * FEED_ROOM, /* with where records lie in them, when none is short or long */
    OUTPUT_HELD = 1 << 18,     /* bytes that are not written yet; one batch of text may be longer */
};

#endif
