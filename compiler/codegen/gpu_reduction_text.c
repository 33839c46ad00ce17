/* GPU reduction text: partial results of threads, and how two become one. */
#include "compiler/codegen/gpu_text.h"

static const char *result_type(const Writer *writer, NodeId id) {
    return element_info[node_of(writer, id)->type.element].computed;
}

/* Of what is reduced to an index. */
static const char *best_type(const Writer *writer, NodeId id) {
    const Node *operand = node_of(writer, node_of(writer, id)->inputs[0]);
    return element_info[operand->type.element].computed;
}

static const char *named(Writer *writer, char prefix, NodeId id) {
    return arena_format(writer->arena, "%c%u", prefix, number_of(writer, id));
}

/* The formula of the node with `a` for its next element and `y` for what was before. */
static const char *step(Writer *writer, NodeId id, const char *a, const char *y) {
    return formula_text(writer, node_of(writer, id), (const char *const[]){a, "", ""}, y, "");
}

void declare_gpu_result(Writer *writer, Text *text, int depth, NodeId id) {
    const Node *node = node_of(writer, id);
    text_format(text, "%*s%s %s = %s;\n", 4 * depth, "", result_type(writer, id),
                named(writer, 'y', id), first_value(node));
    if (gives_index(node))
        text_format(text, "%*s%s %s = 0;\n", 4 * depth, "", best_type(writer, id),
                    named(writer, 'z', id));
}

void add_gpu_element(Writer *writer, NodeId id, const char *number) {
    const Node *node = node_of(writer, id);
    const char *y = named(writer, 'y', id), *z = named(writer, 'z', id);
    const char *a = value_of(writer, node->inputs[0], plain_index(writer, INDEX_full));
    if (gives_index(node))
        text_format(&writer->stores,
                    "if (FLOW_IS_FIRST(%s, %s, %s) || (%s >= 0 && (%s))) %s = (int32_t)%s, %s = "
                    "%s;\n",
                    y, number, a, y, step(writer, id, a, z), y, number, z, a);
    else text_format(&writer->stores, "%s = %s;\n", y, step(writer, id, a, y));
}

/* other_y, other_z: the C of another thread's. */
static void add_other(Writer *writer, Text *text, int depth, NodeId id, const char *other_y,
                      const char *other_z) {
    const Node *node = node_of(writer, id);
    const char *y = named(writer, 'y', id), *z = named(writer, 'z', id);
    text_format(text, "%*sconst %s other_y = %s;\n", 4 * depth, "", result_type(writer, id),
                other_y);
    if (!gives_index(node)) {
        text_format(text, "%*s%s = %s;\n", 4 * depth, "", y, step(writer, id, "other_y", y));
        return;
    }
    text_format(text,
                "%*sconst %s other_z = %s;\n"
                "%*sif (FLOW_TAKES(%s, %s, other_y, other_z, %s, %s)) %s = other_y, %s = "
                "other_z;\n",
                4 * depth, "", best_type(writer, id), other_z, 4 * depth, "", y, z,
                step(writer, id, "other_z", z), step(writer, id, z, "other_z"), y, z);
}

/* What is exchanged between lanes has 4 or 8 bytes. */
static const char *shuffled(Writer *writer, const char *type, const char *name) {
    const char *suffix = !strcmp(type, "float")     ? "f32"
                         : !strcmp(type, "double")  ? "f64"
                         : !strcmp(type, "int64_t") ? "i64"
                                                    : "i32";
    return arena_format(writer->arena, "(%s)flow_shuffle_xor_%s(%s, mask)", type, suffix, name);
}

void join_gpu_lanes(Writer *writer, Text *text, int depth, NodeId id) {
    text_format(text, "%*sfor (int mask = %d; mask; mask /= 2) {\n", 4 * depth, "", GPU_WARP / 2);
    add_other(writer, text, depth + 1, id,
              shuffled(writer, result_type(writer, id), named(writer, 'y', id)),
              shuffled(writer, best_type(writer, id), named(writer, 'z', id)));
    text_format(text, "%*s}\n", 4 * depth, "");
}

void share_gpu_result(Writer *writer, Text *text, NodeId id, int threads) {
    text_format(text, "    FLOW_SHARED(%s, shared_%s, %d);\n", result_type(writer, id),
                named(writer, 'y', id), threads);
    if (gives_index(node_of(writer, id)))
        text_format(text, "    FLOW_SHARED(%s, shared_%s, %d);\n", best_type(writer, id),
                    named(writer, 'z', id), threads);
}

void put_gpu_result(Writer *writer, Text *text, int depth, NodeId id, const char *place) {
    const char *y = named(writer, 'y', id), *z = named(writer, 'z', id);
    text_format(text, "%*sFLOW_PUT(shared_%s, %s, %s);\n", 4 * depth, "", y, place, y);
    if (gives_index(node_of(writer, id)))
        text_format(text, "%*sFLOW_PUT(shared_%s, %s, %s);\n", 4 * depth, "", z, place, z);
}

void get_gpu_result(Writer *writer, Text *text, int depth, NodeId id, const char *place) {
    const char *y = named(writer, 'y', id), *z = named(writer, 'z', id);
    text_format(text, "%*s%s = FLOW_GET(shared_%s, %s);\n", 4 * depth, "", y, y, place);
    if (gives_index(node_of(writer, id)))
        text_format(text, "%*s%s = FLOW_GET(shared_%s, %s);\n", 4 * depth, "", z, z, place);
}

void add_gpu_result(Writer *writer, Text *text, int depth, NodeId id, const char *place) {
    const char *y = named(writer, 'y', id), *z = named(writer, 'z', id);
    text_format(text, "%*s{\n", 4 * depth, "");
    add_other(writer, text, depth + 1, id,
              arena_format(writer->arena, "FLOW_GET(shared_%s, %s)", y, place),
              arena_format(writer->arena, "FLOW_GET(shared_%s, %s)", z, place));
    text_format(text, "%*s}\n", 4 * depth, "");
}
