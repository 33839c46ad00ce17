/* Parse: graph text, as graph_print writes it and people write it in tests.
 *
 *     graph "name" batch B <= 64         the batch and the bounds may be missing
 *       dim T <= 1024
 *       %0 = input "x" : f32[B, 784]     every node has the next number
 *       %1 = sum %0 axes=[1]             the type may be left out where it follows
 *       %2 = view %0 [i0, (2*i1 - 1)/2] fill 0 : f32[B, 9]     i0 is axis 0 of the result
 *       %3 = transpose %0                short for the view that exchanges the last two axes
 *       %4 = exp %1 @gpu(0)              the wanted device: @cpu, @gpu(k), @prefer(gpu(k))
 *       result "y" %1
 *       update "w" %3 of %2
 *       %4 = scan %3 turns=T carried=1 scanned=1 shared=0 backwards {
 *         …                              its body: nodes and results; `backwards` may be missing
 *       }
 *       %5 = part %4 0
 *
 * Line ends are blanks, `#` starts a comment. Nodes are appended as they are written, nothing is
 * simplified. The reader stops at the first error: `failed` makes every later step do nothing. */
#include "compiler/graph/parse.h"

static Dim read_symbol(Reader *reader, bool batch) {
    const char *name = read_name(reader);
    int64_t bound = SIZE_UNKNOWN;
    if (!*name) reader_fail(reader, "expected a name");
    if (map_get(&reader->symbols, name))
        reader_fail(reader, "dimension `%s` is declared twice", name);
    if (take_mark(reader, "<=")) bound = read_integer(reader);
    if (bound != SIZE_UNKNOWN && (bound < 1 || bound > DIMENSION_LIMIT))
        reader_fail(reader, "a size is from 1 to 2^40");
    Dim symbol = dim_symbol(reader->graph->dimensions, name, bound, batch);
    map_put(&reader->symbols, name, (void *)symbol);
    return symbol;
}

static void read_output(Reader *reader, OutputKind kind) {
    const char *name = read_string(reader);
    NodeId value = read_id(reader), target = NODE_NONE;
    if (kind == OUTPUT_update) {
        if (!take_name(reader, "of")) reader_fail(reader, "expected `of`");
        target = read_id(reader);
    }
    if (!reader->failed) graph_output(reader->graph, kind, name, value, target);
}

static void read_header(Reader *reader) {
    if (!take_name(reader, "graph")) reader_fail(reader, "expected `graph`");
    const char *name = read_string(reader);
    reader->graph = graph_new(reader->arena, dimensions_new(reader->arena), name);
    if (take_name(reader, "batch")) reader->graph->batch = read_symbol(reader, true);
}

void read_line(Reader *reader) {
    if (take_mark(reader, "%")) {
        reader->begin = reader->at - 1;
        read_node(reader);
    } else if (take_name(reader, "dim")) read_symbol(reader, false);
    else if (take_name(reader, "result")) read_output(reader, OUTPUT_result);
    else if (take_name(reader, "update")) read_output(reader, OUTPUT_update);
    else reader_fail(reader, "expected a node, `dim`, `result` or `update`");
}

Graph *graph_parse(Arena *arena, const Source *source, Diagnostics *diagnostics) {
    Reader reader = {
        .arena = arena, .source = source, .diagnostics = diagnostics, .symbols = map_new(arena)};
    read_header(&reader);
    while (!reader_at_end(&reader)) read_line(&reader);
    const char *broken = reader.failed ? NULL : graph_verify(arena, reader.graph);
    if (broken) reader_fail(&reader, "%s", broken);
    return reader.failed ? NULL : reader.graph;
}
