/* Limit: `memory` of a train block or a pipeline by itself, against the least that it will take:
 * weights and states, the largest scratch, and what its pipelines hold. What files hold is counted
 * when they are opened. */
#include "compiler/plan/plan.h"

#include <stdlib.h>

enum { SHOWN = 3 /* holders that a message names */ };

typedef struct Tensor {
    const char *name;
    const Type *type; /* or NULL */
    double size;
    Range range;
} Tensor;

typedef struct Account {
    Arena *arena;
    const Plan *plan;
    Bill bill;
    double stored, output; /* of it */
    Vector(Tensor) tensors;
} Account;

static void add_tensor(Account *account, const char *name, const Type *type, double size,
                       Range range) {
    vector_push(account->arena, &account->tensors, (Tensor){name, type, size, range});
}

static void add_function(Account *account, const Function *function) {
    const FunctionPlan *plan = function->graph ? plan_of(account->plan, function) : NULL;
    if (!plan) return;
    vector_each(Buffer, buffer, plan->buffers) {
        const Node *node = graph_node(plan->graph, buffer->node);
        add_tensor(account, op_info[node->op].name, &node->type, (double)buffer->size, node->range);
    }
}

/* memory_size: of the one allocation, weights and states first. */
static void add_storage(Account *account, size_t memory_size) {
    const Plan *plan = account->plan;
    vector_each(Storage, storage, plan->program->storage)
        add_tensor(account, storage->name, &storage->type, (double)type_size_bound(&storage->type),
                   storage->range);
    account->stored = (double)memory_size;
}

static void add_pipeline(Account *account, const Pipeline *pipeline) {
    Demand demand = demand_of(account->plan, pipeline);
    int threads = demand.workers ? demand.workers : 1;
    vector_each(Field, field, pipeline->section->outputs) {
        double size = (double)type_size_bound(&field->type) * (double)pipeline->batch;
        const char *name = arena_format(account->arena, "%d batches of %lld %s.%s", demand.slots,
                                        (long long)pipeline->batch, pipeline->name, field->name);
        add_tensor(account, name, &field->type, size * demand.slots, pipeline->range);
    }
    add_tensor(account,
               arena_format(account->arena, "what %d thread%s of %s work%s in", threads,
                            threads == 1 ? "" : "s", pipeline->name, threads == 1 ? "s" : ""),
               NULL, demand.scratch * threads, pipeline->range);
    if (demand.feed)
        add_tensor(account, arena_format(account->arena, "%s, read ahead", origin_text(pipeline)),
                   NULL, demand.feed, pipeline->range);
}

static void add_functions(Account *account, const Train *train) {
    add_function(account, &train->initialise);
    add_function(account, &train->step);
    vector_each(Function *, fit, train->fits) add_function(account, *fit);
    add_function(account, &train->accumulate);
    vector_each(Action, action, train->actions)
        if (action->function) add_function(account, action->function);
}

static void add_train(Account *account, const Train *train) {
    add_storage(account, account->plan->memory_size);
    add_functions(account, train);
    add_pipeline(account, train->data);
    vector_each(Action, action, train->actions)
        if (action->pipeline) add_pipeline(account, action->pipeline);
}

static void add_run(Account *account, const Run *run) {
    if (run->function) {
        add_storage(account, memory_of_run(account->plan, run));
        add_function(account, run->function);
    }
    add_pipeline(account, run->pipeline);
    account->output = output_of(run);
    add_tensor(account, "output that is not written yet", NULL, account->output, run->range);
}

static int by_size(const void *left, const void *right) {
    const Tensor *a = left, *b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

static const char *parts_text(const Account *account) {
    const Plan *plan = account->plan;
    Text text = text_new(account->arena);
    if (account->stored)
        text_format(&text, "%s of weights and states, %s of scratch, ",
                    bytes_text(account->arena, (double)plan->storage_size),
                    bytes_text(account->arena, account->stored - (double)plan->storage_size));
    text_format(&text, "%s of batches and what makes them",
                bytes_text(account->arena, account->bill.sum - account->stored - account->output));
    if (account->output)
        text_format(&text, ", %s of output", bytes_text(account->arena, account->output));
    return text_string(&text);
}

static void note_holder(const Account *account, Diagnostic *d, const Tensor *tensor) {
    Arena *arena = account->arena;
    diagnostic_note(d, tensor->range, "%s, %s%s%s", bytes_text(arena, tensor->size), tensor->name,
                    tensor->type ? ": " : "", tensor->type ? type_text(arena, tensor->type) : "");
}

static void note_largest(Account *account, Diagnostic *d) {
    if (!account->tensors.count) return;
    qsort(account->tensors.items, account->tensors.count, sizeof(Tensor), by_size);
    for (size_t i = 0; i < account->tensors.count && i < SHOWN; i++)
        note_holder(account, d, &account->tensors.items[i]);
}

/* limit, range: the bytes that are allowed, and where that is said. */
static void check(Account *account, const char *name, double limit, Range range, const char *help,
                  Diagnostics *diagnostics) {
    double needed = account->bill.sum;
    if (!limit || needed <= limit) return;
    Diagnostic *d = diagnostic_add(diagnostics, E0306, range, "`%s` needs %s: %s", name,
                                   bytes_text(account->arena, needed), parts_text(account));
    note_largest(account, d);
    diagnostic_help(d, "%s", help);
}

void plan_note_holders(Arena *arena, const Plan *plan, Diagnostic *d) {
    Account account = {.arena = arena, .plan = plan};
    add_storage(&account, plan->memory_size);
    vector_each(Train, train, plan->program->trains) add_functions(&account, train);
    note_largest(&account, d);
}

void plan_check_memory(Arena *arena, const Plan *plan, Diagnostics *diagnostics) {
    vector_each(Train, train, plan->program->trains) {
        Account account = {.arena = arena, .plan = plan, .bill = bill_of_train(arena, plan, train)};
        add_train(&account, train);
        check(&account, train->name, train->memory, train->memory_range,
              "smaller batches or `microbatches` take less", diagnostics);
    }
    vector_each(Run, run, plan->program->runs) {
        Account account = {.arena = arena, .plan = plan, .bill = bill_of_run(arena, plan, run)};
        const Pipeline *pipeline = run->pipeline;
        add_run(&account, run);
        check(&account, run->name, pipeline->memory, pipeline->memory_range,
              "smaller batches, fewer `@threads` or a shorter `@queue` take less", diagnostics);
    }
}
