/* Short rows text: rows with reductions that would not fill vectors. FLOW_LANES of them, a group,
 * are computed at once: the innermost of each stage's loops goes over rows, and all buffers hold
 * rows side by side, first elements first. Behind the last row a group repeats it, so that every
 * row is computed by the same code. */
#include "compiler/codegen/writer.h"

enum {
    MOST_COLUMNS = 32,
    FULL = 8,       /* columns fill vectors, as most of a row: then it is read as it lies, */
    FULL_WAITS = 2, /* unless so many reductions wait for each other: each is folded in a row */
    LEAST_ROWS = 8, /* that fewer would leave most lanes without work */
};

/* What is computed once a row, and then for each element of it. */
typedef struct StageText {
    int number;
    Text rows, columns, stores;
    size_t variable_count; /* known at its end */
} StageText;

typedef Vector(StageText) StageTexts;

static const char lane_loop[] =
    "FLOW_VECTORS for (int64_t lane = 0; lane < FLOW_LANES; lane++) {\n";
static const char row_line[] = "const int64_t r = flow_smaller(group + lane, last - 1);\n";

/* Is it faster to read full vectors of a row than several rows side by side? */
static bool is_full(const Writer *writer, int64_t columns) {
    if (columns <= FULL || columns % FULL) return false;
    Writer scratch = new_writer(writer->arena, writer->plan, writer->number);
    return columns == MOST_COLUMNS || find_stages(&scratch) < FULL_WAITS;
}

bool has_short_rows(const Writer *writer) {
    int64_t columns;
    if (!dim_is_constant(writer->loops->columns, &columns) || columns == 1 ||
        columns > MOST_COLUMNS)
        return false;
    if (is_full(writer, columns) || dim_bound(writer->loops->rows) < LEAST_ROWS) return false;
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at])) return true;
    return false;
}

/* StageTexts. */

static void write_element(Writer *writer, size_t at) {
    NodeId id = writer->kernel->nodes[at];
    Index full = plain_index(writer, INDEX_full);
    if (is_fed(writer, at)) write_reduction_step(writer, id, "lane", "j");
    if (is_reduction(writer, id) || own_index(writer, id) != INDEX_full) return;
    if (writer->depths[at] != writer->stage) return;
    if (is_stored(writer, id)) store_value(writer, id, full);
    if (writer->buffered[at])
        text_format(&writer->stores, "t%u[at] = %s;\n", number_of(writer, id),
                    value_of(writer, id, full));
}

static void end_reductions(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_fed(writer, at)) result_value(writer, id, plain_index(writer, INDEX_row), "lane");
    }
}

static void end_stage(Writer *writer, StageTexts *stages) {
    StageText stage = {writer->stage, text_new(writer->arena), text_new(writer->arena),
                       text_new(writer->arena), writer->variables.count};
    move_lines(writer, &writer->lines[LEVEL_row], &stage.rows, 3);
    move_lines(writer, &writer->lines[LEVEL_column], &stage.columns, 4);
    move_lines(writer, &writer->stores, &stage.stores, 4);
    vector_push(writer->arena, stages, stage);
}

/* The last of them stores values of rows. */
static StageTexts find_lines(Writer *writer) {
    StageTexts stages = {0};
    int last = find_stages(writer);
    for (writer->stage = 0; writer->stage <= last; writer->stage++) {
        next_scope(writer, LEVEL_column);
        for (size_t at = 0; at < writer->kernel->node_count; at++) write_element(writer, at);
        if (!writer->stores.size) continue;
        end_stage(writer, &stages);
        end_reductions(writer);
    }
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (own_index(writer, id) == INDEX_row && is_stored(writer, id))
            store_value(writer, id, plain_index(writer, INDEX_row));
    }
    end_stage(writer, &stages);
    return stages;
}

/* Values of rows that later loops want. */

static const char *variable_type(const Variable *variable) {
    return variable->type ? variable->type : "int64_t";
}

static bool speaks_of(const StageText *stage, const char *name, bool of_elements) {
    return (!of_elements && has_name(&stage->rows, name)) || has_name(&stage->columns, name) ||
           has_name(&stage->stores, name);
}

static bool is_wanted_after(const StageTexts *stages, size_t at, const char *name) {
    for (size_t i = at; i < stages->count; i++)
        if (speaks_of(&stages->items[i], name, i == at)) return true;
    return false;
}

static size_t known_before(const StageTexts *stages, size_t at) {
    return at ? stages->items[at - 1].variable_count : 0;
}

static void declare_rows(Writer *writer, const StageTexts *stages, size_t at, Text *text) {
    for (size_t i = known_before(stages, at); i < stages->items[at].variable_count; i++) {
        const Variable *variable = &writer->variables.items[i];
        if (variable->level == LEVEL_row && is_wanted_after(stages, at, variable->name))
            text_format(text, "        _Alignas(64) %s rows_%s[FLOW_LANES];\n",
                        variable_type(variable), variable->name);
    }
}

static void keep_rows(Writer *writer, const StageTexts *stages, size_t at, Text *text) {
    for (size_t i = known_before(stages, at); i < stages->items[at].variable_count; i++) {
        const Variable *variable = &writer->variables.items[i];
        if (variable->level == LEVEL_row && is_wanted_after(stages, at, variable->name))
            text_format(text, "            rows_%s[lane] = %s;\n", variable->name, variable->name);
    }
}

static void load_rows(Writer *writer, const Text *lines, size_t known, int depth, Text *text) {
    for (size_t i = 0; i < known; i++) {
        const Variable *variable = &writer->variables.items[i];
        if (variable->level == LEVEL_row && has_name(lines, variable->name))
            text_format(text, "%*sconst %s %s = rows_%s[lane];\n", 4 * depth, "",
                        variable_type(variable), variable->name, variable->name);
    }
}

/* Loops. */

static void write_row_loop(Writer *writer, const StageTexts *stages, size_t at, Text *text) {
    const StageText *stage = &stages->items[at];
    if (!stage->rows.size) return;
    declare_rows(writer, stages, at, text);
    text_format(text, "        %s            %s            (void)r;\n", lane_loop, row_line);
    load_rows(writer, &stage->rows, known_before(stages, at), 3, text);
    text_add(text, text_string(&stage->rows));
    keep_rows(writer, stages, at, text);
    text_add(text, "        }\n");
}

static void write_column_loop(Writer *writer, const StageText *stage, Text *text) {
    Text lines = text_new(writer->arena);
    text_add(&lines, text_string(&stage->columns));
    text_add(&lines, text_string(&stage->stores));
    text_format(text,
                "        for (int64_t j = 0; j < %s; j++)\n"
                "            %s"
                "                %s"
                "                const int64_t c = j, at = j * FLOW_LANES + lane, i = r * %s + c;\n"
                "                (void)at, (void)i;\n",
                writer->columns, lane_loop, row_line, writer->columns);
    load_rows(writer, &lines, stage->variable_count, 4, text);
    text_add(text, text_string(&lines));
    text_add(text, "            }\n");
}

static void declare_stage(Writer *writer, int stage, Text *text) {
    writer->stage = stage;
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_fed(writer, at))
            declare_results(writer, text, writer->kernel->nodes[at], "FLOW_LANES", "lane",
                            "FLOW_LANES");
}

/* Rows in memory and in buffers. */

static void declare_buffer(Writer *writer, Text *text, const char *type, const char *name) {
    text_format(text, "        _Alignas(64) %s %s[%s * FLOW_LANES];\n", type, name,
                writer->columns);
}

static void declare_buffers(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        const ElementInfo *element = &element_info[node_of(writer, id)->type.element];
        if (writer->buffered[at])
            declare_buffer(writer, text, element->computed,
                           arena_format(writer->arena, "t%u", number_of(writer, id)));
        if (own_index(writer, id) == INDEX_full && is_stored(writer, id))
            declare_buffer(writer, text, element->c,
                           arena_format(writer->arena, "o%u", number_of(writer, id)));
    }
}

static void copy_in(Writer *writer, Text *text) {
    vector_each(Pointer, pointer, writer->pointers) {
        if (!pointer->whole) continue;
        const ElementInfo *element = &element_info[pointer->element];
        declare_buffer(writer, text, element->c,
                       arena_format(writer->arena, "rows_%s", pointer->name));
        text_format(text,
                    "        flow_beside_%d(rows_%s, FLOW_LANES, %s + group * %s, %s, count);\n",
                    element->size, pointer->name, pointer->name, writer->columns, writer->columns);
    }
}

static void copy_out(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (own_index(writer, id) != INDEX_full || !is_stored(writer, id)) continue;
        text_format(
            text, "        flow_across_%d(%s + group * %s, %s, o%u, FLOW_LANES, %s, count);\n",
            element_info[node_of(writer, id)->type.element].size, pointer_to(writer, id, true),
            writer->columns, writer->columns, number_of(writer, id), writer->columns);
    }
}

static void store_rows(Writer *writer, const StageText *last, Text *text) {
    if (!last->stores.size) return;
    text_add(text, "        for (int64_t lane = 0; lane < count; lane++) {\n"
                   "            const int64_t r = group + lane;\n");
    load_rows(writer, &last->stores, last->variable_count, 3, text);
    text_add(text, text_string(&last->stores));
    text_add(text, "        }\n");
}

KernelOperands write_short_rows_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(text->arena, plan, kernel);
    writer.lanes = true;
    StageTexts stages = find_lines(&writer);
    write_head(&writer, text);
    text_add(text, "    for (int64_t group = first; group < last; group += FLOW_LANES) {\n"
                   "        const int64_t count = flow_smaller(last - group, FLOW_LANES);\n");
    declare_buffers(&writer, text);
    copy_in(&writer, text);
    for (size_t at = 0; at < stages.count; at++) {
        write_row_loop(&writer, &stages, at, text);
        if (at + 1 == stages.count) break;
        declare_stage(&writer, stages.items[at].number, text);
        write_column_loop(&writer, &stages.items[at], text);
    }
    copy_out(&writer, text);
    store_rows(&writer, &stages.items[stages.count - 1], text);
    text_add(text, "    }\n");
    write_tail(&writer, text);
    return writer.operands;
}
