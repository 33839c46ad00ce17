/* Sink. Numbers of floating point are written with as few digits as give the same number back. */
#include "runtime/sink.h"

#include "runtime/type.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Single numbers. */

static bool reads_back(const char *text, double number, FlowElement element) {
    if (element == FLOW_f64) return strtod(text, NULL) == number;
    char bytes[8], again[8];
    number_write(element, number, bytes);
    number_write(element, strtod(text, NULL), again);
    return !memcmp(bytes, again, flow_element_size(element));
}

static void write_real(FILE *file, double number, FlowElement element) {
    char text[32];
    int digits = element == FLOW_f64 ? 15 : element == FLOW_f32 ? 6 : 2;
    if (!isfinite(number)) {
        fputs(isnan(number) ? "nan" : number < 0 ? "-inf" : "inf", file);
        return;
    }
    do snprintf(text, sizeof text, "%.*g", digits, number);
    while (!reads_back(text, number, element) && ++digits <= 17);
    fputs(text, file);
}

static void write_number(FILE *file, FlowElement element, const char *value) {
    double number = number_read(element, value);
    int64_t whole;
    switch (element) {
    case FLOW_bool: fputs(number != 0 ? "true" : "false", file); return;
    case FLOW_i64:
        memcpy(&whole, value, sizeof whole);
        fprintf(file, "%lld", (long long)whole);
        return;
    case FLOW_u8:
    case FLOW_i8:
    case FLOW_i32: fprintf(file, "%lld", (long long)number); return;
    default: write_real(file, number, element);
    }
}

static int64_t element_count(const FlowType *type) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->sizes[i];
    return count;
}

/* print: x=1.5 y=[[1, 2], [3, 4]] */

/* The brackets that open before element i, or that close after it. */
static void write_brackets(FILE *file, const FlowType *type, int64_t i, char bracket) {
    int64_t block = 1;
    for (int axis = type->rank; axis-- > 0;) {
        block *= type->sizes[axis];
        if (bracket == '[' ? i % block == 0 : (i + 1) % block == 0) fputc(bracket, file);
    }
}

static void print_value(FILE *file, const FlowType *type, const char *value) {
    int64_t count = element_count(type);
    size_t size = flow_element_size(type->element);
    for (int64_t i = 0; i < count; i++) {
        if (i) fputs(", ", file);
        write_brackets(file, type, i, '[');
        write_number(file, type->element, value + (size_t)i * size);
        write_brackets(file, type, i, ']');
    }
}

static void print_record(FILE *file, const SinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        fprintf(file, "%s%s=", i ? " " : "", fields[i].name);
        print_value(file, &fields[i].type,
                    fields[i].values + (size_t)record * flow_type_size(&fields[i].type));
    }
    fputc('\n', file);
}

/* csv: a column for each element, named x, or x[0], x[1], … */

static void write_column_name(FILE *file, const SinkField *field, int64_t i) {
    int64_t block = element_count(&field->type);
    fputs(field->name, file);
    for (int axis = 0; axis < field->type.rank; axis++) {
        block /= field->type.sizes[axis];
        fprintf(file, "[%lld]", (long long)(i / block));
        i %= block;
    }
}

static void write_header(FILE *file, const SinkField *fields, int count) {
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; j < element_count(&fields[i].type); j++) {
            if (i || j) fputc(',', file);
            write_column_name(file, &fields[i], j);
        }
    fputc('\n', file);
}

static void write_row(FILE *file, const SinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        const FlowType *type = &fields[i].type;
        const char *value = fields[i].values + (size_t)record * flow_type_size(type);
        for (int64_t j = 0; j < element_count(type); j++) {
            if (i || j) fputc(',', file);
            write_number(file, type->element, value + (size_t)j * flow_element_size(type->element));
        }
    }
    fputc('\n', file);
}

/* The file. */

static FlowStatus failure(const Sink *sink) {
    if (!sink->path && errno == EPIPE) return (FlowStatus){.exit = FLOW_EXIT_interrupted};
    return flow_failure(FLOW_EXIT_resource, "%s: %s", sink->path ? sink->path : "standard output",
                        strerror(errno));
}

FlowStatus sink_open(FlowSink kind, const char *path, Sink *sink) {
    *sink = (Sink){.kind = kind, .path = path, .file = path ? fopen(path, "we") : stdout};
    return sink->file ? flow_ok : failure(sink);
}

void sink_begin(Sink *sink, const SinkField *fields, int count) {
    if (sink->kind == FLOW_SINK_csv) write_header(sink->file, fields, count);
}

FlowStatus sink_write(Sink *sink, const SinkField *fields, int count, int64_t records) {
    for (int64_t i = 0; i < records; i++) {
        if (sink->kind == FLOW_SINK_csv) write_row(sink->file, fields, count, i);
        else print_record(sink->file, fields, count, i);
    }
    return fflush(sink->file) || ferror(sink->file) ? failure(sink) : flow_ok;
}

FlowStatus sink_close(Sink *sink) {
    if (!sink->file || !sink->path) return flow_ok;
    bool bad = fclose(sink->file);
    sink->file = NULL;
    return bad ? failure(sink) : flow_ok;
}
