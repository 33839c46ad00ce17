/* GPU scatter text: sums at places that are data. A block has columns of some rows of the result, a
 * thread one of them, which it makes 0. The block's threads look at all places together and list
 * those of the block's rows. Each adds what is listed to its column, in that order: the same bits
 * come out each time. */
#include "compiler/codegen/definitions.h"
#include "compiler/codegen/gpu_text.h"

enum {
    THREADS = 1 << 17, /* about so many there are: blocks with a few rows of the result each */
    MOST_SHARES = 256,
    EACH = 8,  /* places that a thread looks at, for all */
    AHEAD = 4, /* updates that are loaded at once */
};

/* Among how many blocks the rows of a column are dealt out: a power of two. */
static int shares_of(const Writer *writer) {
    const int64_t columns = dim_bound(writer->loops->columns),
                  depth = dim_bound(writer->loops->depth);
    int shares = 1;
    while (shares < MOST_SHARES && shares < depth && columns * shares < THREADS) shares *= 2;
    return shares;
}

/* Those of the lines that somebody speaks of. */
static Text lines_for(Writer *writer, const Definitions *all, const char *users, int depth) {
    Text text = text_new(writer->arena);
    const bool *wanted = find_wanted(writer->arena, all, users, NULL);
    for (size_t i = 0; i < all->count; i++)
        if (wanted[i]) write_definition(&text, depth, &all->items[i], all->items[i].value);
    return text;
}

/* Gives the lines that find the place of a row. The writer keeps those that its update wants. */
static const char *take_lines_of_place(Writer *writer, const char *place) {
    Text users = text_new(writer->arena), lines = writer->lines[LEVEL_row];
    Definitions all = {0};
    if (!read_definitions(writer->arena, &lines, &all)) {
        Text every = text_new(writer->arena);
        move_lines(writer, &lines, &every, 3);
        return text_string(&every);
    }
    text_add(&users, text_string(&writer->lines[LEVEL_column]));
    text_add(&users, text_string(&writer->stores));
    writer->lines[LEVEL_row] = lines_for(writer, &all, text_string(&users), 0);
    lines = lines_for(writer, &all, place, 3);
    return text_string(&lines);
}

/* The block's list of the places from `first` on: how many there are is `listed`. */
static void write_list(const Writer *writer, Text *text, const char *lines, const char *place,
                       int shares) {
    text_format(text,
                "        int64_t own[EACH];\n"
                "        int at = 0, listed = 0, count = 0;\n"
                "        FLOW_UNROLL for (int u = 0; u < EACH; u++) {\n"
                "            const int64_t r = first + FLOW_THREAD * EACH + u;\n"
                "            own[u] = -1;\n"
                "            if (r >= %s) continue;\n"
                "%s"
                "            const int64_t place = (int64_t)%s;\n"
                "            if (place < 0 || place >= %s || (place & %d) != share) continue;\n"
                "            own[u] = place;\n"
                "            count++;\n"
                "        }\n"
                "        FLOW_PUT(counts, FLOW_THREAD, count);\n"
                "        FLOW_SYNC();\n"
                "        for (int thread = 0; thread < %d; thread++) {\n"
                "            const int theirs = FLOW_GET(counts, thread);\n"
                "            at += thread < FLOW_THREAD ? theirs : 0;\n"
                "            listed += theirs;\n"
                "        }\n"
                "        FLOW_UNROLL for (int u = 0; u < EACH; u++) {\n"
                "            if (own[u] < 0) continue;\n"
                "            FLOW_PUT(places, at, own[u]);\n"
                "            FLOW_PUT(rows, at, (int)FLOW_THREAD * EACH + u);\n"
                "            at++;\n"
                "        }\n"
                "        FLOW_SYNC();\n",
                dim_expression(writer->arena, writer->loops->rows), lines, place,
                dim_expression(writer->arena, writer->loops->depth), shares - 1, GPU_THREADS);
}

/* Several updates are loaded at once, and added one after the other: the sum, which may be of the
 * same place, is loaded where it is stored. */
static void write_updates(Writer *writer, Text *text) {
    const char *head = arena_format(
        writer->arena,
        "                if (begin + u >= listed) continue;\n"
        "                const int64_t r = first + FLOW_GET(rows, begin + u), i = r * %s + c;\n"
        "                const int64_t o = FLOW_GET(places, begin + u) * %s + c;\n"
        "                (void)i, (void)o;\n",
        writer->columns, writer->columns);
    const int ahead = gpu_ahead(writer, AHEAD, AHEAD);
    text_format(text,
                "        for (int begin = 0; c < %s && begin < listed; begin += %d) {\n"
                "            enum { AHEAD = %d };\n",
                writer->columns, ahead, ahead);
    write_gpu_ahead(writer, text, 3, head, "", ahead, NULL);
    text_add(text, "        }\n");
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
    const char *across = gpu_blocks(writer, writer->columns, GPU_THREADS);
    const int shares = shares_of(writer);
    const char *lines = take_lines_of_place(writer, place);
    write_gpu_head(writer, text);
    text_format(text,
                "    enum { EACH = %d, PLACES = EACH * %d };\n"
                "    FLOW_SHARED(int64_t, places, PLACES);\n"
                "    FLOW_SHARED(int, rows, PLACES);\n"
                "    FLOW_SHARED(int, counts, %d);\n"
                "    const int64_t across = %s, share = FLOW_BLOCK / across;\n"
                "    const int64_t c = FLOW_BLOCK %% across * %d + FLOW_THREAD;\n"
                "    for (int64_t d = share; c < %s && d < %s; d += %d) %s"
                "    for (int64_t first = 0; first < %s; first += PLACES) {\n",
                EACH, GPU_THREADS, GPU_THREADS, across, GPU_THREADS, writer->columns, depth, shares,
                zero, dim_expression(writer->arena, writer->loops->rows));
    write_list(writer, text, lines, place, shares);
    write_updates(writer, text);
    text_add(text, "    }\n");
    write_gpu_tail(writer, text);
    return arena_format(writer->arena, "%d * (%s)", shares, across);
}
