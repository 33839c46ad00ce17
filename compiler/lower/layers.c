/* Layers: which calls a program is made of, kept for people who ask. */
#include "compiler/lower/lowering.h"

#include <string.h>

static const char optimizer_prefix[] = "optimizer/";

/* The trainer's call for a weight, not the program's. */
static bool is_update(const Context *context, const Frame *frame) {
    size_t size = sizeof optimizer_prefix - 1;
    return !strncmp(frame->path, optimizer_prefix, size) &&
           map_get(&context->lowering->stored, frame->path + size);
}

/* What functions call is their own affair. */
static bool is_inside_fn(const Context *context) {
    const Frame *frame = context->frame;
    return frame && frame->declaration && frame->declaration->kind == DECLARATION_fn;
}

static bool is_shown(const Context *context, const Frame *frame) {
    return context->graph && !context->checking && !is_inside_fn(context) &&
           frame->declaration->kind != DECLARATION_pipeline && !is_update(context, frame);
}

size_t layer_begin(const Context *context, const Frame *frame) {
    Program *program = context->lowering->program;
    if (!is_shown(context, frame)) return NO_LAYER;
    Layer layer = {.path = frame->path,
                   .graph = context->graph,
                   .first = (NodeId)context->graph->nodes.count,
                   .value = NODE_NONE};
    vector_push(context->lowering->arena, &program->layers, layer);
    return program->layers.count - 1;
}

void layer_end(const Context *context, size_t index, const Value *result) {
    if (index == NO_LAYER) return;
    Layer *layer = &context->lowering->program->layers.items[index];
    layer->end = (NodeId)context->graph->nodes.count;
    if (result->kind == VALUE_tensor) layer->value = result->node;
}
