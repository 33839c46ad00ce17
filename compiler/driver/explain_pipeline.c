/* Explain pipeline: the stages as the program has them, the functions that they became, and what
 * all of it takes in memory. */
#include "compiler/driver/explain.h"
#include "compiler/graph/print.h"

#include "runtime/bounds.h"

#include <string.h>

enum { CALL_WIDTH = 40 };

typedef enum Values { VALUES_none, VALUES_pointed, VALUES_made, VALUES_either } Values;

typedef struct StageInfo {
    StageKind kind;
    const char *name;
    Values values; /* of a source */
    const char *what;
} StageInfo;

static const StageInfo stage_infos[] = {
#define FROM(name, opens, values, what) {STAGE_source, #name, VALUES_##values, what},
#define JOIN(name, lowers, what) {STAGE_join, #name, VALUES_none, what},
#define STAGE(name, takes, lowers, does, what) {STAGE_##takes, #name, VALUES_none, what},
#include "compiler/lower/stages.def"
};

/* NULL: a sink. */
static const StageInfo *info_of(StageKind kind, const char *name) {
    for (size_t i = 0; i < sizeof stage_infos / sizeof *stage_infos; i++)
        if (kind == stage_infos[i].kind && !strcmp(stage_infos[i].name, name))
            return &stage_infos[i];
    return NULL;
}

const char *explain_place(Arena *arena, Range range) {
    Text text = text_new(arena);
    place_print(range, &text);
    return text_string(&text);
}

/* Stages. */

/* What the program says there, on one line: no blank behind "(" or before ")". */
static Text call_line(Arena *arena, Range range) {
    Text line = text_new(arena);
    char before = '(';
    bool blank = false;
    for (uint32_t at = range.begin; at < range.end; at++) {
        char c = range.source->text[at];
        bool gap = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        blank |= gap;
        if (gap) continue;
        if (blank && before != '(' && c != ')') text_add(&line, " ");
        text_format(&line, "%c", c);
        before = c;
        blank = false;
    }
    return line;
}

/* The bytes of the first `columns` characters. */
static size_t bytes_of(const char *text, size_t columns) {
    size_t bytes = 0;
    while (text[bytes]) {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && columns-- == 0) break;
        bytes++;
    }
    return bytes;
}

/* CALL_WIDTH columns: cut where it is long, filled with blanks where it is short. */
static const char *call_text(Arena *arena, Range range) {
    Text line = call_line(arena, range);
    const char *call = text_string(&line);
    if (call[bytes_of(call, CALL_WIDTH)])
        return arena_format(arena, "%.*s…", (int)bytes_of(call, CALL_WIDTH - 1), call);
    size_t columns = 0;
    while (call[bytes_of(call, columns)]) columns++;
    return arena_format(arena, "%s%*s", call, (int)(CALL_WIDTH - columns), "");
}

/* Only what leads to the last section's outputs is computed where the batch is made. */
static bool is_fused(const Pipeline *pipeline, const Stage *stage) {
    return stage->kind == STAGE_stream && !strcmp(stage->name, "map") && pipeline->batch &&
           stage->section + 1 == pipeline->sections.count;
}

static const char *stage_text(const Pipeline *pipeline, const Stage *stage) {
    const StageInfo *info = info_of(stage->kind, stage->name);
    if (!info)
        return pipeline->unordered ? "writes batches as they come" : "writes the records in order";
    if (stage->kind == STAGE_source && reads_a_stream(pipeline))
        return "reads a stream ahead, and cuts it";
    if (!strcmp(stage->name, "filter") && comes_as_it_comes(pipeline))
        return "asks each record as it comes";
    return is_fused(pipeline, stage) ? "fused with `batch`" : info->what;
}

/* Fields. */

/* On one line, whatever a file calls it. */
static const char *line_text(Arena *arena, const char *name) {
    Text text = text_new(arena);
    for (const char *c = name; *c; c++)
        text_format(&text, (unsigned char)*c < ' ' || *c == 0x7f ? "\\x%02x" : "%c",
                    (unsigned char)*c);
    return text_string(&text);
}

static Values values_of(const Pipeline *pipeline) {
    return pipeline->source ? info_of(STAGE_source, pipeline->source)->values : VALUES_made;
}

/* Where a field's value lies when the record function reads it, or how it comes into the batch. */
static const char *values_text(const Pipeline *pipeline) {
    bool plain = pipeline->sections.items[0]->plain && pipeline->sections.count == 1;
    switch (values_of(pipeline)) {
    case VALUES_pointed: return plain ? "copied into the batch" : "read where it lies";
    case VALUES_either:
        return plain ? "copied or converted into the batch"
                     : "read where it lies, or converted in the thread's scratch";
    default: return plain ? "made in the batch" : "made in the thread's scratch";
    }
}

static bool is_packed(const char *path) {
    size_t size = path ? strlen(path) : 0;
    return size > 4 && (!strcmp(path + size - 3, ".gz") || !strcmp(path + size - 4, ".zst"));
}

static void print_decoder(const Field *field, Text *text) {
    const Picture *picture = &field->picture;
    bool resized =
        picture->fit && (!strcmp(picture->fit, "whole") || !strcmp(picture->fit, "short") ||
                         !strcmp(picture->fit, "random"));
    text_add(text, "an image, decoded ");
    if (strcmp(field->decoder, "any")) text_format(text, "by %s", field->decoder);
    else text_add(text, "as its first bytes say");
    if (resized) text_format(text, " and resized row by row (%s)", picture->method);
    else if (picture->fit && strcmp(picture->fit, "exact")) text_add(text, " and cut");
    text_add(text, ", ");
}

static void print_source_field(const Plan *plan, const Pipeline *pipeline, const Field *field,
                               Text *text) {
    bool span = field->tokens.use && !strcmp(field->tokens.use, "span");
    text_format(text, "      %s: ", line_text(text->arena, field->name));
    if (!span) text_format(text, "%s, ", type_text(text->arena, &field->type));
    if (field->tokens.use) text_add(text, "its tokens, ");
    if (field->decoder) print_decoder(field, text);
    text_add(text, values_text(pipeline));
    if (field->path_option)
        text_format(text, "; --%s", plan->program->options.items[field->path_option - 1].name);
    else if (field->path && !reads_a_stream(pipeline))
        text_format(text, "; %s", line_text(text->arena, field->path));
    if (is_packed(field->path)) text_add(text, ", unpacked into memory");
    text_add(text, "\n");
}

static void print_source_fields(const Plan *plan, const Pipeline *pipeline, Text *text) {
    vector_each(Field, field, pipeline->sections.items[0]->fields)
        print_source_field(plan, pipeline, field, text);
}

static void print_stages(const Plan *plan, const Pipeline *pipeline, Text *text) {
    for (size_t i = 0; i < pipeline->stages.count; i++) {
        const Stage *stage = &pipeline->stages.items[i];
        int line = (int)source_position(stage->range.source, stage->range.begin).line;
        text_format(text, "    %s  :%-4d %s\n", call_text(text->arena, stage->range), line,
                    stage_text(pipeline, stage));
        if (stage->kind == STAGE_source) print_source_fields(plan, pipeline, text);
    }
}

/* Record functions. */

static bool is_shown(const Node *node) {
    return node->op != OP_input && node->op != OP_constant;
}

/* "cast, multiply, reshape": each once, in order. */
static void print_ops(const Function *function, Text *text) {
    const Graph *graph = function->lowered;
    const bool *needed = graph_needed(text->arena, graph);
    bool *said = arena_new_array(text->arena, bool, OP_COUNT);
    size_t begin = text->size;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id] || !is_shown(node) || said[node->op]) continue;
        if (text->size > begin) text_add(text, ", ");
        text_add(text, op_info[node->op].name);
        said[node->op] = true;
    }
    if (text->size == begin) text_add(text, "copies");
}

static void print_outputs(const Section *section, Text *text) {
    vector_each(Field, field, section->outputs)
        text_format(text, "%s%s: %s", field == section->outputs.items ? "" : ", ",
                    line_text(text->arena, field->name), type_text(text->arena, &field->type));
}

/* Does the window only point at what the source holds? As the runtime's records_open.c. */
static bool is_direct(const Pipeline *pipeline) {
    const Section *first = pipeline->sections.items[0];
    return first->plain && !first->orders.count && values_of(pipeline) == VALUES_pointed;
}

static bool feeds_pack(const Pipeline *pipeline, size_t index) {
    return index + 1 < pipeline->sections.count && pipeline->sections.items[index + 1]->packs;
}

/* What becomes of the section's records. */
static const char *goal_text(const Pipeline *pipeline, size_t index) {
    if (index + 1 == pipeline->sections.count)
        return pipeline->batch ? "written once, into the batch" : "handed on";
    return index == 0 && is_direct(pipeline) ? "the window reads them where they lie"
                                             : "written into the window";
}

static void print_record(const Plan *plan, const Function *function, Text *text) {
    int kernels = plan_of(plan, function)->kernel_count;
    text_format(text, "one function a record, %d kernel%s: ", kernels, kernels == 1 ? "" : "s");
    print_ops(function, text);
}

/* Of a function on GPUs: what runs where, and what is copied between. */
static void print_devices(const Plan *plan, const Function *function, Text *text) {
    const FunctionPlan *planned = plan_of(plan, function);
    if (!planned->together) return;
    text_format(text, "      up to %lld records at a time:\n", (long long)planned->together);
    vector_each(Band, band, planned->bands) {
        if (band->transfer && band->transfer->kind != TRANSFER_copy) continue;
        text_add(text, "        ");
        if (band->transfer) transfer_print(planned, band->transfer, text);
        else {
            text_add(text, "on ");
            device_print(&planned->kernels[band->kernels[0]].given, text);
            text_add(text, ", ");
            kernel_print(planned, band->kernels[0], text);
        }
        text_add(text, "\n");
    }
}

static void print_section(const Plan *plan, const Pipeline *pipeline, size_t index, Text *text) {
    const Section *section = pipeline->sections.items[index];
    if (feeds_pack(pipeline, index)) {
        text_format(text, "    %s: its tokens are kept from the beginning on, end to end\n",
                    section->outputs.items[0].name);
        return;
    }
    if (section->plain && !pipeline->batch) return;
    bool source = !index && pipeline->source;
    text_add(text, "    ");
    if (!section->plain) print_record(plan, &section->record, text);
    else text_add(text, source ? "records as the source gives them" : "records as they are");
    text_format(text, "; %s: ", goal_text(pipeline, index));
    print_outputs(section, text);
    text_add(text, "\n");
    if (!section->plain) print_devices(plan, &section->record, text);
}

/* Memory. */

static const char *times_text(Arena *arena, const char *what, double size, int64_t count) {
    return arena_format(arena, "%s: %s, %lld × %s", what, bytes_text(arena, size * (double)count),
                        (long long)count, bytes_text(arena, size));
}

static void print_queue(const Demand *demand, bool alone, Text *text) {
    Arena *arena = text->arena;
    if (demand->workers) {
        text_format(text, "    %s, made by %d thread%s\n",
                    times_text(arena, "queue", demand->batch, demand->slots), demand->workers,
                    demand->workers == 1 ? "" : "s");
        return;
    }
    text_format(text, "    %s, made by the threads of the step, each its share\n",
                times_text(arena, "queue", demand->batch, TEAM_SLOTS));
    if (alone) return;
    text_format(text,
                "      or, for each of up to %d `--workers`: %d × %s; the run decides, within the "
                "limit\n",
                WORKERS_BY_ITSELF, WORKER_SLOTS, bytes_text(arena, demand->batch));
}

static void print_memory(const Plan *plan, const Pipeline *pipeline, bool alone, Text *text) {
    Arena *arena = text->arena;
    Demand demand = demand_of(plan, pipeline);
    text_format(text, "    %s\n", times_text(arena, "a batch", demand.record, pipeline->batch));
    print_queue(&demand, alone, text);
    text_format(text, "    scratch: %s a thread\n", bytes_text(arena, demand.scratch));
    if (demand.on_gpus)
        text_format(text, "    on GPUs: %s a thread\n", bytes_text(arena, demand.on_gpus));
    if (demand.feed)
        text_format(text, "    read ahead: %s; longer records count when they come\n",
                    bytes_text(arena, demand.feed));
}

/* Where records come from, then what becomes of them. */
static void print_records(const Plan *plan, const Pipeline *pipeline, Text *text) {
    vector_each(Pipeline *, input, pipeline->join.inputs) {
        print_records(plan, *input, text);
        if (pipeline->join.inputs.count > 1)
            text_format(text, "    that was %s (%s)\n", (*input)->name,
                        explain_place(text->arena, (*input)->range));
    }
    print_stages(plan, pipeline, text);
    for (size_t i = 0; i < pipeline->sections.count; i++) print_section(plan, pipeline, i, text);
}

void explain_pipeline(const Plan *plan, const Pipeline *pipeline, const char *what, bool alone,
                      Text *text) {
    text_format(text, "  %s (%s)%s\n", pipeline->name, explain_place(text->arena, pipeline->range),
                what);
    print_records(plan, pipeline, text);
    print_memory(plan, pipeline, alone, text);
}

void explain_depth(const Plan *plan, const Pipeline *pipeline, Text *text) {
    Demand demand = demand_of(plan, pipeline);
    double held = DEEPER_HELD / (demand.batch + 1);
    int most = held < DEEPER * WORKER_SLOTS ? (int)held : DEEPER * WORKER_SLOTS;
    if (pipeline->queue.value || most <= WORKER_SLOTS) return;
    text_format(
        text,
        "    while batches come unevenly, of each worker: up to %d × %s, within half of what "
        "a limit leaves\n",
        most, bytes_text(text->arena, demand.batch));
}
