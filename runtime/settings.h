/* Settings: what a program's command line says. */
#ifndef FLOW_SETTINGS_H
#define FLOW_SETTINGS_H

#include "runtime/progress.h"
#include "runtime/type.h"

typedef struct Settings {
    const FlowProgram *program;
    const FlowTrain *train; /* one of the two: what is run */
    const FlowRun *run;
    double *numbers;  /* one an option */
    int64_t *bounded; /* one a bound */
    Sizes sizes;      /* of these */
    bool resume;
    const char *resume_path, *save_path; /* NULL: the program's own */
    int threads, workers;                /* workers < 0: as many as processors are left */
    bool has_seed;                       /* else the train block's */
    int64_t seed;
    ProgressMode progress;
    bool answered; /* --help or --version: nothing is left to do */
} Settings;

/* Settings are to be freed whether it fails or not. */
FlowStatus settings_parse(int argc, char **argv, const FlowProgram *program, Settings *settings);
void settings_free(Settings *settings);

/* The value of a number in the train block. */
double settings_number(const Settings *settings, FlowNumber number);

#endif
