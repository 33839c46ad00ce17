/* Explain program: each train block with its pipelines, each pipeline by itself, and what they
 * hold. */
#include "compiler/driver/all_reduce.h"
#include "compiler/driver/explain.h"

#include <string.h>

/* What counts only when it is met: images that are decoded, files that are open. */
typedef struct Unknown {
    bool images, files;
} Unknown;

static bool opens_files(const Pipeline *pipeline) {
    if (!pipeline->source) return pipeline->join.kind == JOIN_cache;
    return pipeline->origin.kind == ORIGIN_files && strcmp(pipeline->source, "range");
}

static void add_unknown(Unknown *unknown, const Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs) add_unknown(unknown, *input);
    vector_each(Field, field, pipeline->sections.items[0]->fields)
        unknown->images |= field->decoder != NULL;
    unknown->files |= opens_files(pipeline);
}

/* limit: 0, or bytes. */
static void print_bill(const Bill *bill, const Unknown *unknown, double limit, Text *text) {
    Arena *arena = text->arena;
    text_add(text, "  holds\n");
    vector_each(Charge, charge, bill->charges)
        text_format(text, "    %12s  %s\n", bytes_text(arena, charge->size), charge->what);
    text_format(text, "    %12s  in all", bytes_text(arena, bill->sum));
    if (bill->each)
        text_format(text, ", and %s for each further thread", bytes_text(arena, bill->each));
    text_add(text, "\n");
    if (unknown->images)
        text_add(
            text,
            "    and the rows of images while they are decoded: they count when they are met\n");
    if (unknown->files)
        text_add(
            text,
            "    what files hold in memory is known once they are open: `--memory` shows it\n");
    if (limit) text_format(text, "    limited to %s\n", bytes_text(arena, limit));
    text_add(text, "\n");
}

/* Bytes that are made whole in a step. */
static double joined_bytes(const FunctionPlan *step) {
    double bytes = 0;
    vector_each(Band, band, step->bands)
        if (band->transfer && band->transfer->kind == TRANSFER_reduce)
            bytes += (double)type_size_bound(&graph_node(step->graph, band->transfer->node)->type);
    return bytes;
}

static void explain_all_reduce(bool exact, bool here, Text *text) {
    AllReduceText how;
    if (!here) {
        text_format(text, " %s", all_reduce_elsewhere(exact));
        return;
    }
    const bool wrong = all_reduce_find(exact, &how) == ALL_REDUCE_wrong;
    text_format(text, wrong ? ", which can't be done here: %s" : " %s", how.text);
    if (wrong && how.fix) text_format(text, "\n    %s", how.fix);
}

/* "replicas: 3, of 10 to 11 of 32 records each, all-reduce of 407 KiB a step by NCCL 2.27.3" */
static void explain_replicas(const Plan *plan, const Train *train, bool here, Text *text) {
    const FunctionPlan *step = plan_of(plan, &train->step);
    const int64_t batch = step->batch, count = step->graph->wishes.replicas;
    if (!count) return;
    text_format(text, "  replicas: %lld, of %lld", (long long)count, (long long)(batch / count));
    if (batch % count) text_format(text, " to %lld", (long long)(batch / count + 1));
    text_format(text, " of %lld records each", (long long)batch);
    if (count > 1) {
        text_format(text, ", all-reduce of %s a step", bytes_text(text->arena, joined_bytes(step)));
        explain_all_reduce(plan->program->exact, here, text);
    }
    text_add(text, "\n");
}

static void explain_train(const Plan *plan, const Train *train, bool here, Text *text) {
    Bill bill = bill_of_train(text->arena, plan, train);
    Unknown unknown = {0};
    text_format(text, "train %s (%s)\n", train->name, explain_place(text->arena, train->range));
    explain_replicas(plan, train, here, text);
    explain_pipeline(plan, train->data, ": what it learns from", false, text);
    explain_depth(plan, train->data, text);
    add_unknown(&unknown, train->data);
    vector_each(Action, action, train->actions) {
        if (!action->pipeline) continue;
        explain_pipeline(plan, action->pipeline, ": evaluated", true, text);
        add_unknown(&unknown, action->pipeline);
    }
    print_bill(&bill, &unknown, train->memory, text);
}

static void explain_run(const Plan *plan, const Run *run, Text *text) {
    Bill bill = bill_of_run(text->arena, plan, run);
    Unknown unknown = {0};
    text_format(text, "pipeline %s (%s)\n", run->name, explain_place(text->arena, run->range));
    explain_pipeline(plan, run->pipeline, "", false, text);
    add_unknown(&unknown, run->pipeline);
    print_bill(&bill, &unknown, run->pipeline->memory, text);
}

void explain_program(const Plan *plan, bool here, Text *text) {
    vector_each(Train, train, plan->program->trains) explain_train(plan, train, here, text);
    vector_each(Run, run, plan->program->runs) explain_run(plan, run, text);
}
