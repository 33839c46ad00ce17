/* Origin: what may stand where a source has the name of a file, when bytes come from somewhere else:
 * lines(command(["ffmpeg", …])), csv(connect("host:port")), jsonl(listen("unix:/path")). The source
 * itself is told "-", as if it were standard input. */
#include "compiler/lower/stream.h"

#include <string.h>

static const struct {
    const char *name;
    OriginKind kind;
    const char *example;
} origins[] = {{"command", ORIGIN_command, "command([\"zcat\", \"lines.Z\"])"},
               {"connect", ORIGIN_connect, "connect(\"localhost:7000\")"},
               {"listen", ORIGIN_listen, "listen(\"unix:/tmp/records\")"}};
enum { ORIGIN_COUNT = sizeof origins / sizeof *origins };

static int find_origin(const Expression *expression) {
    for (int i = 0; expression && expression->kind == EXPRESSION_call && i < ORIGIN_COUNT; i++)
        if (!strcmp(expression->name.text, origins[i].name)) return i;
    return -1;
}

/* The sources that take records as they come. */
static bool takes_feeds(const char *source) {
    static const char *const sources[] = {"lines", "csv", "jsonl", "binary"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(sources[i], source)) return true;
    return false;
}

static bool is_text(const Value *value) {
    return value->kind == VALUE_string && !value_is_empty(value);
}

static void add_word(const Context *context, FeedOrigin *origin, const Value *value) {
    vector_push(context->lowering->arena, &origin->words,
                (OriginWord){value->string, value->index});
}

/* A program and its arguments, none of which a shell looks at. */
static bool add_words(const Context *context, FeedOrigin *origin, const Value *list) {
    bool good = list->kind == VALUE_items && list->items.count && is_text(&list->items.values[0]);
    for (size_t i = 0; good && i < list->items.count; i++) {
        good = list->items.values[i].kind == VALUE_string;
        if (good) add_word(context, origin, &list->items.values[i]);
    }
    return good;
}

static bool lower_words(const Context *context, const Expression *call, int which,
                        FeedOrigin *origin) {
    const Argument *only = call->arguments.count == 1 ? &call->arguments.items[0] : NULL;
    Value value = {.kind = VALUE_items};
    origin->kind = origins[which].kind;
    if (only && !only->name.text) value = lower_expression(context, only->value);
    if (value.kind == VALUE_error) return false;
    if (origin->kind == ORIGIN_command && add_words(context, origin, &value)) return true;
    if (origin->kind != ORIGIN_command && is_text(&value)) {
        add_word(context, origin, &value);
        return true;
    }
    Diagnostic *d =
        report(context, E0204, call->range, "`%s` takes %s", origins[which].name,
               origin->kind == ORIGIN_command ? "a list of texts: a program and its arguments"
                                              : "an address: \"unix:/path\" or \"host:port\"");
    diagnostic_help(d, "`%s`", origins[which].example);
    return false;
}

const Expression *take_origin(const Context *context, const Expression *call, Pipeline *pipeline) {
    const Argument *first = call->arguments.count ? &call->arguments.items[0] : NULL;
    int which = first ? find_origin(first->value) : -1;
    if (which < 0) return call;
    if (!expect_no_annotations(context, first->value)) return NULL;
    if (!takes_feeds(pipeline->source)) {
        Diagnostic *d = report(context, E0204, first->value->range,
                               "`%s` looks up any record, which `%s` does not let it",
                               pipeline->source, origins[which].name);
        diagnostic_help(d, "`lines`, `csv`, `jsonl` and `binary` take records as they come");
        return NULL;
    }
    if (!lower_words(context, first->value, which, &pipeline->origin)) return NULL;
    Expression *input = arena_new_item(context->lowering->arena, Expression);
    Expression *rest = arena_new_item(context->lowering->arena, Expression);
    *input = (Expression){.kind = EXPRESSION_string, .range = first->value->range, .string = "-"};
    *rest = *call;
    rest->arguments.items =
        arena_new_array(context->lowering->arena, Argument, call->arguments.count);
    memcpy(rest->arguments.items, call->arguments.items,
           call->arguments.count * sizeof *call->arguments.items);
    rest->arguments.items[0].value = input;
    return rest;
}
