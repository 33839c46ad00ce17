/* Numbers: sources whose records are the numbers from 0 on, made or stored, and pipelines of them.
 * How many there are is in the pipeline's arguments. */
#ifndef FLOW_TEST_NUMBERS_H
#define FLOW_TEST_NUMBERS_H

#include "runtime/stage.h"
#include "tests/runtime/test.h"

struct FlowReader {
    int64_t records;
    int32_t stored[];
};

static inline FlowStatus open_numbers(const FlowField *fields, int count,
                                      const FlowSourceArguments *arguments, FlowReader **out) {
    (void)fields, (void)count;
    int64_t records = arguments->records;
    FlowReader *reader = *out = malloc(sizeof *reader + sizeof(int32_t) * (size_t)records);
    reader->records = records;
    for (int64_t i = 0; i < records; i++) reader->stored[i] = (int32_t)i;
    return flow_ok;
}

static inline int64_t count_numbers(const FlowReader *reader) {
    return reader->records;
}

static inline bool point_at_numbers(const FlowReader *reader, const void **firsts) {
    firsts[0] = reader->stored;
    return true;
}

static inline bool make_number(const FlowReader *reader, int64_t record, void *const *values,
                               FlowStatus *failure) {
    (void)reader, (void)failure;
    *(int32_t *)values[0] = (int32_t)record;
    return true;
}

static inline void close_numbers(FlowReader *reader) {
    free(reader);
}

/* Of a source, with `.point = point_at_numbers`, `.make = make_number` or what does more. */
#define NUMBERS(...)                                                                    \
    {                                                                                   \
        .name = "numbers", .open = open_numbers, .records = count_numbers, __VA_ARGS__, \
        .close = close_numbers                                                          \
    }

static const FlowField number_field = {.name = "number", .type = {FLOW_i32, 0, {0}}};

/* Gives the numbers as they are. */
static const FlowSection number_section = {.window = 1,
                                           .stride = 1,
                                           .fields = &number_field,
                                           .field_count = 1,
                                           .outputs = &number_field,
                                           .output_count = 1};

static inline FlowPipeline numbers_pipeline(const FlowSource *source, int64_t records, int batch) {
    return (FlowPipeline){.name = "numbers",
                          .source = source,
                          .arguments = {.records = records},
                          .sections = &number_section,
                          .section_count = 1,
                          .batch = batch};
}

static inline Stage *open_stage(const FlowPipeline *pipeline) {
    Stage *stage;
    CHECK(!stage_open(pipeline, (Places){.folder = ""}, (Sizes){0}, 0, &stage).exit, "not opened");
    return stage;
}

static inline void fill_next(void *stage, int thread, int threads) {
    stage_ask_next(stage, thread);
    stage_fill_next(stage, thread, threads);
}

#endif
