/* Resources: what a train block says of devices and memory: replicas, microbatches, memory. */
#include "compiler/lower/training.h"

#include <math.h>
#include <string.h>

enum { MICROBATCH_LIMIT = 1 << 20 };

/* A count, known now; false after reporting, or when there is no entry. */
static bool entry_count(const Context *context, const Statement *entry, int most, Wish *count) {
    double number;
    Context fixing = *context;
    fixing.fixing = true;
    if (!entry) return false;
    Value value = lower_expression(&fixing, entry->value);
    Range range = entry->value->range;
    if (!is_count(&fixing, &value, range) || !to_number(&fixing, &value, range, &number))
        return false;
    bool fits = number == floor(number) && number >= 1 && number <= most;
    *count = (Wish){fits ? (int)number : 0, range};
    if (fits) return true;
    report(context, E0211, range, "`%s` takes a whole number from 1 to %d, not %.15g",
           entry->names.items[0].text, most, number);
    return false;
}

/* Every microbatch is of one size. */
static bool divides(const Context *context, const Value *data, const Wish *parts) {
    int64_t batch = data->stream->pipeline->batch;
    if (batch % parts->value == 0) return true;
    Diagnostic *d =
        report(context, E0209, parts->range, "a batch of %lld can't be split into %d microbatches",
               (long long)batch, parts->value);
    diagnostic_note(d, data->range, "the batches are made here");
    return false;
}

/* gpus(all), gpus(2) or a number; every one but a single replica wants a GPU of its own. */
static void lower_replicas(const Context *context, const Statement *entry, Train *train) {
    const Expression *value = entry ? entry->value : NULL;
    bool call = value && value->kind == EXPRESSION_call && !strcmp(value->name.text, "gpus");
    const Expression *argument =
        call && value->arguments.count == 1 ? value->arguments.items[0].value : NULL;
    bool all = argument && argument->kind == EXPRESSION_name && !strcmp(argument->name.text, "all");
    if (call && !argument) {
        Diagnostic *d = report(context, E0204, value->range, "`gpus` takes a number, or `all`");
        diagnostic_help(d, "`replicas = gpus(all)`");
        return;
    }
    Statement counted = entry ? *entry : (Statement){0};
    if (argument) counted.value = (Expression *)argument;
    if (all) train->replicas = (Wish){ALL_GPUS, value->range};
    else if (value && value->kind == EXPRESSION_name && !strcmp(value->name.text, "all"))
        diagnostic_help(report(context, E0203, value->range, "`replicas` takes a number, or GPUs"),
                        "`replicas = gpus(all)`");
    else if (!entry_count(context, entry ? &counted : NULL, GPU_LIMIT, &train->replicas))
        train->replicas = (Wish){0};
    train->replicas.range = value ? value->range : (Range){0};
    train->on_gpus = call || train->replicas.value > 1;
}

/* The parts of a batch are computed one after the other, and their gradients summed. */
static void lower_microbatches(const Context *context, const Statement *entry, const Value *data,
                               Train *train) {
    if (!entry_count(context, entry, MICROBATCH_LIMIT, &train->microbatches) ||
        !divides(context, data, &train->microbatches))
        return;
    data->stream->pipeline->batch /= train->microbatches.value;
    train->accumulate_count *= train->microbatches.value;
}

bool lower_memory_size(const Context *context, const Expression *expression, double *bytes) {
    Context fixing = *context;
    fixing.fixing = true;
    Range range = expression->range;
    Value value = lower_expression(&fixing, expression);
    if (value.unit && !strstr(value.unit, "iB")) {
        Diagnostic *d =
            report(context, E0203, range, "memory is counted in bytes, not in `%s`", value.unit);
        diagnostic_help(d, "its units are KiB, MiB and GiB");
        return false;
    }
    if (!to_number(&fixing, &value, range, bytes)) return false;
    if (*bytes >= 1 && *bytes <= 0x1p53) return true;
    report(context, E0211, range,
           *bytes >= 1 ? "memory is at most 2^53 bytes" : "memory is at least one byte");
    return false;
}

static void lower_memory(const Context *context, const Statement *entry, Train *train) {
    if (!entry || !lower_memory_size(context, entry->value, &train->memory)) return;
    train->memory_range = entry->value->range;
}

void lower_resources(const Context *context, const Declaration *declaration, const Value *data,
                     Train *train) {
    lower_replicas(context, find_entry(declaration, "replicas"), train);
    lower_microbatches(context, find_entry(declaration, "microbatches"), data, train);
    lower_memory(context, find_entry(declaration, "memory"), train);
}
