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
    bool by_rooflines; /* whatever was measured */
    Round round;
    StoredValue *stored;
    const Member *member;
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

static double records_of(const Builder *builder) {
    return builder->member->runs * builder->scene->batch;
}

/* A pipeline that several loops read is where the first of them has it. */
static Side fixed_side(const Builder *builder, int k) {
    const Member *member = builder->member;
    if (runs_on_gpu(&member->cpu->kernels[k])) return SIDE_gpu;
    if (!runs_on_gpu(&member->gpu->kernels[k]) || !builder->decisions->fits) return SIDE_cpu;
    if (!member->before) return SIDE_free;
    return member->before[k] == DECIDED_cpu ? SIDE_cpu : SIDE_gpu;
}

/* In other scenes the time changes as the roofline does. */
static double corrected(const Builder *builder, const KernelTime *time, double now, double usual) {
    return time && !builder->by_rooflines ? time->seconds * now / usual : now;
}

static double on_cpu(const Builder *builder, int k) {
    const DeviceProfile *cpu = cpu_of(builder);
    const FunctionPlan *plan = builder->member->cpu;
    return corrected(builder, builder->member->on_cpu[k],
                     work_on_cpu(cpu, plan, k, builder->scene->batch),
                     work_on_cpu(cpu, plan, k, 1));
}

static double on_gpu(const Builder *builder, int k) {
    const DeviceProfile *gpu = gpu_of(builder);
    const FunctionPlan *plan = builder->member->gpu;
    if (is_taken_in(&plan->kernels[k])) return 0;
    const double share = 1 / shares_of(plan);
    return corrected(builder, builder->member->on_gpu[k],
                     work_on_gpu(gpu, plan, k, share * builder->scene->batch),
                     work_on_gpu(gpu, plan, k, share));
}

static Item kernel_item(const Builder *builder, int k) {
    const Member *member = builder->member;
    const DeviceProfile *cpu = cpu_of(builder), *gpu = gpu_of(builder);
    double runs = member->runs, records = records_of(builder);
    if (member->prepares)
        return (Item){.cpu = records_on_cpu(cpu, member->cpu, k, records),
                      .gpu = records_on_gpu(gpu, member->gpu, k, records)};
    return (Item){
        .cpu = runs * on_cpu(builder, k), .gpu = runs * on_gpu(builder, k), .in_step = true};
}

static void add_kernels(Builder *builder) {
    for (int k = 0; k < builder->member->cpu->kernel_count; k++) {
        Item item = kernel_item(builder, k);
        item.fixed = fixed_side(builder, k);
        vector_push(builder->arena, &builder->round.items, item);
    }
}

static void add_reader(Builder *builder, Items *readers, int item) {
    vector_each(int, known, *readers)
        if (*known == item) return;
    vector_push(builder->arena, readers, item);
}

static int storage_of(const Builder *builder, NodeId id) {
    const Place *place = &builder->member->gpu->places[id];
    bool weight = graph_node(builder->member->gpu->graph, id)->op == OP_weight;
    return weight && place->kind == PLACE_memory ? place->index : -1;
}

static void note_read(void *context, NodeId read, IndexKind index) {
    Builder *builder = context;
    const Node *node = graph_node(builder->member->gpu->graph, read);
    (void)index;
    if (node->kernel != NO_KERNEL && builder->member->first + node->kernel == builder->item) return;
    int storage = storage_of(builder, read);
    if (storage < 0) add_reader(builder, &builder->readers[read], builder->item);
    else add_reader(builder, &builder->stored[storage].readers, builder->item);
}

static void find_readers(Builder *builder) {
    const FunctionPlan *plan = builder->member->gpu;
    builder->readers = arena_new_array(builder->arena, Items, plan->graph->nodes.count + 1);
    for (int k = 0; k < plan->kernel_count; k++) {
        const KernelPlan *kernel = &plan->kernels[k];
        builder->item = builder->member->first + k;
        for (size_t i = 0; i < kernel->node_count; i++)
            each_read(plan->graph, k, &kernel->loops, kernel->nodes[i], note_read, builder);
    }
}

/* A second one who writes it has to find it where he is. */
static void note_writer(Builder *builder, const Output *output, int writer) {
    int storage = storage_of(builder, output->target);
    if (storage < 0) return;
    StoredValue *stored = &builder->stored[storage];
    stored->type = &graph_node(builder->member->gpu->graph, output->target)->type;
    if (stored->writer >= 0) add_reader(builder, &stored->readers, stored->writer);
    stored->writer = writer;
}

static void note_outputs(Builder *builder) {
    const Graph *graph = builder->member->gpu->graph;
    vector_each(Output, output, graph->outputs) {
        NodeId value = strip_reshapes(graph, output->value);
        int kernel = graph_node(graph, value)->kernel;
        if (kernel == NO_KERNEL) continue;
        if (output->kind == OUTPUT_update)
            note_writer(builder, output, builder->member->first + kernel);
        else add_reader(builder, &builder->readers[value], HOME);
    }
}

static bool is_field(const Function *function, const Node *node) {
    vector_each(Input, input, function->inputs)
        if (!strcmp(input->name, node->name)) return input->kind == INPUT_field;
    return false;
}

static double copying(const Builder *builder, const Type *type) {
    const Member *member = builder->member;
    if (member->prepares)
        return records_copy(gpu_of(builder), member->gpu, type, records_of(builder),
                            builder->scene->link);
    const Scene share = {builder->scene->batch / shares_of(member->gpu), builder->scene->link};
    return member->runs * work_of_copy(gpu_of(builder), type, &share);
}

static void add_node(Builder *builder, NodeId id) {
    const Node *node = graph_node(builder->member->gpu->graph, id);
    bool computed = node->kernel != NO_KERNEL;
    bool field = node->op == OP_input && is_field(builder->member->function, node);
    if (computed || field)
        add_value(builder, computed ? builder->member->first + node->kernel : HOME,
                  &builder->readers[id], copying(builder, &node->type),
                  computed && !builder->member->prepares);
}

/* Kernels that are one on a GPU stay together: apart, each takes far longer than said. */
static void tie_kernels(Builder *builder) {
    enum { LONG = 1 /* second */ };
    const FunctionPlan *plan = builder->member->gpu;
    for (int k = 0; k < plan->kernel_count; k++) {
        Items tied = {0};
        if (plan->kernels[k].computed_with == NO_KERNEL) continue;
        add_reader(builder, &tied, builder->member->first + k);
        add_value(builder, builder->member->first + plan->kernels[k].computed_with, &tied, LONG,
                  false);
    }
}

static void add_member_items(Builder *builder, const Member *member) {
    builder->member = member;
    add_kernels(builder);
    tie_kernels(builder);
    find_readers(builder);
    note_outputs(builder);
    for (NodeId id = 0; id < member->gpu->graph->nodes.count; id++)
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

/* Images are decoded by all cores. */
static double decoding(const Builder *builder, const Pipeline *pipeline) {
    double seconds = 0, records = (double)builder->choice->data->batch * builder->scene->batch;
    const Figure *figures = cpu_of(builder)->figures;
    double rate = figures[FIGURE_decode].value * figures[FIGURE_cores].value;
    vector_each(Pipeline *, input, pipeline->join.inputs) seconds += decoding(builder, *input);
    vector_each(Field, field, pipeline->sections.items[0]->fields)
        if (field->decoder) seconds += records * (double)type_size_bound(&field->type) / rate;
    return seconds;
}

static Round build_round(Builder builder) {
    Arena *arena = builder.arena;
    size_t stored = builder.decisions->gpu->program->storage.count;
    builder.stored = arena_new_array(arena, StoredValue, stored + 1);
    for (size_t i = 0; i < stored; i++) builder.stored[i].writer = -1;
    const Item home = {.cpu = decoding(&builder, builder.choice->data), .fixed = SIDE_cpu};
    vector_push(arena, &builder.round.items, home);
    vector_each(Member, member, builder.choice->members) add_member_items(&builder, member);
    add_stored(&builder);
    return builder.round;
}

Round choice_round(Arena *arena, const Decisions *decisions, const Choice *choice,
                   const Scene *scene) {
    return build_round(
        (Builder){.arena = arena, .decisions = decisions, .choice = choice, .scene = scene});
}

/* Which loops there are. */

typedef struct Decider {
    Arena *arena;
    Program *program;
    Decisions *decisions;
    Choice choice; /* that is put together */
    int items;
} Decider;

static void find_measured(Decider *decider, Member *member) {
    Arena *arena = decider->arena;
    const Decisions *decisions = decider->decisions;
    const DeviceProfile *cpu = &decisions->profile->cpu, *gpu = decisions->profile->gpus.items;
    const int cores = (int)cpu->figures[FIGURE_cores].value, count = member->cpu->kernel_count;
    member->on_cpu = arena_new_array(arena, const KernelTime *, count + 1);
    member->on_gpu = arena_new_array(arena, const KernelTime *, count + 1);
    const bool known = decisions->times && !member->prepares && shares_of(member->cpu) == 1;
    for (int k = 0; k < count && known; k++) {
        const uint64_t key = kernel_key(arena, member->cpu, k);
        member->on_cpu[k] = times_find(decisions->times, time_key(arena, key, cpu->name, cores));
        member->on_gpu[k] = times_find(decisions->times, time_key(arena, key, gpu->name, 0));
        decider->choice.measured += (member->on_cpu[k] != NULL) + (member->on_gpu[k] != NULL);
    }
}

static void add_member(Decider *decider, const Function *function, double runs, bool prepares) {
    const Decisions *decisions = decider->decisions;
    Member member = {.function = function,
                     .cpu = plan_of(decisions->cpu, function),
                     .gpu = plan_of(decisions->gpu, function),
                     .first = decider->items,
                     .runs = runs,
                     .prepares = prepares,
                     .before = function->decided};
    decider->items += member.cpu->kernel_count;
    find_measured(decider, &member);
    vector_push(decider->arena, &decider->choice.members, member);
}

static void add_pipeline(Decider *decider, const Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs) add_pipeline(decider, *input);
    vector_each(Section *, section, pipeline->sections)
        if (!(*section)->plain)
            add_member(decider, &(*section)->record, (double)decider->choice.data->batch, true);
}

static void begin_choice(Decider *decider, const char *name, const Pipeline *data) {
    decider->choice = (Choice){.name = name, .data = data};
    decider->items = HOME + 1;
    add_pipeline(decider, data);
}

static void note_decision(Decider *decider, const Choice *choice, const Member *member) {
    int count = member->cpu->kernel_count;
    signed char *decided = arena_new_array(decider->arena, signed char, count + 1);
    for (int k = 0; k < count; k++)
        decided[k] = choice->split.on_gpu[member->first + k] ? 0 : DECIDED_cpu;
    ((Function *)member->function)->decided = decided;
}

static const Scene as_it_is = {1, 1};

static bool *split_by_rooflines(const Decider *decider) {
    const Round round = build_round((Builder){.arena = decider->arena,
                                              .decisions = decider->decisions,
                                              .choice = &decider->choice,
                                              .scene = &as_it_is,
                                              .by_rooflines = true});
    return balance(decider->arena, &round).on_gpu;
}

/* What was measured differs a little from run to run. */
static void prefer_rooflines(Decider *decider) {
    static const double gain = 1.05;
    Choice *choice = &decider->choice;
    Split plain = choice->split; /* for its bound */
    plain.on_gpu = split_by_rooflines(decider);
    plain.loads = balance_loads(&choice->round, plain.on_gpu);
    plain.seconds = plain.loads.seconds[balance_busiest(&plain.loads)];
    choice->by_rooflines = plain.seconds;
    choice->keeps_rooflines = plain.seconds <= gain * choice->split.seconds;
    if (choice->keeps_rooflines) choice->split = plain;
}

static void end_choice(Decider *decider) {
    Choice *choice = &decider->choice;
    choice->round = choice_round(decider->arena, decider->decisions, choice, &as_it_is);
    choice->split = balance(decider->arena, &choice->round);
    if (choice->measured) prefer_rooflines(decider);
    vector_each(Member, member, choice->members) note_decision(decider, choice, member);
    vector_push(decider->arena, &decider->decisions->choices, *choice);
}

static void decide_alone(Decider *decider, const Function *function, const Pipeline *data) {
    begin_choice(decider, function->name, data);
    add_member(decider, function, 1, false);
    end_choice(decider);
}

static void decide_train(Decider *decider, const Train *train) {
    double part = train->accumulate.graph ? 1.0 / (double)train->accumulate_count : 1;
    begin_choice(decider, train->name, train->data);
    add_member(decider, &train->step, part, false);
    if (train->accumulate.graph) add_member(decider, &train->accumulate, 1 - part, false);
    end_choice(decider);
    vector_each(Function *, fit, train->fits) decide_alone(decider, *fit, train->data);
    vector_each(Action, action, train->actions)
        if (action->function && action->pipeline)
            decide_alone(decider, action->function, action->pipeline);
}

FunctionList decided_functions(Arena *arena, const Program *program) {
    FunctionList list = {0};
    vector_each(Pipeline *, pipeline, program->pipelines)
        vector_each(Section *, section, (*pipeline)->sections)
            if (!(*section)->plain) vector_push(arena, &list, &(*section)->record);
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

const Plan *plan_with(Arena *arena, Program *program, bool on_gpu) {
    FunctionList functions = decided_functions(arena, program);
    vector_each(Function *, function, functions)
        (*function)->decided =
            on_gpu ? arena_new_array(arena, signed char, (*function)->graph->kernel_count + 1)
                   : NULL;
    const Plan *plan = plan_program(arena, program);
    vector_each(Function *, function, functions) (*function)->decided = NULL;
    return plan;
}

const Decisions *decide(Arena *arena, Program *program, const Profile *profile, const Times *times,
                        double room) {
    Decisions *decisions = arena_new_item(arena, Decisions);
    Decider decider = {.arena = arena, .program = program, .decisions = decisions};
    decisions->profile = profile;
    decisions->times = times;
    decisions->cpu = plan_with(arena, program, false);
    decisions->gpu = plan_with(arena, program, true);
    decisions->needed =
        memory_on_gpus(decisions->gpu, (int)profile->cpu.figures[FIGURE_cores].value);
    decisions->fits = decisions->needed <= room;
    vector_each(Train, train, program->trains) decide_train(&decider, train);
    vector_each(Run, run, program->runs)
        if (run->function) decide_alone(&decider, run->function, run->pipeline);
    return decisions;
}
