/* Decide. */
#include "compiler/balance/decide.h"

enum { HOME /* the item of files and results */ };

typedef Vector(int) Items;

/* What becomes of a weight in a round. */
typedef struct StoredValue {
    const Type *type;
    int writer; /* or -1 */
    Items readers;
} StoredValue;

typedef struct Builder {
    Arena *arena;
    const Decisions *decisions;
    const Choice *choice;
    const Scene *scene;
    Round round;
    StoredValue *stored;
    const Member *part;
    Items *readers; /* of each node of the part: other items */
    int item;       /* whose reads are visited */
} Builder;

static const DeviceProfile *gpu_of(const Builder *builder) {
    return &builder->decisions->profile->gpus.items[0];
}

static const DeviceProfile *cpu_of(const Builder *builder) {
    return &builder->decisions->profile->cpu;
}

static void add_value(Builder *builder, int from, const Items *readers, double seconds,
                      bool in_step) {
    if (readers->count)
        vector_push(builder->arena, &builder->round.values,
                    (Crossing){from, readers->items, (int)readers->count, seconds, in_step});
}

/* Kernels. */

static Side fixed_side(const Builder *builder, int k) {
    const KernelPlan *here = &builder->part->cpu->kernels[k];
    const KernelPlan *there = &builder->part->gpu->kernels[k];
    if (runs_on_gpu(here)) return SIDE_gpu;
    return runs_on_gpu(there) && builder->decisions->fits ? SIDE_free : SIDE_cpu;
}

static void add_kernels(Builder *builder) {
    const Member *part = builder->part;
    for (int k = 0; k < part->cpu->kernel_count; k++) {
        Item item = {.in_step = true, .fixed = fixed_side(builder, k)};
        item.cpu = part->times * work_on_cpu(cpu_of(builder), part->cpu, k, builder->scene->batch);
        item.gpu = part->times * work_on_gpu(gpu_of(builder), part->gpu, k, builder->scene->batch);
        vector_push(builder->arena, &builder->round.items, item);
    }
}

static void add_reader(Builder *builder, Items *readers, int item) {
    vector_each(int, known, *readers)
        if (*known == item) return;
    vector_push(builder->arena, readers, item);
}

static int storage_of(const Builder *builder, NodeId id) {
    const Place *place = &builder->part->gpu->places[id];
    bool weight = graph_node(builder->part->gpu->graph, id)->op == OP_weight;
    return weight && place->kind == PLACE_memory ? place->index : -1;
}

static void note_read(void *context, NodeId read, IndexKind index) {
    Builder *builder = context;
    const Node *node = graph_node(builder->part->gpu->graph, read);
    (void)index;
    if (node->kernel != NO_KERNEL && builder->part->first + node->kernel == builder->item) return;
    int storage = storage_of(builder, read);
    if (storage < 0) add_reader(builder, &builder->readers[read], builder->item);
    else add_reader(builder, &builder->stored[storage].readers, builder->item);
}

static void find_readers(Builder *builder) {
    const FunctionPlan *plan = builder->part->gpu;
    builder->readers = arena_new_array(builder->arena, Items, plan->graph->nodes.count + 1);
    for (int k = 0; k < plan->kernel_count; k++) {
        const KernelPlan *kernel = &plan->kernels[k];
        builder->item = builder->part->first + k;
        for (size_t i = 0; i < kernel->node_count; i++)
            each_read(plan->graph, k, &kernel->loops, kernel->nodes[i], note_read, builder);
    }
}

/* A second one who writes it has to find it where he is. */
static void note_writer(Builder *builder, const Output *output, int writer) {
    int storage = storage_of(builder, output->target);
    if (storage < 0) return;
    StoredValue *stored = &builder->stored[storage];
    stored->type = &graph_node(builder->part->gpu->graph, output->target)->type;
    if (stored->writer >= 0) add_reader(builder, &stored->readers, stored->writer);
    stored->writer = writer;
}

static void note_outputs(Builder *builder) {
    const Graph *graph = builder->part->gpu->graph;
    vector_each(Output, output, graph->outputs) {
        NodeId value = strip_reshapes(graph, output->value);
        int kernel = graph_node(graph, value)->kernel;
        if (kernel == NO_KERNEL) continue;
        if (output->kind == OUTPUT_update)
            note_writer(builder, output, builder->part->first + kernel);
        else add_reader(builder, &builder->readers[value], HOME);
    }
}

static bool is_field(const Function *function, const Node *node) {
    vector_each(Input, input, function->inputs)
        if (!strcmp(input->name, node->name)) return input->kind == INPUT_field;
    return false;
}

/* Who prepares the batches. */
static int preparer(const Choice *choice) {
    size_t count = choice->prepared.count;
    return count ? choice->prepared.items[count - 1].item : HOME;
}

static void add_node(Builder *builder, NodeId id) {
    const Node *node = graph_node(builder->part->gpu->graph, id);
    double seconds =
        builder->part->times * work_of_copy(gpu_of(builder), &node->type, builder->scene);
    if (node->kernel != NO_KERNEL)
        add_value(builder, builder->part->first + node->kernel, &builder->readers[id], seconds,
                  true);
    else if (node->op == OP_input && is_field(builder->part->function, node))
        add_value(builder, preparer(builder->choice), &builder->readers[id], seconds, false);
}

static void add_part(Builder *builder, const Member *part) {
    builder->part = part;
    add_kernels(builder);
    find_readers(builder);
    note_outputs(builder);
    for (NodeId id = 0; id < part->gpu->graph->nodes.count; id++)
        if (builder->readers[id].count) add_node(builder, id);
}

static void add_stored(Builder *builder) {
    for (size_t i = 0; i < builder->decisions->gpu->program->storage.count; i++) {
        const StoredValue *stored = &builder->stored[i];
        if (stored->writer < 0) continue; /* it goes over once, not each round */
        double seconds = work_of_copy(gpu_of(builder), stored->type, builder->scene);
        add_value(builder, stored->writer, &stored->readers, seconds, true);
    }
}

/* What is prepared. */

static double records_of(const Builder *builder) {
    return (double)builder->choice->data->batch * builder->scene->batch;
}

static double decoding(const Builder *builder, const Section *section) {
    double bytes = 0;
    vector_each(Field, field, section->fields)
        if (field->decoder) bytes += (double)type_size_bound(&field->type);
    const Figure *figures = cpu_of(builder)->figures;
    return bytes * records_of(builder) /
           (figures[FIGURE_decode].value * figures[FIGURE_cores].value);
}

static double preparing(const Builder *builder, const FunctionPlan *plan) {
    double seconds = 0;
    for (int k = 0; k < plan->kernel_count; k++)
        seconds += work_of_record(cpu_of(builder), plan, k);
    return seconds * records_of(builder);
}

/* The functions of records run on the CPU. */
static void add_prepared(Builder *builder, const Prepared *prepared) {
    const FunctionPlan *plan = plan_of(builder->decisions->cpu, &prepared->section->record);
    Item item = {.fixed = SIDE_cpu};
    if (plan && !prepared->section->plain) item.cpu = preparing(builder, plan);
    builder->round.items.items[HOME].cpu += decoding(builder, prepared->section);
    vector_push(builder->arena, &builder->round.items, item);
}

Round choice_round(Arena *arena, const Decisions *decisions, const Choice *choice,
                   const Scene *scene) {
    size_t stored = decisions->gpu->program->storage.count;
    Builder builder = {.arena = arena, .decisions = decisions, .choice = choice, .scene = scene};
    builder.stored = arena_new_array(arena, StoredValue, stored + 1);
    for (size_t i = 0; i < stored; i++) builder.stored[i].writer = -1;
    vector_push(arena, &builder.round.items, (Item){.fixed = SIDE_cpu});
    vector_each(Prepared, prepared, choice->prepared) add_prepared(&builder, prepared);
    vector_each(Member, part, choice->parts) add_part(&builder, part);
    add_stored(&builder);
    return builder.round;
}

/* Which loops there are. */

typedef struct Decider {
    Arena *arena;
    Program *program;
    Decisions *decisions;
    Choice choice; /* that is put together */
    int items;
} Decider;

static void add_pipeline(Decider *decider, const Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs) add_pipeline(decider, *input);
    vector_each(Section *, section, pipeline->sections)
        vector_push(decider->arena, &decider->choice.prepared,
                    (Prepared){pipeline, *section, decider->items++});
}

static void begin_choice(Decider *decider, const char *name, const Pipeline *data) {
    decider->choice = (Choice){.name = name, .data = data};
    decider->items = HOME + 1;
    if (data) add_pipeline(decider, data);
}

static void add_function(Decider *decider, const Function *function, double times) {
    const Member part = {function, plan_of(decider->decisions->cpu, function),
                         plan_of(decider->decisions->gpu, function), decider->items, times};
    decider->items += part.cpu->kernel_count;
    vector_push(decider->arena, &decider->choice.parts, part);
}

/* decided: NULL where nothing was free. */
static void note_decision(Decider *decider, const Choice *choice, const Member *part) {
    int count = part->cpu->kernel_count;
    signed char *decided = arena_new_array(decider->arena, signed char, count + 1);
    for (int k = 0; k < count; k++)
        decided[k] = choice->split.on_gpu[part->first + k] ? 0 : DECIDED_cpu;
    ((Function *)part->function)->decided = decided;
}

static void end_choice(Decider *decider) {
    static const Scene as_it_is = {1, 1};
    Choice *choice = &decider->choice;
    choice->round = choice_round(decider->arena, decider->decisions, choice, &as_it_is);
    choice->split = balance(decider->arena, &choice->round);
    vector_each(Member, part, choice->parts) note_decision(decider, choice, part);
    vector_push(decider->arena, &decider->decisions->choices, *choice);
}

static void decide_alone(Decider *decider, const Function *function, const Pipeline *data) {
    begin_choice(decider, function->name, data);
    add_function(decider, function, 1);
    end_choice(decider);
}

static void decide_train(Decider *decider, const Train *train) {
    double part = train->accumulate.graph ? 1.0 / (double)train->accumulate_count : 1;
    begin_choice(decider, train->name, train->data);
    add_function(decider, &train->step, part);
    if (train->accumulate.graph) add_function(decider, &train->accumulate, 1 - part);
    end_choice(decider);
    vector_each(Function *, fit, train->fits) decide_alone(decider, *fit, train->data);
    vector_each(Action, action, train->actions)
        if (action->function && action->pipeline)
            decide_alone(decider, action->function, action->pipeline);
}

const Plan *plan_with(Arena *arena, Program *program, DeviceKind device) {
    Placement before = program->usual;
    program->usual = (Placement){.device = device};
    const Plan *plan = plan_program(arena, program);
    program->usual = before;
    return plan;
}

FunctionList decided_functions(Arena *arena, const Program *program) {
    FunctionList list = {0};
    vector_each(Train, train, program->trains) {
        vector_push(arena, &list, &train->step);
        if (train->accumulate.graph) vector_push(arena, &list, &train->accumulate);
        vector_each(Function *, fit, train->fits) vector_push(arena, &list, *fit);
        vector_each(Action, action, train->actions)
            if (action->function && action->pipeline) vector_push(arena, &list, action->function);
    }
    vector_each(Run, run, program->runs)
        if (run->function) vector_push(arena, &list, run->function);
    return list;
}

const Decisions *decide(Arena *arena, Program *program, const Profile *profile) {
    Decisions *decisions = arena_new_item(arena, Decisions);
    Decider decider = {.arena = arena, .program = program, .decisions = decisions};
    decisions->profile = profile;
    decisions->cpu = plan_with(arena, program, DEVICE_cpu);
    decisions->gpu = plan_with(arena, program, DEVICE_gpu);
    decisions->fits =
        (double)decisions->gpu->memory_size <= profile->gpus.items[0].figures[FIGURE_size].value;
    vector_each(Train, train, program->trains) decide_train(&decider, train);
    vector_each(Run, run, program->runs)
        if (run->function) decide_alone(&decider, run->function, run->pipeline);
    return decisions;
}
