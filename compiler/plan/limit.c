/* Limit: a train block's `memory`, against what it will take: weights and states, the scratch of
 * its largest function, and the batches that are made ahead. */
#include "compiler/plan/plan.h"

#include <stdlib.h>

enum {
    TEAM_BATCHES = 2,   /* as the runtime's stage.c: without workers, */
    WORKER_BATCHES = 4, /* and of each worker if the queue has no length */
    SHOWN = 3,          /* tensors that a message names */
};

typedef struct Tensor {
    const char *name;
    Type type;
    double size;
    Range range;
} Tensor;

typedef struct Account {
    Arena *arena;
    const Plan *plan;
    double scratch, batches;
    Vector(Tensor) tensors;
} Account;

static void add_tensor(Account *account, const char *name, const Type *type, double size,
                       Range range) {
    vector_push(account->arena, &account->tensors, (Tensor){name, *type, size, range});
}

static void add_function(Account *account, const Function *function) {
    const FunctionPlan *plan = function->graph ? plan_of(account->plan, function) : NULL;
    if (!plan) return;
    if ((double)plan->scratch_size > account->scratch)
        account->scratch = (double)plan->scratch_size;
    vector_each(Buffer, buffer, plan->buffers) {
        const Node *node = graph_node(plan->graph, buffer->node);
        add_tensor(account, op_info[node->op].name, &node->type, (double)buffer->size, node->range);
    }
}

static int64_t batches_ahead(const Pipeline *pipeline) {
    int workers = pipeline->threads.value, queue = pipeline->queue.value;
    if (!workers && !queue) return TEAM_BATCHES;
    if (!workers) workers = 1;
    return (int64_t)workers * (queue ? (queue + workers) / workers : WORKER_BATCHES);
}

static void add_pipeline(Account *account, const Pipeline *pipeline) {
    int64_t batches = batches_ahead(pipeline);
    vector_each(Field, field, pipeline->section->outputs) {
        double size = (double)type_size_bound(&field->type) * (double)(pipeline->batch * batches);
        const char *name =
            arena_format(account->arena, "%lld batches of %lld %s.%s", (long long)batches,
                         (long long)pipeline->batch, pipeline->name, field->name);
        account->batches += size;
        add_tensor(account, name, &field->type, size, pipeline->range);
    }
}

static void add_train(Account *account, const Train *train) {
    vector_each(Storage, storage, account->plan->program->storage)
        add_tensor(account, storage->name, &storage->type, (double)type_size_bound(&storage->type),
                   storage->range);
    add_function(account, &train->initialise);
    add_function(account, &train->step);
    add_function(account, &train->accumulate);
    add_pipeline(account, train->data);
    vector_each(Action, action, train->actions) {
        if (action->function) add_function(account, action->function);
        if (action->pipeline) add_pipeline(account, action->pipeline);
    }
}

static int by_size(const void *left, const void *right) {
    const Tensor *a = left, *b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void report_limit(Account *account, const Train *train, Diagnostics *diagnostics) {
    Arena *arena = account->arena;
    double weights = (double)account->plan->storage_size;
    Diagnostic *d = diagnostic_add(
        diagnostics, E0306, train->memory_range,
        "`%s` needs %s: %s of weights and states, %s of scratch, %s of batches", train->name,
        bytes_text(arena, weights + account->scratch + account->batches),
        bytes_text(arena, weights), bytes_text(arena, account->scratch),
        bytes_text(arena, account->batches));
    qsort(account->tensors.items, account->tensors.count, sizeof(Tensor), by_size);
    for (size_t i = 0; i < account->tensors.count && i < SHOWN; i++) {
        const Tensor *tensor = &account->tensors.items[i];
        diagnostic_note(d, tensor->range, "%s, %s: %s", bytes_text(arena, tensor->size),
                        tensor->name, type_text(arena, &tensor->type));
    }
    diagnostic_help(d, "smaller batches or `microbatches` take less");
}

void plan_check_memory(Arena *arena, const Plan *plan, Diagnostics *diagnostics) {
    vector_each(Train, train, plan->program->trains) {
        Account account = {.arena = arena, .plan = plan};
        if (!train->memory) continue;
        add_train(&account, train);
        double needed = (double)plan->storage_size + account.scratch + account.batches;
        if (needed > train->memory) report_limit(&account, train, diagnostics);
    }
}
