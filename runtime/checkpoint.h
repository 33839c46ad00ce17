/* Checkpoint: the record of a run. All state is in it, so a resumed run goes on bit for
 * bit. It is a safetensors file: weights and optimizer state as tensors, the rest as
 * metadata; a library loads its weights from the same file. */
#ifndef FLOW_CHECKPOINT_H
#define FLOW_CHECKPOINT_H

#include "runtime/averages.h"
#include "runtime/progression.h"
#include "runtime/settings.h"
#include "runtime/tune.h"
#include "runtime/watch.h"

/* Which run it is: saved and resumed have to agree. */
typedef struct Identity {
    const Settings *settings;
    int64_t seed, records, batches; /* of an epoch */
} Identity;

/* How far it is. */
typedef struct Position {
    int64_t step;                  /* batches taken */
    Progression done;              /* which ones */
    Split split;                   /* that was tuned; threads 0: none */
    int depth;                     /* of the queue, that was tuned; 0: none */
    int action;                    /* actions of the train block done after that step */
    bool stopped;                  /* by `stop`: nothing is left to do */
    float plateau;                 /* the product of the factors that `reduce` applied */
    Averages averages;             /* of the epoch so far */
    Watcher watchers[WATCH_LIMIT]; /* of the first actions */
} Position;

FlowStatus checkpoint_save(const char *path, const Identity *identity, const Position *position,
                           const char *memory);

/* Writes what is deployed: weights, or their averages under the same names, and vocabularies. */
FlowStatus checkpoint_save_weights(const char *path, const Settings *settings, const char *memory);

/* Fails when a file has no room for the vocabularies that are known. */
FlowStatus checkpoint_check_vocabularies(const Settings *settings);

/* Fails, and leaves memory undefined, when the file is damaged or of another run. */
FlowStatus checkpoint_load(const char *path, const Identity *identity, Position *position,
                           char *memory);

#endif
