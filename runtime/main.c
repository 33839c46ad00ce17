/* Main: what a built program does: read the command line, train, tell how it ended. */
#include "runtime/denormal.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/mapping.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/profile.h"
#include "runtime/pump.h"
#include "runtime/settings.h"
#include "runtime/timeline.h"
#include "runtime/train.h"
#include "runtime/watchdog.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the executable lies: "" when that can't be told. */
static const char *own_folder(void) {
    static char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash = size > 0 ? strrchr(path, '/') : NULL;
    if (slash) *slash = 0;
    return slash ? path : "";
}

static FlowStatus run(int argc, char **argv, const FlowProgram *program) {
    Settings settings;
    FlowStatus status = settings_parse(argc, argv, program, &settings);
    if (!status.exit && settings.profiles && settings.trace_path)
        status = flow_failure(FLOW_EXIT_usage, "--profile and --trace: one of them at a time");
    if (!status.exit && !settings.answered && settings.trace_path)
        status = timeline_open(settings.trace_path);
    if (!status.exit && settings.profiles)
        status = profile_new(settings.threads, &settings.profile);
    if (!status.exit && !settings.answered)
        status = holdings_verdict(settings.train ? train_run(&settings) : pump_run(&settings));
    FlowStatus told = profile_tell(settings.profile, settings.profile_path);
    if (!status.exit) status = told;
    profile_free(settings.profile);
    told = timeline_close();
    if (!status.exit) status = told;
    if (settings.shows_memory) holdings_print_most(program->name);
    settings_free(&settings);
    return status;
}

/* A file opened later must not take the place of a standard stream that is closed. */
static void open_streams(void) {
    int descriptor = open("/dev/null", O_RDWR);
    for (; descriptor >= 0 && descriptor <= STDERR_FILENO; descriptor = dup(descriptor))
        if (descriptor == STDOUT_FILENO) output_has_no_stdout();
    if (descriptor > STDERR_FILENO) close(descriptor);
}

int flow_main(int argc, char **argv, const FlowProgram *program) {
    memory_begin();
    setenv("OMP_TOOL", "disabled", 0); /* which libomp would look for in many folders */
    open_streams();
    denormals_to_zero(); /* of all threads: they inherit it */
    interrupt_watch();
    mapping_watch(program->name);
    FlowProgram here = *program;
    if (!*here.folder) here.folder = own_folder();
    watchdog_start(program->name);
    FlowStatus status = run(argc, argv, &here);
    watchdog_stop();
    bool error = status.exit && status.exit != FLOW_EXIT_interrupted;
    if (status.text[0])
        fprintf(stderr, "%s: %s%s\n", program->name, error ? "error: " : "", status.text);
    return status.exit;
}
