/* Explain program: each train block with its pipelines, each pipeline by itself, and what they hold. */
#include "compiler/driver/explain.h"

#include "runtime/bounds.h"

#include <string.h>

/* What a run holds, part by part. */
typedef struct Bill {
    const Plan *plan;
    Text *text;
    double sum, each;   /* each: of every thread but the first */
    bool files, images; /* hold something too */
} Bill;

static void add_line(Bill *bill, double size, const char *what) {
    text_format(bill->text, "    %12s  %s\n", bytes_text(bill->text->arena, size), what);
    bill->sum += size;
}

static void bill_storage(Bill *bill) {
    const Plan *plan = bill->plan;
    if (plan->storage_size) add_line(bill, (double)plan->storage_size, "weights and states");
    add_line(bill, (double)(plan->memory_size - plan->storage_size),
             "what steps work in: the largest scratch of all functions");
}

static void bill_files(Bill *bill, const Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs) bill_files(bill, *input);
    vector_each(Field, field, pipeline->sections.items[0]->fields)
        bill->images |= field->decoder != NULL;
    bill->files |= pipeline->source && strcmp(pipeline->source, "range");
    bill->files |= pipeline->join.kind == JOIN_cache && pipeline->join.inputs.count;
}

static void bill_pipeline(Bill *bill, const Pipeline *pipeline) {
    Arena *arena = bill->text->arena;
    Demand demand = demand_of(bill->plan, pipeline);
    int threads = demand.workers ? demand.workers : 1;
    add_line(bill, demand.batch * demand.slots,
             arena_format(arena, "%d batches of %s", demand.slots, pipeline->name));
    add_line(bill, demand.scratch * threads,
             arena_format(arena, "scratch of %d thread%s that make%s them", threads,
                          threads == 1 ? "" : "s", threads == 1 ? "s" : ""));
    if (demand.feed) add_line(bill, demand.feed, "standard input, read ahead");
    if (!demand.workers) bill->each += demand.scratch;
    if (!demand.feed) bill_files(bill, pipeline);
}

/* limit: 0, or bytes. */
static void close_bill(Bill *bill, double limit) {
    Arena *arena = bill->text->arena;
    Text *text = bill->text;
    text_format(text, "    %12s  in all", bytes_text(arena, bill->sum));
    if (bill->each)
        text_format(text, ", and %s for each further thread", bytes_text(arena, bill->each));
    text_add(text, "\n");
    if (bill->images)
        text_add(
            text,
            "    and the rows of images while they are decoded: they count when they are met\n");
    if (bill->files)
        text_add(
            text,
            "    what files hold in memory is known once they are open: `--memory` shows it\n");
    if (limit) text_format(text, "    limited to %s\n", bytes_text(arena, limit));
    text_add(text, "\n");
}

static void explain_train(const Plan *plan, const Train *train, Text *text) {
    Bill bill = {.plan = plan, .text = text};
    text_format(text, "train %s (%s)\n", train->name, explain_place(text->arena, train->range));
    explain_pipeline(plan, train->data, ": what it learns from", false, text);
    vector_each(Action, action, train->actions)
        if (action->pipeline) explain_pipeline(plan, action->pipeline, ": evaluated", true, text);
    text_add(text, "  holds\n");
    bill_storage(&bill);
    bill_pipeline(&bill, train->data);
    vector_each(Action, action, train->actions)
        if (action->pipeline) bill_pipeline(&bill, action->pipeline);
    close_bill(&bill, train->memory);
}

static void explain_run(const Plan *plan, const Run *run, Text *text) {
    Bill bill = {.plan = plan, .text = text};
    text_format(text, "pipeline %s (%s)\n", run->name, explain_place(text->arena, run->range));
    explain_pipeline(plan, run->pipeline, "", false, text);
    text_add(text, "  holds\n");
    if (run->function) bill_storage(&bill);
    bill_pipeline(&bill, run->pipeline);
    add_line(&bill, OUTPUT_HELD, "output that is not written yet, of each file");
    close_bill(&bill, run->pipeline->memory);
}

int explain_program(const Plan *plan, const char *name, Text *text) {
    int count = 0;
    vector_each(Train, train, plan->program->trains) {
        if (name && strcmp(name, train->name)) continue;
        explain_train(plan, train, text);
        count++;
    }
    vector_each(Run, run, plan->program->runs) {
        if (name && strcmp(name, run->name)) continue;
        explain_run(plan, run, text);
        count++;
    }
    return count;
}
