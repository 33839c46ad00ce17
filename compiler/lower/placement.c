/* Placement: what annotations of calls (`@gpu(0)`, `@threads(4)`) and regions (`on cpu { … }`) ask
 * for. An annotation holds for a call and what stands between its parentheses; the innermost one
 * decides. Regions that lie in each other have to agree, as neither is an exception. */
#include "compiler/lower/lowering.h"

#include <math.h>
#include <string.h>

enum { THREADS_LIMIT = 256, QUEUE_LIMIT = 1024, ANNOTATION_KINDS = 3 };

/* A name with arguments, of an annotation or of an expression. */
typedef struct Asked {
    const char *name;
    Range range;
    const Expression *argument; /* the first, or NULL */
    size_t count;               /* of arguments */
} Asked;

static Asked asked_by_annotation(const Annotation *annotation) {
    size_t count = annotation->arguments.count;
    return (Asked){annotation->name.text, annotation->range,
                   count ? annotation->arguments.items[0] : NULL, count};
}

static Asked asked_by_expression(const Expression *expression) {
    size_t count = expression->arguments.count;
    return (Asked){expression->name.text, expression->range,
                   count ? expression->arguments.items[0].value : NULL, count};
}

/* The one whole number of `gpu(1)`, `@threads(4)`. */
static bool read_whole(const Context *context, const Asked *asked, double least, double most,
                       int *number) {
    Context fixing = *context;
    double value;
    fixing.fixing = true;
    if (asked->count != 1) {
        Diagnostic *d =
            report(context, E0204, asked->range, "`%s` takes one whole number", asked->name);
        diagnostic_help(d, "`%s(%.15g)`", asked->name, least < 2 ? least : 2);
        return false;
    }
    Value found = lower_expression(&fixing, asked->argument);
    Range range = asked->argument->range;
    if (!to_number(&fixing, &found, range, &value)) return false;
    if (value == floor(value) && value >= least && value <= most) {
        *number = (int)value;
        return true;
    }
    report(context, E0211, range, "`%s` takes a whole number from %.15g to %.15g, not %.15g",
           asked->name, least, most, value);
    return false;
}

static bool is_device_name(const char *name) {
    return !strcmp(name, "cpu") || !strcmp(name, "gpu");
}

static bool read_device(const Context *context, const Asked *asked, Placement *placement) {
    placement->device = strcmp(asked->name, "cpu") ? DEVICE_gpu : DEVICE_cpu;
    if (!asked->count) return true;
    if (placement->device == DEVICE_gpu)
        return read_whole(context, asked, 0, GPU_LIMIT - 1, &placement->index);
    report(context, E0204, asked->range, "there is one `cpu`, which takes no number");
    return false;
}

/* `prefer(gpu(1))` */
static bool read_preference(const Context *context, const Asked *asked, Placement *placement) {
    const Expression *device = asked->argument;
    bool named =
        asked->count == 1 && (device->kind == EXPRESSION_name || device->kind == EXPRESSION_call);
    placement->soft = true;
    if (named && is_device_name(device->name.text)) {
        Asked inner = asked_by_expression(device);
        return read_device(context, &inner, placement);
    }
    Diagnostic *d = report(context, E0204, asked->range, "`prefer` takes a device");
    diagnostic_help(d, "`prefer(gpu)`, `prefer(gpu(1))` or `prefer(cpu)`");
    return false;
}

static bool read_placement(const Context *context, const Asked *asked, Placement *placement) {
    *placement = (Placement){.range = asked->range};
    if (!strcmp(asked->name, "prefer")) return read_preference(context, asked, placement);
    return read_device(context, asked, placement);
}

static const char *device_text(const Context *context, const Placement *placement) {
    Text text = text_new(context->lowering->arena);
    device_print(placement, &text);
    return text_string(&text);
}

/* Annotations. */

static bool unknown_annotation(const Context *context, const Annotation *annotation) {
    static const char *const names[] = {"cpu", "gpu", "prefer", "threads", "queue", "memory"};
    Diagnostic *d =
        report(context, E0201, annotation->range, "`@%s` is no annotation", annotation->name.text);
    const char *nearest = nearest_name(annotation->name.text, names, sizeof names / sizeof *names);
    if (nearest) diagnostic_help(d, "did you mean `@%s`?", nearest);
    else
        diagnostic_help(d, "there are `@cpu`, `@gpu(k)`, `@prefer(gpu)`, and for stages "
                           "`@threads(n)`, `@queue(n)`, `@memory(4GiB)`");
    return false;
}

static bool read_memory(const Context *context, const Annotation *annotation, Wishes *wishes) {
    if (wishes->memory) {
        Diagnostic *d =
            report(context, E0305, annotation->range, "`@memory` is given a second time");
        diagnostic_note(d, wishes->memory_range, "the first time is here");
        return false;
    }
    wishes->memory_range = annotation->range;
    if (annotation->arguments.count == 1)
        return lower_memory_size(context, annotation->arguments.items[0], &wishes->memory);
    Diagnostic *d = report(context, E0204, annotation->range, "`memory` takes a size");
    diagnostic_help(d, "`@memory(4GiB)`");
    return false;
}

/* *wish is set once. */
static bool read_wish(const Context *context, const Annotation *annotation, int most, Wish *wish) {
    Asked asked = asked_by_annotation(annotation);
    if (wish->value) {
        Diagnostic *d = report(context, E0305, annotation->range, "`@%s` is given a second time",
                               annotation->name.text);
        diagnostic_note(d, wish->range, "the first time is here");
        return false;
    }
    wish->range = annotation->range;
    return read_whole(context, &asked, 1, most, &wish->value);
}

static bool read_annotation(const Context *context, const Annotation *annotation, Wishes *wishes) {
    const char *name = annotation->name.text;
    if (!strcmp(name, "threads"))
        return read_wish(context, annotation, THREADS_LIMIT, &wishes->threads);
    if (!strcmp(name, "queue")) return read_wish(context, annotation, QUEUE_LIMIT, &wishes->queue);
    if (!strcmp(name, "memory")) return read_memory(context, annotation, wishes);
    if (!is_device_name(name) && strcmp(name, "prefer"))
        return unknown_annotation(context, annotation);
    Placement *placement = &wishes->placement;
    if (is_placed(placement)) {
        Diagnostic *d = report(context, E0305, annotation->range, "a call runs on one device");
        diagnostic_note(d, placement->range, "the first is named here");
        return false;
    }
    Asked asked = asked_by_annotation(annotation);
    return read_placement(context, &asked, placement);
}

bool read_annotations(const Context *context, const Expression *call, Wishes *wishes) {
    bool sound = true;
    *wishes = (Wishes){0};
    vector_each(Annotation, annotation, call->annotations)
        sound &= read_annotation(context, annotation, wishes);
    return sound;
}

bool expect_no_annotations(const Context *context, const Expression *call) {
    vector_each(Annotation, annotation, call->annotations) {
        Diagnostic *d =
            report(context, E0214, annotation->range, "`@%s` can't stand behind this `%s`",
                   annotation->name.text, call->name.text);
        diagnostic_help(d, "it stands behind a stage of a pipeline, or a call that computes");
    }
    return !call->annotations.count;
}

static bool grant(const Context *context, const char *name, const Wish *wish, const Value *result,
                  Wish *granted) {
    if (!granted) {
        Diagnostic *d =
            report(context, E0214, wish->range, "`@%s` is for a stage of a pipeline, this is %s",
                   name, value_text(context->lowering->arena, result));
        diagnostic_help(d, "the threads of a step are the run's: `--threads=%d`", wish->value);
        return false;
    }
    if (granted->value && granted->value != wish->value) {
        Diagnostic *d = report(context, E0305, wish->range,
                               "the stages of a pipeline share their threads and one queue");
        diagnostic_note(d, granted->range, "`@%s(%d)` is given here", name, granted->value);
        return false;
    }
    *granted = *wish;
    return true;
}

/* Of a pipeline that ends here: what it holds is known as a whole. */
static bool grant_memory(const Context *context, const Wishes *wishes, const Value *result) {
    if (result->kind == VALUE_sink) {
        result->stream->pipeline->memory = wishes->memory;
        result->stream->pipeline->memory_range = wishes->memory_range;
        return true;
    }
    Diagnostic *d = report(context, E0214, wishes->memory_range,
                           "`@memory` stands behind the sink of a pipeline, this is %s",
                           value_text(context->lowering->arena, result));
    diagnostic_help(d, "`|> csv(stdout) @memory(64MiB)`; a train block has an entry for all that "
                       "it takes: `memory = 4GiB`");
    return false;
}

bool grant_wishes(const Context *context, const Wishes *wishes, const Value *result) {
    bool streams = result->kind == VALUE_stream || result->kind == VALUE_batch;
    Pipeline *pipeline = streams ? result->stream->pipeline : NULL;
    if (result->kind == VALUE_error) return true;
    if (wishes->memory && !grant_memory(context, wishes, result)) return false;
    bool sound = !wishes->threads.value || grant(context, "threads", &wishes->threads, result,
                                                 pipeline ? &pipeline->threads : NULL);
    return sound && (!wishes->queue.value || grant(context, "queue", &wishes->queue, result,
                                                   pipeline ? &pipeline->queue : NULL));
}

/* Regions. */

/* Sets what `on value { … }` asks for. False after reporting. */
static bool read_region(const Context *context, const Expression *value, Placement *placement) {
    const Placement *outer = &context->placement;
    Asked asked = asked_by_expression(value);
    if (value->kind != EXPRESSION_call) return false; /* a hole */
    if (!is_device_name(asked.name) && strcmp(asked.name, "prefer")) {
        Diagnostic *d = report(context, E0201, value->range, "`%s` is no device", asked.name);
        diagnostic_help(d, "`on cpu { … }`, `on gpu(0) { … }`, `on prefer(gpu) { … }`");
        return false;
    }
    if (!read_placement(context, &asked, placement)) return false;
    if (outer->soft || placement->soft || !devices_differ(outer, placement)) return true;
    Diagnostic *d = report(context, E0305, placement->range, "this is to run on %s already",
                           device_text(context, outer));
    diagnostic_note(d, outer->range, "%s is asked for here", device_text(context, outer));
    diagnostic_help(d, "let one end before the other begins, or write `on prefer(…)` here");
    return false;
}

Placement inner_placement(const Placement *outer, const Placement *inner) {
    bool yields = inner->soft && is_placed(outer) && !outer->soft;
    return is_placed(inner) && !yields ? *inner : *outer;
}

Placement place_nodes(const Context *context) {
    if (!context->graph) return (Placement){0};
    Placement before = context->graph->placement;
    context->graph->placement = context->placement;
    return before;
}

void restore_placement(const Context *context, Placement before) {
    if (context->graph) context->graph->placement = before;
}

Context enter_region(const Context *context, const Expression *value, Placement *before) {
    Context inner = *context;
    Placement placement = {0};
    if (read_region(context, value, &placement))
        inner.placement = inner_placement(&context->placement, &placement);
    *before = place_nodes(&inner);
    return inner;
}
