#include "runtime/rejects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Rejects {
    const char *pipeline, *path;
    FILE *log;
    int64_t count;
    FlowStatus first;
};

FlowStatus rejects_new(const char *pipeline, const char *path, Rejects **out) {
    Rejects *rejects = *out = calloc(1, sizeof *rejects);
    if (!rejects) return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline);
    rejects->pipeline = pipeline;
    rejects->path = path;
    return flow_ok;
}

void rejects_free(Rejects *rejects) {
    if (!rejects) return;
    if (rejects->log) fclose(rejects->log);
    if (rejects->count)
        fprintf(stderr, "pipeline `%s`: %lld record%s rejected%s%s; the first: %s\n",
                rejects->pipeline, (long long)rejects->count, rejects->count == 1 ? "" : "s",
                rejects->path ? ", see " : "", rejects->path ? rejects->path : "",
                rejects->first.text);
    free(rejects);
}

static void write_text(FILE *file, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(file, "\\%c", c);
        else if (c < ' ' || c == 0x7f) fprintf(file, "\\u%04x", c);
        else fputc(c, file);
    }
}

static FlowStatus log_failure(const Rejects *rejects) {
    return flow_failure(FLOW_EXIT_resource, "%s: %s", rejects->path, strerror(errno));
}

FlowStatus rejects_add(Rejects *rejects, int64_t record, const FlowStatus *failure) {
    if (!rejects->count++) rejects->first = *failure;
    if (!rejects->path) return flow_ok;
    if (!rejects->log) rejects->log = fopen(rejects->path, "ae");
    if (!rejects->log) return log_failure(rejects);
    fprintf(rejects->log, "{\"pipeline\": \"%s\", \"record\": %lld, \"error\": \"",
            rejects->pipeline, (long long)record);
    write_text(rejects->log, failure->text);
    fputs("\"}\n", rejects->log);
    return fflush(rejects->log) ? log_failure(rejects) : flow_ok;
}
