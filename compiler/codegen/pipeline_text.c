/* Pipeline text: record functions, and the tables of sources, sections and orders. */
#include "compiler/codegen/table_text.h"

#include "compiler/codegen/names.h"

#include <string.h>

static const char *line_literal(Printer *printer, Range range) {
    return string_text(printer, place_text(printer->arena, range));
}

/* Writes the function unless an equal one is there: pipelines that differ only in their files share
 * it. Returns its name. */
static const char *print_record(Printer *printer, const Function *function) {
    Text key = text_new(printer->arena);
    const FunctionPlan *plan = plan_of(printer->plan, function);
    write_record_function(&key, &printer->kernels, plan, "r");
    const char *name = map_get(&printer->records, text_string(&key));
    if (name) return name;
    char *added = arena_format(printer->arena, "r%d", printer->record_count++);
    map_put(&printer->records, text_string(&key), added);
    text_format(printer->text, "/* ---- %s ---- */\n\n",
                comment_text(printer->arena, function->name));
    write_record_function(printer->text, &printer->kernels, plan, added);
    return added;
}

/* The name of an array of texts, or "NULL". */
static const char *print_texts(Printer *printer, const char *const *texts, size_t count,
                               const char *name) {
    if (!count) return "NULL";
    text_format(printer->text, "static const char *const %s[] = {", name);
    for (size_t i = 0; i < count; i++)
        text_format(printer->text, "%s, ", string_text(printer, texts[i]));
    text_add(printer->text, "};\n");
    return name;
}

static const char *print_categories(Printer *printer, const Field *field, const char *name) {
    return print_texts(printer, field->categories.items, field->categories.count,
                       arena_format(printer->arena, "%s_categories", name));
}

/* What texts become that the program does not list. */
static const char *vocabulary_text(Arena *arena, const Field *field) {
    if (!field->vocabulary && !field->unknown) return "";
    return arena_format(arena, ", .vocabulary = %d, .unknown = %d", field->vocabulary,
                        field->unknown);
}

/* What a field has that takes several columns of a table, or reads files. */
static const char *print_columns(Printer *printer, const Field *field, const char *name) {
    Arena *arena = printer->arena;
    if (field->reads) return ", .reads = true";
    if (!field->numbers) return "";
    const char *except = print_texts(printer, field->except.items, field->except.count,
                                     arena_format(arena, "%s_except", name));
    return arena_format(arena, ", .numbers = true, .except = %s, .except_count = %zu", except,
                        field->except.count);
}

/* What a field has that is made of tokens. */
static const char *print_tokens(Printer *printer, const TextTokens *tokens, const char *name) {
    Arena *arena = printer->arena;
    if (!tokens->kind) return "";
    text_format(printer->text,
                "static const FlowTokens %s_tokens = {FLOW_TOKENS_%s, %s, %s, %s, %d, %d, %lld, "
                "FLOW_TOKENS_%s, FLOW_CUT_%s, %lld};\n",
                name, tokens->kind, string_text(printer, tokens->alphabet),
                string_text(printer, tokens->vocabulary), string_text(printer, tokens->merges),
                tokens->vocabulary_option, tokens->merges_option, (long long)tokens->unknown,
                tokens->use, tokens->cut, (long long)tokens->filling);
    return arena_format(arena, ", .tokens = &%s_tokens", name);
}

static const char *picture_initialiser(Arena *arena, const Picture *picture) {
    if (!picture->fit) return "{0}";
    return arena_format(
        arena, "{FLOW_FIT_%s, FLOW_METHOD_%s, FLOW_LIKE_%s, %d, %d, {%s, %s, %s, %s}, %lld}",
        picture->fit, picture->method, picture->like, picture->antialias, picture->approximate,
        number_literal(arena, TYPE_f64, picture->numbers[0]),
        number_literal(arena, TYPE_f64, picture->numbers[1]),
        number_literal(arena, TYPE_f64, picture->numbers[2]),
        number_literal(arena, TYPE_f64, picture->numbers[3]), (long long)picture->stream);
}

static void print_fields(Printer *printer, const char *name, const Field *fields, size_t count) {
    const char **categories = arena_new_array(printer->arena, const char *, count + 1);
    const char **columns = arena_new_array(printer->arena, const char *, count + 1);
    const char **tokens = arena_new_array(printer->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *own = arena_format(printer->arena, "%s%zu", name, i);
        categories[i] = print_categories(printer, &fields[i], own);
        columns[i] = print_columns(printer, &fields[i], own);
        tokens[i] = print_tokens(printer, &fields[i].tokens, own);
    }
    text_format(printer->text, "static const FlowField %s[] = {\n", name);
    for (size_t i = 0; i < count; i++) {
        const Field *field = &fields[i];
        text_format(printer->text, "    {%s, %s, %s, %s, %s, %s, %zu, %s, %s, %s, %d%s%s%s},\n",
                    string_text(printer, field->column ? field->column : field->name),
                    string_text(printer, field->path),
                    type_initialiser(printer->arena, &printer->sizes, &field->type),
                    field->decoder
                        ? arena_format(printer->arena, "&flow_decoder_%s", field->decoder)
                        : "NULL",
                    picture_initialiser(printer->arena, &field->picture), categories[i],
                    field->categories.count, field->fills ? "true" : "false",
                    number_literal(printer->arena, TYPE_f64, field->filling),
                    field->digits ? "true" : "false", field->path_option,
                    vocabulary_text(printer->arena, field), columns[i], tokens[i]);
    }
    text_add(printer->text, "};\n");
}

static int field_index(const Section *section, const char *name) {
    for (size_t i = 0; name && i < section->fields.count; i++)
        if (!strcmp(section->fields.items[i].name, name)) return (int)i;
    return -1;
}

static const char *check_text(Printer *printer, const Node *check) {
    return arena_format(printer->arena, "`%s` must lie in %lld..%lld",
                        check->name ? check->name : "value", (long long)check->low,
                        (long long)check->high);
}

/* The name of the table of the function's checks, or "NULL". */
static const char *print_checks(Printer *printer, const Section *section, const Function *function,
                                const char *prefix) {
    const char *name = arena_format(printer->arena, "%s_checks", prefix);
    bool any = false;
    vector_each(Node, node, function->graph->nodes) {
        if (node->op != OP_check) continue;
        if (!any) text_format(printer->text, "static const FlowCheck %s[] = {\n", name);
        any = true;
        text_format(printer->text, "    {%s, %s, %d},\n",
                    string_text(printer, check_text(printer, node)),
                    line_literal(printer, node->range), field_index(section, node->name));
    }
    if (any) text_add(printer->text, "};\n");
    return any ? name : "NULL";
}

/* The sizes that batches choose from, if they do. */
static const char *print_bucket(Printer *printer, const Ordering *order, const char *prefix) {
    if (order->kind != ORDER_bucket) return "";
    text_format(printer->text, "static const int64_t %s_sizes[] = {", prefix);
    vector_each(int64_t, size, order->sizes) text_format(printer->text, "%lld, ", (long long)*size);
    text_add(printer->text, "};\n");
    return arena_format(printer->arena, ", %d, %s_sizes, %zu", order->bound, prefix,
                        order->sizes.count);
}

static const char *print_order(Printer *printer, const Section *section, const Ordering *order,
                               const char *prefix) {
    static const char *const kinds[] = {"shuffle", "take", "skip", "filter", "bucket"};
    bool asks = order->condition.graph != NULL;
    const char *condition = asks ? print_record(printer, &order->condition) : "NULL";
    const char *checks = asks ? print_checks(printer, section, &order->condition, prefix) : "NULL";
    const char *sizes = print_bucket(printer, order, prefix);
    return arena_format(printer->arena, "    {FLOW_ORDER_%s, %lluu, %s, %s, %s, %lld%s},\n",
                        kinds[order->kind], (unsigned long long)order->number,
                        order->each_epoch ? "true" : "false", condition, checks,
                        (long long)order->window, sizes);
}

static const char *print_orders(Printer *printer, const Section *section, const char *prefix) {
    const char *name = arena_format(printer->arena, "%s_orders", prefix);
    Text rows = text_new(printer->arena);
    size_t index = 0;
    if (!section->orders.count) return "NULL";
    vector_each(Ordering, order, section->orders) {
        const char *own = arena_format(printer->arena, "%s_%zu", name, index++);
        text_add(&rows, print_order(printer, section, order, own));
    }
    text_format(printer->text, "static const FlowOrder %s[] = {\n%s};\n", name, text_string(&rows));
    return name;
}

/* How its records are made, unless it is as usual. */
static const char *print_making(Printer *printer, const Section *section) {
    const FunctionPlan *plan = section->plain ? NULL : plan_of(printer->plan, &section->record);
    Text text = text_new(printer->arena);
    if (section->packs)
        text_format(&text, ", .packs = true, .separator = %d", (int)section->separator);
    if (plan && plan->together) text_format(&text, ", .together = %lld", (long long)plan->together);
    return text_string(&text);
}

/* The section's initialiser, after what it points at. */
static const char *print_section(Printer *printer, const Section *section, const char *prefix) {
    Arena *arena = printer->arena;
    const char *fields = arena_format(arena, "%s_fields", prefix);
    const char *outputs = arena_format(arena, "%s_outputs", prefix);
    const char *record = section->plain ? "NULL" : print_record(printer, &section->record);
    print_fields(printer, fields, section->fields.items, section->fields.count);
    print_fields(printer, outputs, section->outputs.items, section->outputs.count);
    const char *orders = print_orders(printer, section, prefix);
    const char *checks =
        section->plain ? "NULL" : print_checks(printer, section, &section->record, prefix);
    return arena_format(arena, "    {%s, %s, %s, %zu, %s, %zu, %s, %s, %s, %zu%s},\n",
                        size_initialiser(arena, &printer->sizes, section->window),
                        size_initialiser(arena, &printer->sizes, section->stride), fields,
                        section->fields.count, orders, section->orders.count, record, checks,
                        outputs, section->outputs.count, print_making(printer, section));
}

/* What a table is told about how it is written, unless it is as usual. */
static const char *print_form(Printer *printer, const Pipeline *pipeline, size_t index) {
    Arena *arena = printer->arena;
    const char *missing = print_texts(printer, pipeline->missing.items, pipeline->missing.count,
                                      arena_format(arena, "p%zu_missing", index));
    if (!pipeline->missing.count && !pipeline->comment && !pipeline->separator) return "";
    return arena_format(arena,
                        ", .separator = %d, .comment = %d, .missing = %s, .missing_count = %zu",
                        pipeline->separator, pipeline->comment, missing, pipeline->missing.count);
}

/* The address of the table of where records come from, or "NULL". */
static const char *print_join(Printer *printer, const Join *join, size_t index) {
    static const char *const kinds[] = {"concat", "zip", "interleave", "mix", "repeat", "cache"};
    Arena *arena = printer->arena;
    Text inputs = text_new(arena), places = text_new(arena), weights = text_new(arena);
    if (!join->inputs.count) return "NULL";
    vector_each(Pipeline *, input, join->inputs)
        text_format(&inputs, "&p%zu, ", pipeline_number(printer->program, *input));
    vector_each(int, place, join->places) text_format(&places, "%d, ", *place);
    vector_each(double, weight, join->weights)
        text_format(&weights, "%s, ", number_literal(arena, TYPE_f64, *weight));
    text_format(printer->text, "static const FlowPipeline *const p%zu_inputs[] = {%s};\n", index,
                text_string(&inputs));
    text_format(printer->text, "static const int p%zu_places[] = {%s};\n", index,
                text_string(&places));
    if (join->weights.count)
        text_format(printer->text, "static const double p%zu_weights[] = {%s};\n", index,
                    text_string(&weights));
    text_format(printer->text,
                "static const FlowJoin p%zu_join = {\n"
                "    .kind = FLOW_JOIN_%s,\n    .inputs = p%zu_inputs,\n"
                "    .input_count = %zu,\n    .places = p%zu_places,\n    .number = %lluu,\n"
                "    .weights = %s,\n    .path = %s,\n    .option = %d,\n    .seeded = %s,\n"
                "    .code = %s,\n};\n",
                index, kinds[join->kind], index, join->inputs.count, index,
                (unsigned long long)join->number,
                join->weights.count ? arena_format(arena, "p%zu_weights", index) : "NULL",
                join->path ? string_text(printer, join->path) : "NULL", join->path_option,
                join->seeded ? "true" : "false",
                string_text(printer, join->code ? join->code : ""));
    return arena_format(arena, "&p%zu_join", index);
}

/* Where "-" comes from, unless it is standard input. */
static const char *print_origin(Printer *printer, const FeedOrigin *origin, size_t index) {
    static const char *const kinds[] = {
        [ORIGIN_command] = "command", [ORIGIN_connect] = "connect", [ORIGIN_listen] = "listen"};
    if (!origin->words.count) return "";
    text_format(printer->text, "static const FlowWord p%zu_words[] = {\n", index);
    vector_each(OriginWord, word, origin->words)
        text_format(printer->text, "    {%s, %d},\n", string_text(printer, word->text),
                    word->option);
    text_add(printer->text, "};\n");
    return arena_format(printer->arena,
                        ",\n                  .origin = {FLOW_ORIGIN_%s, p%zu_words, %zu}",
                        kinds[origin->kind], index, origin->words.count);
}

static void print_pipeline(Printer *printer, const Pipeline *pipeline, size_t index) {
    static const char *const on_error[] = {
        [ON_ERROR_stop] = "stop", [ON_ERROR_skip] = "skip", [ON_ERROR_log] = "log"};
    Text rows = text_new(printer->arena);
    const char *form = print_form(printer, pipeline, index);
    const char *join = print_join(printer, &pipeline->join, index);
    const char *source = pipeline->source
                             ? arena_format(printer->arena, "&flow_source_%s", pipeline->source)
                             : "NULL";
    const char *origin = print_origin(printer, &pipeline->origin, index);
    size_t number = 0;
    vector_each(Section *, section, pipeline->sections)
        text_add(&rows, print_section(printer, *section,
                                      arena_format(printer->arena, "p%zu_%zu", index, number++)));
    text_format(printer->text, "static const FlowSection p%zu_sections[] = {\n%s};\n", index,
                text_string(&rows));
    text_format(
        printer->text,
        "static const FlowPipeline p%zu = {\n"
        "    .name = %s,\n    .line = %s,\n    .source = %s,\n"
        "    .join = %s,\n"
        "    .arguments = {.header = %s, .records = %lld, .header_size = %lld, .query = %s%s%s},\n"
        "    .sections = p%zu_sections,\n    .section_count = %zu,\n    .memory = %zu,\n"
        "    .batch = %lld,\n    .patience = %lld,\n"
        "    .on_error = FLOW_ON_ERROR_%s,\n    .log = %s,\n    .log_option = %d,\n"
        "    .threads = %d,\n    .queue = %d,\n    .limit = %.0f,\n    .unordered = %s,\n    "
        ".on_gpus = %s,\n};\n\n",
        index, string_text(printer, pipeline->name), line_literal(printer, pipeline->range), source,
        join, pipeline->headless ? "false" : "true", (long long)pipeline->records,
        (long long)pipeline->header_size, string_text(printer, pipeline->query), form, origin,
        index, pipeline->sections.count, record_memory(printer->plan, pipeline),
        (long long)pipeline->batch, (long long)(pipeline->patience * 1e9),
        on_error[pipeline->on_error], pipeline->log ? string_text(printer, pipeline->log) : "NULL",
        pipeline->log_option, pipeline->threads.value, pipeline->queue.value, pipeline->memory,
        pipeline->unordered ? "true" : "false",
        pipeline_on_gpus(printer->plan, pipeline) > 0 ? "true" : "false");
}

void print_pipelines(Printer *printer) {
    for (size_t i = 0; i < printer->program->pipelines.count; i++)
        print_pipeline(printer, printer->program->pipelines.items[i], i);
}

size_t pipeline_number(const Program *program, const Pipeline *pipeline) {
    size_t index = 0;
    while (program->pipelines.items[index] != pipeline) index++;
    return index;
}
