/* Stream text: large values leave the loops in buffers that stay in the nearest cache; from there
 * whole lines go to memory, which nobody has to read for that. Smaller ones, which still are more
 * than the nearest caches hold, are asked for ahead of the loops that read and store them. */
#include "compiler/codegen/writer.h"

enum {
    STREAM_LEAST = 64 << 20, /* bytes of a value */
    ASK_LEAST = 1 << 20,     /* the same */
    ASKED_BELOW = 8,         /* so many rows */
    STREAM_RUN_LEAST = 1024, /* bytes of a row that is a buffer */
};

/* A weight that is updated where it lies has just been read into the caches, and what a band passes
 * on is read there. */
static bool stays_near(const Writer *writer, NodeId id) {
    const Place *place = &writer->plan->places[id];
    return place->kind == PLACE_band || (place->kind == PLACE_memory && place->index >= 0);
}

static bool fills_runs(const Writer *writer, const Node *node) {
    if (writer->flat) return true;
    return keeps_rows(writer->loops) &&
           dim_bound(writer->loops->columns) * element_info[node->type.element].size >=
               STREAM_RUN_LEAST;
}

bool is_streamed(const Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    return writer->kernel && !writer->gpu && writer->loops->kind == KERNEL_rows &&
           is_stored(writer, id) && node->kernel == writer->number &&
           type_size_bound(&node->type) >= STREAM_LEAST &&
           native_index(writer->table, writer->loops, &node->type) == INDEX_full &&
           !stays_near(writer, id) && fills_runs(writer, node);
}

bool streams(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_streamed(writer, writer->kernel->nodes[at])) return true;
    return false;
}

void declare_streamed(Writer *writer, Text *text, const char *count) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_streamed(writer, id))
            text_format(text, "        _Alignas(64) %s o%u[%s];\n",
                        element_info[node_of(writer, id)->type.element].c, number_of(writer, id),
                        count);
    }
}

/* Of what the loop reads as it lies; `stored` is stored meanwhile. Returns of how many values. */
static int write_ahead(Writer *writer, Text *text, const char *first, const char *count,
                       const char *stored) {
    int asked = 0;
    text_add(text, "        const FlowAhead ahead[] = {");
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->whole)
            text_format(text, "%s{%s + %s, %s * sizeof *%s, (sizeof *%s - 1) / sizeof *%s + 1}",
                        asked++ ? ", " : "", pointer->name, first, count, pointer->name,
                        pointer->name, stored);
    text_add(text, asked ? "};\n" : "{NULL, 0, 0}};\n");
    return asked;
}

/* The first store asks for what comes. */
void write_streamed(Writer *writer, Text *text, const char *first, const char *count) {
    bool asks = true;
    int asked = 0;
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_streamed(writer, id)) continue;
        const char *pointer = pointer_to(writer, id, true);
        if (asks) asked = write_ahead(writer, text, first, count, pointer);
        text_format(text, "        flow_stream(%s + %s, o%u, %s * sizeof *%s, ahead, %d);\n",
                    pointer, first, number_of(writer, id), count, pointer, asks ? asked : 0);
        asks = false;
    }
}

/* Rows that take several loops ask for others meanwhile, and parts of rows for those below: no loop
 * goes on from row to row, so that the processor would see what comes. */

static double bytes_of_rows(const Writer *writer, Element element) {
    const Loops *loops = writer->loops;
    return (double)dim_bound(loops->outer) * (double)dim_bound(loops->rows) *
           (double)dim_bound(loops->depth) * (double)dim_bound(loops->columns) *
           element_info[element].size;
}

static bool is_in_band(const Writer *writer, NodeId id) {
    return writer->plan->places[id].kind == PLACE_band;
}

/* What a band passes on is near. */
static bool works_in_band(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        const Node *node = node_of(writer, writer->kernel->nodes[at]);
        if (is_in_band(writer, writer->kernel->nodes[at])) return true;
        for (int i = 0; i < node->input_count; i++)
            if (is_in_band(writer, strip_reshapes(writer->graph, node->inputs[i]))) return true;
    }
    return false;
}

static void write_ask(const Writer *writer, Text *text, const char *pointer, Element element) {
    if (bytes_of_rows(writer, element) >= ASK_LEAST)
        text_format(text, "        flow_ask_row(%s, r, %s * sizeof *%s);\n", pointer,
                    writer->columns, pointer);
}

void write_asks(Writer *writer, Text *text) {
    if (streams(writer) || writer->kernel->triangle.columns || works_in_band(writer)) return;
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->whole) write_ask(writer, text, pointer->name, pointer->element);
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        const Type *type = &node_of(writer, id)->type;
        if (is_stored(writer, id) && node_of(writer, id)->kernel == writer->number &&
            native_index(writer->table, writer->loops, type) == INDEX_full)
            write_ask(writer, text, pointer_to(writer, id, true), type->element);
    }
}

void write_asks_below(const Writer *writer, Text *text, const char *column) {
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->whole && bytes_of_rows(writer, pointer->element) >= ASK_LEAST)
            text_format(text,
                        "                    __builtin_prefetch(%s + (r + %d) * %s + %s, 0, 2);\n",
                        pointer->name, ASKED_BELOW, writer->columns, column);
}
