/* Columns text: reductions over an axis that others follow. A thread takes a run of outputs, which
 * lie side by side in every row of the operand: it goes down the rows and keeps results `yN` for
 * each of the run's columns.
 *
 * Where columns are whole groups of FLOW_LANES, or of a part of them, the innermost loop goes over
 * one and becomes a vector. FLOW_APART rows in turn have results of their own, so that none waits
 * for the last one; they are put together at the end.
 *
 * Columns that are no whole vectors, and fewer than two, are taken with those of rows below, which
 * lie beside them, as if each of these had results of its own, where nothing but the element is
 * wanted. */
#include "compiler/codegen/kernel_text.h"

enum {
    RUN_MOST = 256, /* outputs */
    /* Columns: a loop over fewer may be left out where their number is known. */
    PASSED_LEAST = 65,
    BESIDE_MOST = 2 * COLUMN_RUN,  /* columns that are taken with those of rows below, */
    BESIDE_LEAST = 4 * COLUMN_RUN, /* and elements of a turn, that few wait for those before */
    /* What is added up to fewer than RUN_MOST: less would be little beside what begins RUN_MOST. */
    PASSED_WORK = 1 << 14,
};

static const char *run_size(const Writer *writer) {
    int64_t columns;
    const bool known = !writer->passes_sizes && dim_is_constant(writer->loops->columns, &columns);
    const bool few = known && columns < RUN_MOST;
    return arena_format(writer->arena, "%d", few ? (int)columns : RUN_MOST);
}

static const char *lanes(const Writer *writer) {
    return writer->run_lanes == COLUMN_RUN
               ? "FLOW_LANES"
               : arena_format(writer->arena, "%lld", (long long)writer->run_lanes);
}

static bool reduces(const Writer *writer, size_t at) {
    return is_reduction(writer, writer->kernel->nodes[at]);
}

static void write_steps(Writer *writer, const char *place) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (reduces(writer, at))
            write_reduction_step(writer, writer->kernel->nodes[at], place, "d");
}

static void write_steps_in_runs(Writer *writer) {
    writer->in_runs = dim_bound(writer->loops->columns) <= INT32_MAX;
    write_steps(writer, "at");
    writer->in_runs = false;
}

/* Columns of a run. Parts of vectors are worth it where something is found for each run, instead of
 * for each column. */
static int64_t find_run_lanes(const Writer *writer) {
    const int64_t group = columns_group(writer->loops);
    if (group == 1 || group == COLUMN_RUN) return group;
    Writer trial = new_writer(writer->arena, writer->plan, writer->number);
    trial.run_lanes = group;
    write_steps_in_runs(&trial);
    return trial.lines[LEVEL_run].size ? group : 1;
}

/* Are all results such that several, each of a part of the rows, can be put together? */
static bool has_sums(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (reduces(writer, at) &&
            op_info[node_of(writer, writer->kernel->nodes[at])->op].gives == GIVES_index)
            return false;
    return true;
}

static bool has_partial_results(const Writer *writer) {
    return writer->run_lanes > 1 && has_sums(writer);
}

static void declare_column_results(Writer *writer, Text *text, const char *size) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (reduces(writer, at))
            declare_results(writer, text, writer->kernel->nodes[at], size, "j", size);
}

static void write_row_by_row(Writer *writer) {
    Text *body = &writer->body;
    const char *depth = writer->depth;
    write_steps(writer, "j");
    declare_column_results(writer, body, run_size(writer));
    text_format(body,
                "        for (int64_t d = 0; d < %s; d++) {\n"
                "            const int64_t r = output / %s * %s + d;\n",
                depth, writer->columns, depth);
    move_lines(writer, &writer->lines[LEVEL_row], body, 3);
    text_format(body,
                "            FLOW_INDEPENDENT\n"
                "            for (int64_t j = 0; j < count; j++) {\n"
                "                const int64_t c = output %% %s + j, i = r * %s + c;\n"
                "                (void)i;\n",
                writer->columns, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], body, 4);
    move_lines(writer, &writer->stores, body, 4);
    text_add(body, "            }\n        }\n");
}

/* Many of its parts would begin at 1, near which rounding leans to one side. */
static bool has_product(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (node_of(writer, writer->kernel->nodes[at])->op == OP_prod) return true;
    return false;
}

/* Rows whose elements a turn takes; 0: each row is taken by itself. */
static int64_t find_rows_beside(const Writer *writer) {
    int64_t columns, rows = 1;
    const int64_t depth = dim_bound(writer->loops->depth);
    if (!dim_is_constant(writer->loops->columns, &columns) || columns >= BESIDE_MOST ||
        columns % COLUMN_RUN == 0 || writer->run_lanes > 1 || !has_sums(writer) ||
        has_product(writer))
        return 0;
    while (rows * columns % COLUMN_RUN || rows * columns < BESIDE_LEAST) rows *= 2;
    if (depth != SIZE_UNKNOWN && depth < 2 * rows) return 0;
    Writer trial = new_writer(writer->arena, writer->plan, writer->number);
    write_steps(&trial, "j");
    return trial.uses_rows ? 0 : rows;
}

/* Adds the elements of so many rows, from row d on, each to a result of its own. */
static void write_turn(Writer *writer, const char *rows) {
    Text *body = &writer->body;
    text_format(body,
                "            FLOW_INDEPENDENT FLOW_VECTORS\n"
                "            for (int64_t j = 0; j < %s * %s; j++) {\n"
                "                const int64_t i = begin + d * %s + j;\n",
                rows, writer->columns, writer->columns);
    add_lines(body, text_string(&writer->lines[LEVEL_column]), 4);
    add_lines(body, text_string(&writer->stores), 4);
    text_add(body, "            }\n");
}

static void write_rows_beside(Writer *writer, int64_t rows) {
    Text *body = &writer->body;
    const char *depth = writer->depth, *columns = writer->columns;
    const char *all = arena_format(writer->arena, "%lld", (long long)rows);
    write_steps(writer, "j");
    declare_column_results(writer, body, arena_format(writer->arena, "%s * %s", all, columns));
    text_format(body,
                "        const int64_t begin = output / %s * %s * %s;\n"
                "        int64_t d = 0;\n"
                "        for (; d + %s <= %s; d += %s) {\n",
                columns, depth, columns, all, depth, all);
    write_turn(writer, all);
    text_format(body,
                "        }\n"
                "        for (; d < %s; d++) {\n",
                depth);
    write_turn(writer, "1");
    text_format(body,
                "        }\n"
                "        for (int64_t half = %s / 2; half > 0; half /= 2)\n"
                "            for (int64_t k = 0; k < half; k++)\n"
                "                for (int64_t j = 0; j < %s; j++) {\n",
                all, columns);
    writer->lines[LEVEL_column] = writer->stores = text_new(writer->arena);
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (reduces(writer, at)) write_partial_results(writer, writer->kernel->nodes[at], columns);
    move_lines(writer, &writer->stores, body, 5);
    text_add(body, "                }\n");
}

static void put_together(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (reduces(writer, at))
            write_partial_results(writer, writer->kernel->nodes[at], run_size(writer));
    text_format(&writer->body,
                "        for (int64_t half = FLOW_APART / 2; half > 0; half /= 2)\n"
                "            for (int64_t k = 0; k < half; k++)\n"
                "                for (int64_t run = 0; run < count; run += %s)\n"
                "                    FLOW_INDEPENDENT FLOW_VECTORS\n"
                "                    for (int64_t lane = 0; lane < %s; lane++) {\n"
                "                        const int64_t j = run + lane;\n",
                lanes(writer), lanes(writer));
    move_lines(writer, &writer->stores, &writer->body, 6);
    text_add(&writer->body, "                    }\n");
}

/* What is found for a row, before what is found for each of its runs. */
static void find_rows(Writer *writer, const char *rows, const char *row) {
    Text lines = text_new(writer->arena), users = text_new(writer->arena);
    const Text *texts[] = {&writer->lines[LEVEL_run], &writer->lines[LEVEL_column],
                           &writer->stores};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_add(&lines, text_string(texts[i]));
    text_add(&users, without_unused(writer->arena, text_string(&lines)));
    const char *head =
        arena_format(writer->arena, "            %s {\n                %s\n", rows, row);
    place_rows(writer, &users, head, "k", "FLOW_APART", 3, &writer->body);
}

/* Begins the loops over rows and runs. What is found for a row is found once where rows come first,
 * or, where something is found for a run besides, before all runs, if it is places alone; else
 * again for each run. */
static void begin_rows_and_runs(Writer *writer) {
    const char *runs =
        arena_format(writer->arena, "for (int64_t run = 0; run < count; run += %s)", lanes(writer));
    static const char rows[] = "for (int64_t k = 0; k < rows; k++)";
    const bool rows_first = writer->lines[LEVEL_row].size && !writer->lines[LEVEL_run].size;
    Text *body = &writer->body;
    const char *depth = writer->depth;
    const char *row = arena_format(writer->arena, "const int64_t r = output / %s * %s + d + k;",
                                   writer->columns, depth);
    if (!rows_first && has_places(writer)) find_rows(writer, rows, row);
    text_format(body, "            %s {\n", rows_first ? rows : runs);
    if (rows_first) {
        text_format(body, "                %s\n", row);
        move_lines(writer, &writer->lines[LEVEL_row], body, 4);
    }
    text_format(body,
                "                %s {\n"
                "                    const int64_t s = output %% %s + run;\n",
                rows_first ? runs : rows, writer->columns);
    if (!rows_first) text_format(body, "                    %s\n", row);
    move_lines(writer, &writer->lines[LEVEL_row], body, 5);
    move_lines(writer, &writer->lines[LEVEL_run], body, 5);
}

static void write_rows_apart(Writer *writer) {
    Text *body = &writer->body;
    const char *depth = writer->depth;
    const char *size = arena_format(writer->arena, "FLOW_APART * %s", run_size(writer));
    write_steps_in_runs(writer);
    declare_column_results(writer, body, size);
    text_format(body,
                "        for (int64_t d = 0; d < %s; d += FLOW_APART) {\n"
                "            const int64_t rows = flow_smaller(%s - d, FLOW_APART);\n",
                depth, depth);
    begin_rows_and_runs(writer);
    write_asks_below(writer, body, "s");
    text_format(body,
                "                    FLOW_INDEPENDENT FLOW_VECTORS\n"
                "                    for (int64_t lane = 0; lane < %s; lane++) {\n"
                "                        const int64_t j = run + lane, at = k * %s + j;\n"
                "                        const int64_t c = s + lane, i = r * %s + c;\n"
                "                        (void)i;\n",
                lanes(writer), run_size(writer), writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], body, 6);
    move_lines(writer, &writer->stores, body, 6);
    text_add(body, "                    }\n"
                   "                }\n"
                   "            }\n"
                   "        }\n");
    put_together(writer);
}

/* first: of the results that the share has, where all of a row are known; else NULL. */
static void write_outputs(Writer *writer, const char *first) {
    next_scope(writer, LEVEL_row);
    store_values(writer, INDEX_output);
    Text *body = &writer->body;
    bool groups = writer->run_lanes > 1;
    int depth = groups ? 4 : 3;
    if (groups)
        text_format(body,
                    "        for (int64_t run = 0; run < count; run += %s)\n"
                    "            FLOW_INDEPENDENT FLOW_VECTORS\n"
                    "            for (int64_t lane = 0; lane < %s; lane++) {\n"
                    "                const int64_t j = run + lane, o = output + j;\n",
                    lanes(writer), lanes(writer));
    else if (first)
        text_format(body,
                    "        FLOW_INDEPENDENT\n"
                    "        for (int64_t j = %s; j < %s + count; j++) {\n"
                    "            const int64_t o = output - %s + j;\n",
                    first, first, first);
    else
        text_add(body, "        FLOW_INDEPENDENT\n"
                       "        for (int64_t j = 0; j < count; j++) {\n"
                       "            const int64_t o = output + j;\n");
    move_lines(writer, &writer->lines[LEVEL_column], body, depth);
    move_lines(writer, &writer->stores, body, depth);
    text_format(body, "%*s}\n", 4 * (depth - 1), "");
}

static bool may_pass_sizes(const Writer *writer) {
    const Loops *loops = writer->loops;
    const int64_t columns = dim_bound(loops->columns);
    if (columns < PASSED_LEAST || writer->run_lanes == 1) return false;
    return columns > RUN_MOST || dim_is_one(loops->outer) ||
           (double)columns * (double)dim_bound(loops->depth) >= PASSED_WORK;
}

static void pass_sizes(Writer *writer) {
    if (!may_pass_sizes(writer)) return;
    pass_loops(writer);
    if (!writer->passes_sizes) return;
    const char *depth = passed_size(writer, writer->loops->depth);
    writer->depth = define_index(writer, LEVEL_call, depth).text;
}

static void begin_runs(const Writer *writer, Text *text) {
    if (is_one_unit(writer->loops)) {
        text_format(text,
                    "    if (first < last) {\n"
                    "        const int64_t output = 0, count = %s;\n",
                    writer->columns);
        return;
    }
    const long long unit = (long long)columns_unit(writer->loops);
    if (unit > 1) text_format(text, "    first *= %lld, last *= %lld;\n", unit, unit);
    text_format(text,
                "    for (int64_t output = first, count; output < last; output += count) {\n"
                "        count = flow_smaller(flow_smaller(last - output, %s - output %% %s), "
                "%s);\n",
                writer->columns, writer->columns, run_size(writer));
}

KernelOperands write_columns_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(text->arena, plan, kernel);
    writer.run_lanes = find_run_lanes(&writer);
    pass_sizes(&writer);
    const int64_t beside = find_rows_beside(&writer);
    if (has_partial_results(&writer)) write_rows_apart(&writer);
    else if (beside) write_rows_beside(&writer, beside);
    else write_row_by_row(&writer);
    write_outputs(&writer,
                  beside ? arena_format(writer.arena, "output %% %s", writer.columns) : NULL);
    write_head(&writer, text);
    begin_runs(&writer, text);
    text_add(text, text_string(&writer.body));
    text_add(text, "    }\n");
    write_tail(&writer, text);
    return writer.operands;
}

const char *columns_form(Arena *arena, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(arena, plan, kernel);
    writer.run_lanes = find_run_lanes(&writer);
    const char *form = has_partial_results(&writer) ? "vectors of columns, several rows apart"
                       : find_rows_beside(&writer)  ? "with those of rows below beside them"
                                                    : "row by row";
    return arena_format(arena, "down the rows, %s columns at a time, %s", run_size(&writer), form);
}
