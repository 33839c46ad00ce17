/* Plan: storage, then each function by itself: its kernels, their order, places, estimates. */
#include "compiler/plan/planner.h"

#include "compiler/plan/scan.h"

static void prepare(Planner *planner) {
    Arena *arena = planner->arena;
    FunctionPlan *plan = planner->plan;
    size_t nodes = planner->graph->nodes.count + 1, kernels = (size_t)plan->kernel_count + 1;
    plan->kernels = arena_new_array(arena, KernelPlan, kernels);
    plan->order = arena_new_array(arena, int, kernels);
    plan->places = arena_new_array(arena, Place, nodes);
    planner->stored = arena_new_array(arena, bool, nodes);
    planner->target = arena_new_array(arena, NodeId, nodes);
    planner->update = arena_new_array(arena, NodeId, nodes);
    planner->late = arena_new_array(arena, bool, nodes);
    planner->accesses = arena_new_array(arena, Access, nodes);
    planner->counted = arena_new_array(arena, int, nodes);
    planner->last_use = arena_new_array(arena, int, nodes);
    planner->reads_of = arena_new_array(arena, KernelReads, kernels);
    planner->users = arena_new_array(arena, Edges, kernels);
    planner->waits = arena_new_array(arena, int, kernels);
    planner->data_waits = arena_new_array(arena, int, kernels);
    for (size_t i = 0; i < nodes; i++)
        planner->accesses[i] = (Access){.write_phase = -1, .read_phase = -1};
}

FunctionPlan *plan_function(const Plan *program_plan, const Function *function) {
    Arena *arena = program_plan->arena;
    FunctionPlan *plan = arena_new_item(arena, FunctionPlan);
    plan->function = function;
    plan->graph = function->graph;
    plan->kernel_count = function->graph->kernel_count;
    plan->batch = function->graph->batch ? dim_bound(function->graph->batch) : 1;
    Planner planner = {
        .arena = arena, .program_plan = program_plan, .plan = plan, .graph = function->graph};
    prepare(&planner);
    find_kernels(&planner);
    find_triangles(&planner);
    find_records(&planner);
    order_kernels(&planner);
    find_bands(&planner);
    join_launches(&planner);
    place_all(&planner, function->of_record ? 0 : program_plan->storage_size);
    estimate_kernels(&planner);
    plan->together = records_together(plan);
    arena_give_back(arena, planner.reads.items);
    return plan;
}

/* A program. */

static void add_function(Plan *plan, const Function *function) {
    if (plan_of(plan, function)) return;
    FunctionPlan *added = plan_function(plan, function);
    vector_push(plan->arena, &plan->functions, added);
    size_t size = plan->storage_size + added->scratch_size;
    if (!function->of_record && size > plan->memory_size) plan->memory_size = size;
}

static void place_storage(Plan *plan) {
    size_t offset = 0;
    plan->storage = arena_new_array(plan->arena, size_t, plan->program->storage.count + 1);
    plan->storage_by_name = map_new(plan->arena);
    for (size_t i = 0; i < plan->program->storage.count; i++) {
        const Storage *storage = &plan->program->storage.items[i];
        plan->storage[i] = offset;
        map_put(&plan->storage_by_name, storage->name, (void *)(uintptr_t)(i + 1));
        offset += align_size((size_t)type_size_bound(&storage->type));
    }
    plan->storage_size = plan->memory_size = offset;
}

const FunctionPlan *plan_of(const Plan *plan, const Function *function) {
    vector_each(FunctionPlan *, known, plan->functions)
        if ((*known)->function == function) return *known;
    return NULL;
}

Plan *plan_program(Arena *arena, const Program *program) {
    Plan *plan = arena_new_item(arena, Plan);
    plan->arena = arena;
    plan->program = program;
    place_storage(plan);
    FunctionList functions = program_functions(arena, program);
    vector_each(Function *, function, functions) add_function(plan, *function);
    plan_transfers(plan);
    return plan;
}
