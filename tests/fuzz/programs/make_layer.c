/* Functions and layers of the library, which are the patterns that fusion is for. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>

typedef struct Layer {
    const char *text;
    int rank;
    double size;  /* of the result; 0: as the operand */
    bool kinked;  /* its slope jumps: exact operands only */
    bool settled; /* the last axis has to be a number */
} Layer;

static const Layer layers[] = {
    {"softmax($0)", 1, 1, false, false},     {"log_softmax($0)", 1, 8, false, false},
    {"gelu($0)", 0, 0, false, false},        {"silu($0)", 0, 0, false, false},
    {"sigmoid($0)", 0, 1, false, false},     {"softplus($0)", 0, 0, false, false},
    {"relu($0)", 0, 0, true, false},         {"leaky_relu($0)", 0, 0, true, false},
    {"layer_norm($0)", 2, 8, false, true},   {"rms_norm($0)", 2, 8, false, true},
    {"z_score($0, -1)", 1, 4, false, false}, {"dense($0, 3)", 2, 0, false, true},
};

bool make_layer(Generator *generator) {
    const Layer *layer = &layers[below(generator, sizeof layers / sizeof *layers)];
    bool dense = layer->text[0] == 'd';
    int index = pick(
        generator,
        &(Wish){.element = TYPE_f32, .rank = layer->rank, .bits = layer->kinked ? JUMP_BITS : 0});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int rank = item.shape.rank;
    if (layer->settled && (item.shape.sizes[0] != BATCH_SIZE || item.shape.sizes[rank - 1] < 1))
        return false;
    snprintf(item.text, sizeof item.text, "%s", layer->text);
    if (layer->size > 0) item.size = layer->size;
    item.bits = item.places = 0;
    item.size = dense ? 2 * item.size * item.shape.sizes[rank - 1] : item.size + 1;
    if (dense) item.shape.sizes[rank - 1] = 3;
    bool owns = layer->settled;
    if (!add_let(generator, item)) return false;
    if (owns) item_at(generator, generator->made->count - 1)->trained = true;
    return true;
}
