/* Records_open: the source is opened, and it is counted how many records each order leaves. */
#include "runtime/records_state.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/mix.h"
#include "runtime/path.h"
#include "runtime/vocabularies.h"

#include <stdlib.h>
#include <string.h>

/* How many records each order leaves. */

static const char *const order_names[] = {"shuffle", "take", "skip", "filter", "bucket"};

static FlowStatus no_memory(const Records *records) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", records->pipeline->name);
}

static FlowStatus stopped(const Records *records) {
    return flow_failure(FLOW_EXIT_interrupted,
                        "interrupted while `filter` looked for records of `%s`",
                        records->pipeline->name);
}

/* Fills state->passing from the `count` records that stand before the filter. */
static FlowStatus run_filter(Records *records, int index, int number, char *scratch,
                             int64_t *count) {
    OrderState *state = &records->sections[index].orders[number];
    int64_t passing = 0;
    state->passing = held_resize(NULL, 0, ((size_t)*count + 1) * sizeof *state->passing);
    if (!state->passing) return no_memory(records);
    for (int64_t position = 0; position < *count; position++) {
        bool passes;
        if (interrupted()) return stopped(records);
        FlowStatus status = records_ask(records, index, number, scratch, position, &passes);
        if (status.exit) return status;
        if (passes) state->passing[passing++] = position;
    }
    *count = passing;
    return flow_ok;
}

static FlowStatus nothing_left(const Records *records, const char *after) {
    return flow_failure(FLOW_EXIT_data, "pipeline `%s` (%s): no record is left after `%s`",
                        records->pipeline->name, records->pipeline->line, after);
}

static FlowStatus open_order(Records *records, int index, int number, char *scratch,
                             int64_t *count) {
    const FlowOrder *order = &records_section_at(records, index)->orders[number];
    OrderState *state = &records->sections[index].orders[number];
    FlowStatus status = flow_ok;
    int64_t wanted = (int64_t)order->number;
    switch (order->kind) {
    case FLOW_ORDER_shuffle:
        state->permutation = permutation_new(*count, order->number, 0);
        atomic_init(&state->end, *count);
        break;
    case FLOW_ORDER_take: *count = *count < wanted ? *count : wanted; break;
    case FLOW_ORDER_skip: *count -= *count < wanted ? *count : wanted; break;
    case FLOW_ORDER_filter: status = run_filter(records, index, number, scratch, count); break;
    case FLOW_ORDER_bucket: status = buckets_open(records, number, count, &records->buckets); break;
    }
    return status.exit || *count ? status : nothing_left(records, order_names[order->kind]);
}

/* Does a window of the section only point at what the source holds? */
static bool is_direct(const Records *records, int index) {
    const FlowSection *before = records_section_at(records, 0);
    return index == 1 && !before->record && !before->order_count && records->points;
}

/* Where the section's fields are made, behind those of the sections before. */
static void place_fields(Records *records, int index) {
    const FlowSection *section = records_section_at(records, index);
    bool last = index == records_last_section(records);
    size_t together = last && section->together ? (size_t)section->together : 1;
    for (int i = 0; i < section->field_count; i++) {
        records->sections[index].offsets[i] = records->scratch;
        records->scratch += together * records_aligned(records->sections[index].field_sizes[i]);
    }
}

static FlowStatus check_window(const Records *records, const FlowSection *section) {
    if (section->window >= 1 && section->stride >= 1) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): with these sizes a window has %lld records, and its "
                        "stride is %lld",
                        records->pipeline->name, records->pipeline->line,
                        (long long)section->window, (long long)section->stride);
}

/* *count: from records to tokens. */
static FlowStatus open_pack(Records *records, int index, int64_t *count) {
    Pack **pack = &records->sections[index].pack;
    FlowStatus status = pack_open(records, index, *count, pack);
    if (status.exit) return status;
    *count = pack_tokens(*pack);
    int64_t window = records_section_at(records, index)->window;
    if (*count >= window) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "pipeline `%s` (%s): all texts together have %lld tokens, and a row of "
                        "`pack` takes %lld",
                        records->pipeline->name, records->pipeline->line, (long long)*count,
                        (long long)window);
}

static FlowStatus open_section(Records *records, int index, int64_t *count) {
    const FlowSection *section = records_section_at(records, index);
    FlowStatus status = check_window(records, section);
    if (status.exit) return status;
    records->sections[index].direct = is_direct(records, index);
    place_fields(records, index);
    if (records->feed) return flow_ok;
    if (section->packs) status = open_pack(records, index, count);
    if (status.exit) return status;
    if (index) *count = records_windows(section, *count);
    if (!*count) return nothing_left(records, "window");
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, records->scratch + FLOW_ALIGNMENT);
    status = scratch ? flow_ok : no_memory(records);
    for (int i = 0; i < section->order_count && !status.exit; i++)
        status = open_order(records, index, i, scratch, count);
    free(scratch);
    return status;
}

static void copy_fields(const Records *records, const FlowField *from, int count, FlowField *to,
                        size_t *sizes) {
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].type = type_at(&from[i].type, records->sizes);
        to[i].path = NULL;
        sizes[i] = flow_type_size(&to[i].type);
    }
}

static void copy_sections(Records *records) {
    for (int i = 0; i < records->pipeline->section_count; i++) {
        const FlowSection *from = &records->pipeline->sections[i];
        SectionState *state = &records->sections[i];
        copy_fields(records, from->fields, from->field_count, state->fields, state->field_sizes);
        copy_fields(records, from->outputs, from->output_count, state->outputs,
                    state->output_sizes);
        state->section = *from;
        state->section.window = size_at(from->window, records->sizes);
        state->section.stride = size_at(from->stride, records->sizes);
        state->section.fields = state->fields;
        state->section.outputs = state->outputs;
    }
}

static FlowStatus check_standard_input(const Records *records, const char *path) {
    static const char *const names[] = {"standard input", "a child process", "a socket",
                                        "a socket"};
    const FlowSource *source = records->pipeline->source;
    if (!path_is_standard_input(path) || source->feed) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): `%s` looks up any record, which %s does not let it; "
                        "`lines`, `csv`, `jsonl` and `binary` read it",
                        records->pipeline->name, records->pipeline->line, source->name,
                        names[records->pipeline->arguments.origin.kind]);
}

static FlowStatus find_files(Records *records, const Places *places) {
    const FlowPipeline *pipeline = records->pipeline;
    FlowStatus status = flow_ok;
    for (int i = 0; i < pipeline->sections[0].field_count && !status.exit; i++) {
        const FlowField *field = &pipeline->sections[0].fields[i];
        const char *path = path_said(places, field->path, field->option);
        char *found = NULL;
        if (path) status = check_standard_input(records, path);
        if (!status.exit) status = path_of_field(places, pipeline, field, &found);
        records->sections[0].fields[i].path = found;
    }
    return status;
}

static FlowStatus bind_texts(Records *records, const Places *places) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < records_section_at(records, 0)->field_count && !status.exit; i++) {
        FlowField *field = &records->sections[0].fields[i];
        status = vocabularies_bind(places->vocabularies, field);
        if (!status.exit && !vocabulary_bind(field, &records->texts[i]))
            status = no_memory(records);
    }
    return status;
}

/* The tokenizer of a field before that makes the same tokens, or NULL. */
static const Tokenizer *opened_before(const FlowField *fields, int index) {
    for (int i = 0; i < index; i++)
        if (fields[i].tokens && tokenizers_equal(fields[i].tokens, fields[index].tokens))
            return fields[i].tokenizer;
    return NULL;
}

static FlowStatus open_tokenizers(Records *records, const Places *places) {
    FlowField *fields = records->sections[0].fields;
    FlowStatus status = flow_ok;
    for (int i = 0; i < records_section_at(records, 0)->field_count && !status.exit; i++) {
        if (!fields[i].tokens || (fields[i].tokenizer = opened_before(fields, i))) continue;
        status = tokenizer_open(fields[i].tokens, places, pipeline_owner(records->pipeline),
                                &records->tokenizers[i]);
        fields[i].tokenizer = records->tokenizers[i];
    }
    return status;
}

/* What options say of where a feed comes from. */
static FlowStatus find_words(Records *records, const Places *places) {
    FlowOrigin *origin = &records->arguments.origin;
    if (!origin->word_count) return flow_ok;
    records->words = calloc((size_t)origin->word_count, sizeof *records->words);
    if (!records->words) return no_memory(records);
    for (int i = 0; i < origin->word_count; i++)
        records->words[i].text = path_said(places, origin->words[i].text, origin->words[i].option);
    origin->words = records->words;
    return flow_ok;
}

/* Does a filter look for records among as many as there are? */
static bool has_open_filter(const FlowPipeline *pipeline) {
    for (int i = 0; i < pipeline->section_count; i++)
        for (int j = 0; j < pipeline->sections[i].order_count; j++) {
            FlowOrderKind kind = pipeline->sections[i].orders[j].kind;
            if (kind == FLOW_ORDER_take) return false;
            if (kind == FLOW_ORDER_filter) return true;
        }
    return false;
}

/* Returns how many records there are; -1: they are a feed's. */
static int64_t find_feed(Records *records) {
    const FlowSource *source = records->pipeline->source;
    int64_t count = source->records ? source->records(records->reader) : 0;
    Feed *feed = source->feed ? source->feed(records->reader) : NULL;
    if (!feed || (count && !has_open_filter(records->pipeline))) return count;
    records->feed = feed;
    return -1;
}

/* Where vocabularies are found, it is noted which records were made for that. */
static FlowStatus open_learned(Records *records) {
    const FlowSection *section = records_section_at(records, 0);
    bool learns = false;
    for (int i = 0; i < section->field_count; i++) learns |= section->fields[i].seer != NULL;
    if (!learns || records->feed) return flow_ok;
    size_t size = (size_t)records->pipeline->source->records(records->reader) / 8 + 1;
    records->learned = held_resize(NULL, 0, size);
    if (!records->learned) return no_memory(records);
    memset(records->learned, 0, size);
    return flow_ok;
}

static FlowStatus open_source(Records *records, const Places *places, int64_t *count) {
    const FlowPipeline *pipeline = records->pipeline;
    FlowStatus status = find_files(records, places);
    if (!status.exit) status = bind_texts(records, places);
    if (!status.exit) status = open_tokenizers(records, places);
    if (!status.exit) status = find_words(records, places);
    if (!status.exit)
        status = pipeline->source->open(records->sections[0].fields,
                                        records_section_at(records, 0)->field_count,
                                        &records->arguments, &records->reader);
    if (status.exit) return status;
    records->points =
        pipeline->source->point && pipeline->source->point(records->reader, records->firsts);
    *count = find_feed(records);
    return open_learned(records);
}

static FlowStatus open_inputs(Records *records, const Places *places, int64_t *count) {
    FlowStatus status =
        joined_open(records->pipeline, records_section_at(records, 0), *places, records->sizes,
                    records->seed, records->rejects, &records->joined);
    if (status.exit) return status;
    records->joined_scratch = records->scratch;
    records->scratch += records_aligned(joined_scratch(records->joined));
    *count = joined_records(records->joined);
    return flow_ok;
}

static FlowStatus open_all(Records *records, const Places *places) {
    const FlowPipeline *pipeline = records->pipeline;
    int64_t count = 0;
    FlowStatus status = pipeline->join ? open_inputs(records, places, &count)
                                       : open_source(records, places, &count);
    for (int i = 0; i < pipeline->section_count && !status.exit; i++) {
        status = open_section(records, i, &count);
        records->count = count;
    }
    return status.exit || !records->feed ? status : records_open_fed(records);
}

static bool is_within_limits(const FlowPipeline *pipeline) {
    bool good = pipeline->section_count >= 1 && pipeline->section_count <= SECTION_LIMIT;
    for (int i = 0; good && i < pipeline->section_count; i++) {
        const FlowSection *section = &pipeline->sections[i];
        good = section->field_count <= FIELD_LIMIT && section->output_count <= FIELD_LIMIT &&
               section->order_count <= ORDER_LIMIT;
    }
    return good;
}

FlowStatus records_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                        Rejects *rejects, Records **out) {
    *out = NULL;
    if (!is_within_limits(pipeline))
        return flow_failure(FLOW_EXIT_internal, "pipeline `%s` (%s) is too large for the runtime",
                            pipeline->name, pipeline->line);
    size_t count = (size_t)pipeline->section_count;
    Records *records = calloc(1, sizeof *records + count * sizeof *records->sections);
    if (!records)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    records->pipeline = pipeline;
    records->arguments = pipeline->arguments;
    records->sizes = sizes;
    records->seed = seed;
    records->first_seed = mix((uint64_t)seed);
    records->rejects = rejects;
    records->scratch = records_aligned(pipeline->memory);
    copy_sections(records);
    FlowStatus status = open_all(records, &places);
    if (status.exit) records_close(records);
    else *out = records;
    return status;
}

void records_close(Records *records) {
    if (!records) return;
    if (records->reader) records->pipeline->source->close(records->reader);
    joined_close(records->joined);
    buckets_close(records->buckets);
    records_close_fed(records);
    free(records->words);
    free(records->learned);
    for (int i = 0; i < records->pipeline->section_count; i++)
        for (int j = 0; j < ORDER_LIMIT; j++) free(records->sections[i].orders[j].passing);
    for (int i = 0; i < records->pipeline->section_count; i++)
        pack_close(records->sections[i].pack);
    for (int i = 0; i < FIELD_LIMIT; i++) tokenizer_close(records->tokenizers[i]);
    for (int i = 0; i < FIELD_LIMIT; i++) vocabulary_free(records->texts[i]);
    for (int i = 0; i < records_section_at(records, 0)->field_count; i++)
        free((char *)records->sections[0].fields[i].path);
    free(records);
}
