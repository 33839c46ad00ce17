/* Stages: a reduction of the row is known only after a loop over it, so a row takes a loop for each
 * stage: stage n computes what waits for n reductions, one behind the other. For those that are
 * known nobody waits. */
#include "compiler/codegen/writer.h"

static void visit_depth(void *context, NodeId read, IndexKind index) {
    Writer *writer = context;
    (void)index;
    if (node_of(writer, read)->kernel != writer->number) return;
    int depth = writer->depths[place_in_kernel(writer, read)];
    if (depth > writer->stage) writer->stage = depth;
}

/* The loop over the row in which a node's operands are wanted. */
static int stage_of(Writer *writer, size_t at) {
    writer->stage = 0;
    each_read(writer->graph, writer->number, writer->loops, writer->kernel->nodes[at], visit_depth,
              writer);
    return writer->stage;
}

static void visit_buffered(void *context, NodeId read, IndexKind index) {
    Writer *writer = context;
    if (node_of(writer, read)->kernel != writer->number || index != INDEX_full) return;
    size_t at = place_in_kernel(writer, read);
    if (writer->depths[at] < writer->stage) writer->buffered[at] = true;
}

int find_stages(Writer *writer) {
    size_t count = writer->kernel->node_count;
    int last = 0;
    writer->depths = arena_new_array(writer->arena, int, count + 1);
    writer->buffered = arena_new_array(writer->arena, bool, count + 1);
    for (size_t at = 0; at < count; at++) {
        int stage = stage_of(writer, at);
        writer->depths[at] = stage + is_reduction(writer, writer->kernel->nodes[at]);
        if (is_known(writer, writer->kernel->nodes[at])) writer->depths[at] = 0;
        if (writer->depths[at] > last) last = writer->depths[at];
    }
    for (size_t at = 0; at < count; at++) {
        writer->stage = writer->depths[at] - is_reduction(writer, writer->kernel->nodes[at]);
        each_read(writer->graph, writer->number, writer->loops, writer->kernel->nodes[at],
                  visit_buffered, writer);
    }
    return last;
}

IndexKind own_index(const Writer *writer, NodeId id) {
    return native_index(writer->table, writer->loops, &node_of(writer, id)->type);
}

bool is_fed(const Writer *writer, size_t at) {
    return is_reduction(writer, writer->kernel->nodes[at]) &&
           writer->depths[at] - 1 == writer->stage;
}
