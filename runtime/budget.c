#include "runtime/budget.h"

#include "runtime/holdings.h"

void budget_begin(const Settings *settings) {
    int64_t own = settings->train ? settings->train->memory : settings->run->pipeline->limit;
    holdings_limit(settings->memory ? settings->memory : (size_t)own);
}

bool budget_is_watched(const Settings *settings) {
    return settings->shows_memory || holdings_limited();
}

int budget_workers(const Settings *settings, const Stage *stage, const FlowPipeline *pipeline) {
    int workers = settings_workers(settings, pipeline, settings->workers);
    int least = stage_records(stage) < 0; /* somebody has to wait for a feed */
    bool asked = settings->has_workers || pipeline->threads || pipeline->queue;
    while (!asked && workers > least &&
           stage_needs(stage, workers, settings->threads) > holdings_room())
        workers--;
    return workers;
}

void budget_print(const Settings *settings) {
    if (settings->shows_memory) holdings_print(settings->program->name);
}
