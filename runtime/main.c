/* Main: what a built program does: read the command line, train, tell how it ended. */
#include "runtime/interrupt.h"
#include "runtime/settings.h"
#include "runtime/train.h"

#include <limits.h>
#include <stdio.h>
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
    if (!status.exit && !settings.answered) status = train_run(&settings);
    settings_free(&settings);
    return status;
}

int flow_main(int argc, char **argv, const FlowProgram *program) {
    interrupt_watch();
    FlowProgram here = *program;
    if (!*here.folder) here.folder = own_folder();
    FlowStatus status = run(argc, argv, &here);
    bool error = status.exit && status.exit != FLOW_EXIT_interrupted;
    if (status.text[0])
        fprintf(stderr, "%s: %s%s\n", program->name, error ? "error: " : "", status.text);
    return status.exit;
}
