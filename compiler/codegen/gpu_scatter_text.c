/* GPU scatter text: sums at places that are data. A thread has a column of some rows of the result:
 * it makes them 0, looks at all places, and adds the updates of its own rows in their order, so
 * that the same bits come out each time. */
#include "compiler/codegen/definitions.h"
#include "compiler/codegen/gpu_text.h"

enum {
    THREADS = 1 << 16, /* about; each looks at all places */
    MOST_SHARES = 64,
    AHEAD = 16, /* places that are loaded at once */
};

/* Among how many threads the rows of a column are dealt out: a power of two. */
static int shares_of(const Writer *writer) {
    const int64_t columns = dim_bound(writer->loops->columns),
                  depth = dim_bound(writer->loops->depth);
    int shares = 1;
    while (shares < MOST_SHARES && shares < depth && columns * shares < THREADS) shares *= 2;
    return shares;
}

/* The lines that find the place of a row, and those of them that its update wants as well. */
typedef struct OfRow {
    const char *all, *wanted;
} OfRow;

static OfRow lines_of_row(Writer *writer) {
    Text row = text_new(writer->arena), again = text_new(writer->arena);
    Text users = text_new(writer->arena);
    Definitions all = {0};
    const bool known = read_definitions(writer->arena, &writer->lines[LEVEL_row], &all);
    move_lines(writer, &writer->lines[LEVEL_row], &row, 4);
    if (!known) return (OfRow){text_string(&row), text_string(&row)};
    text_add(&users, text_string(&writer->lines[LEVEL_column]));
    text_add(&users, text_string(&writer->stores));
    const bool *wanted = find_wanted(writer->arena, &all, text_string(&users), NULL);
    for (size_t i = 0; i < all.count; i++)
        if (wanted[i]) write_definition(&again, 3, &all.items[i], all.items[i].value);
    return (OfRow){text_string(&row), text_string(&again)};
}

const char *write_gpu_scatter(Writer *writer, Text *text) {
    NodeId id = writer->kernel->nodes[0];
    const Node *node = node_of(writer, id);
    const char *place = value_of(writer, node->inputs[0], plain_index(writer, INDEX_row));
    const char *update = value_of(writer, node->inputs[1], plain_index(writer, INDEX_full));
    const char *sum = arena_format(text->arena, "%s + %s", load_text(writer, id, "o"), update);
    text_add(&writer->stores, store_text(writer, id, "o", sum));
    const char *zero =
        store_text(writer, id, arena_format(text->arena, "d * %s + c", writer->columns), "0");
    const char *depth = dim_expression(writer->arena, writer->loops->depth);
    const char *rows = dim_expression(writer->arena, writer->loops->rows);
    const int shares = shares_of(writer);
    const OfRow of_row = lines_of_row(writer);
    write_gpu_head(writer, text);
    text_format(text,
                "    const int64_t all = FLOW_BLOCK * %d + FLOW_THREAD;\n"
                "    const int64_t c = all %% %s, share = all / %s;\n"
                "    if (share >= %d) return;\n"
                "    for (int64_t d = share; d < %s; d += %d) %s"
                "    for (int64_t first = 0; first < %s; first += %d) {\n"
                "        int64_t places[%d];\n"
                "        FLOW_UNROLL for (int u = 0; u < %d; u++) {\n"
                "            const int64_t r = first + u;\n"
                "            places[u] = -1;\n"
                "            if (r < %s) {\n"
                "%s"
                "                places[u] = (int64_t)%s;\n"
                "            }\n"
                "        }\n"
                "        FLOW_UNROLL for (int u = 0; u < %d; u++) {\n"
                "            if (places[u] < 0 || places[u] >= %s || (places[u] & %d) != share) "
                "continue;\n"
                "            const int64_t r = first + u, i = r * %s + c, o = places[u] * %s + c;\n"
                "            (void)i;\n"
                "%s",
                GPU_THREADS, writer->columns, writer->columns, shares, depth, shares, zero, rows,
                AHEAD, AHEAD, AHEAD, rows, of_row.all, place, AHEAD, depth, shares - 1,
                writer->columns, writer->columns, of_row.wanted);
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n    }\n");
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, arena_format(writer->arena, "%d * (%s)", shares, writer->columns),
                      GPU_THREADS);
}
