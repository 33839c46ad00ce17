/* Settings: what a program's command line says. */
#ifndef FLOW_SETTINGS_H
#define FLOW_SETTINGS_H

#include "runtime/places.h"
#include "runtime/profile.h"
#include "runtime/progress.h"
#include "runtime/type.h"
#include "runtime/vocabularies.h"

typedef struct Settings {
    const FlowProgram *program;
    const FlowTrain *train; /* one of the two: what is run */
    const FlowRun *run;
    double *numbers;            /* one an option */
    const char **strings;       /* one an option */
    int64_t *bounded;           /* one a bound */
    Sizes sizes;                /* of these */
    Vocabularies *vocabularies; /* NULL: the program has none */
    bool resume;
    const char *resume_path, *save_path; /* NULL: the program's own */
    int threads;
    int workers;      /* for pipelines that don't say how many; */
    bool has_workers; /* for all: the command line says so */
    bool has_threads; /* the same of threads */
    bool has_seed;    /* else the train block's */
    int64_t seed;
    ProgressMode progress;
    size_t memory;            /* bytes that may be held; 0: as the program says */
    bool shows_memory;        /* what is held is printed */
    bool profiles;            /* it is told where the time goes, */
    const char *profile_path; /* and drawn there; or NULL */
    const char *trace_path;   /* what is done when is noted there; or NULL */
    Profile *profile;         /* that is filled; or NULL */
    bool answered;            /* --help or --version: nothing is left to do */
} Settings;

/* Settings are to be freed whether it fails or not. */
FlowStatus settings_parse(int argc, char **argv, const FlowProgram *program, Settings *settings);
void settings_free(Settings *settings);

/* How many threads make a pipeline's batches; otherwise: unless it or the command line says. */
int settings_workers(const Settings *settings, const FlowPipeline *pipeline, int otherwise);

/* May a run find out while it runs how it goes best? FLOWC_TUNE=off: no. */
bool settings_tune(void);

/* May it choose its threads and workers then? */
bool settings_leave_split(const Settings *settings, const FlowPipeline *pipeline);

/* Where the run's files are. */
Places settings_places(const Settings *settings);

/* The value of a number in the train block. */
double settings_number(const Settings *settings, FlowNumber number);

#endif
