/* safetensors: each field a tensor, with the records as the first axis. How many records come is
 * known, so each tensor has its place in the file from the start, and its values gather until there
 * are enough of them for a large write. Of a run that is stopped nothing stays. */
#include "runtime/format/safetensors.h"
#include "runtime/output.h"

#include <stdlib.h>
#include <string.h>

enum { GATHERED = 1 << 16 /* bytes */ };

typedef struct Gathering {
    uint64_t at; /* in the file */
    size_t used;
    char bytes[GATHERED];
} Gathering;

struct FlowWriter {
    Output output;
    const FlowSinkField *fields;
    int count;
    Gathering gatherings[]; /* one a field */
};

/* The fields of all records, as tensors. */
static FlowStatus describe(const FlowSinkField *fields, int count, int64_t records,
                           FlowStorage *storages) {
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        FlowType type = {fields[i].type.element, fields[i].type.rank + 1, {records}};
        size_t size = flow_type_size(&fields[i].type);
        memcpy(type.sizes + 1, fields[i].type.sizes, sizeof(int64_t) * (size_t)fields[i].type.rank);
        storages[i] = (FlowStorage){.name = fields[i].name, .type = type, .offset = (size_t)i};
        if (__builtin_mul_overflow(size, (size_t)records, &size) ||
            __builtin_add_overflow(total, size, &total) || total > INT64_MAX)
            return flow_failure(FLOW_EXIT_resource, "%lld records are too large for one file",
                                (long long)records);
    }
    return flow_ok;
}

static FlowStatus place_tensors(FlowWriter *writer, const FlowStorage *storages) {
    const FlowStorage *ordered[writer->count];
    size_t at;
    char *header = safetensors_header(storages, writer->count, NULL, 0, ordered, &at);
    if (!header) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    output_add(&writer->output, header, at);
    free(header);
    for (int i = 0; i < writer->count; i++) {
        writer->gatherings[ordered[i]->offset].at = at;
        at += flow_type_size(&ordered[i]->type);
    }
    return output_pass(&writer->output);
}

static FlowStatus safetensors_sink_close(FlowWriter *writer, FlowEnd end) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < writer->count && end == FLOW_END_whole && !status.exit; i++) {
        const Gathering *gathering = &writer->gatherings[i];
        status = output_over(&writer->output, gathering->at, gathering->bytes, gathering->used);
    }
    FlowEnd ended = status.exit || end != FLOW_END_whole ? FLOW_END_failed : end;
    FlowStatus closed = output_close(&writer->output, ended);
    free(writer);
    return status.exit ? status : closed;
}

static FlowStatus safetensors_sink_open(const FlowSinkArguments *arguments,
                                        const FlowSinkField *fields, int count, int64_t records,
                                        FlowWriter **out) {
    *out = NULL;
    if (records == INT64_MAX)
        return flow_failure(FLOW_EXIT_usage,
                            "%s: `safetensors` has to know how many records come, "
                            "and standard input does not say; `npy` need not",
                            arguments->path);
    FlowWriter *writer = *out = calloc(1, sizeof *writer + sizeof(Gathering) * (size_t)count);
    FlowStorage storages[count];
    if (!writer) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    writer->fields = fields;
    writer->count = count;
    FlowStatus status = describe(fields, count, records, storages);
    if (!status.exit) status = output_open(arguments->path, records, &writer->output);
    if (!status.exit && !writer->output.part)
        status = flow_failure(FLOW_EXIT_resource,
                              "%s: is no regular file, as one of tensors has "
                              "to be",
                              arguments->path);
    if (!status.exit) status = place_tensors(writer, storages);
    if (!status.exit) return status;
    safetensors_sink_close(writer, FLOW_END_failed);
    *out = NULL;
    return status;
}

static FlowStatus add_values(Output *output, Gathering *gathering, const char *values,
                             size_t size) {
    FlowStatus status = flow_ok;
    if (gathering->used + size > GATHERED) {
        status = output_over(output, gathering->at, gathering->bytes, gathering->used);
        gathering->at += gathering->used;
        gathering->used = 0;
    }
    if (size > GATHERED) {
        if (!status.exit) status = output_over(output, gathering->at, values, size);
        gathering->at += size;
        return status;
    }
    memcpy(gathering->bytes + gathering->used, values, size);
    gathering->used += size;
    return status;
}

static FlowStatus safetensors_sink_write(FlowWriter *writer, int64_t first, int64_t records) {
    (void)first;
    FlowStatus status = flow_ok;
    for (int i = 0; i < writer->count && !status.exit; i++)
        status = add_values(&writer->output, &writer->gatherings[i], writer->fields[i].values,
                            (size_t)records * flow_type_size(&writer->fields[i].type));
    return status;
}

const FlowSink flow_sink_safetensors = {"safetensors", safetensors_sink_open,
                                        safetensors_sink_write, safetensors_sink_close, NULL};
