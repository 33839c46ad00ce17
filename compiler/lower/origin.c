/* Origin: what may stand where a source has the name of a file, when bytes come from somewhere
 * else: lines(command(["ffmpeg", …])), csv(connect("host:port")), jsonl(listen("unix:/path")). The
 * source itself is told "-", as if it were standard input. */
#include "compiler/lower/stream.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name;
    OriginKind kind;
    const char *example;
} origins[] = {{"command", ORIGIN_command, "command([\"zcat\", \"lines.Z\"])"},
               {"connect", ORIGIN_connect, "connect(\"localhost:7000\")"},
               {"listen", ORIGIN_listen, "listen(\"unix:/tmp/records\")"}};
enum { ORIGIN_COUNT = sizeof origins / sizeof *origins };

static int find_name(const char *name) {
    for (int i = 0; i < ORIGIN_COUNT; i++)
        if (!strcmp(name, origins[i].name)) return i;
    return -1;
}

const char *origin_example(const char *name) {
    int found = find_name(name);
    return found < 0 ? NULL : origins[found].example;
}

static int find_origin(const Expression *expression) {
    bool call = expression && expression->kind == EXPRESSION_call;
    return call ? find_name(expression->name.text) : -1;
}

static void add_word(const Context *context, FeedOrigin *origin, const Value *value) {
    vector_push(context->lowering->arena, &origin->words,
                (OriginWord){value->string, value->index});
}

static bool report_word(const Context *context, const Value *value, Range range) {
    if (value->kind == VALUE_string) {
        report(context, E0203, range, "the name of a program is empty");
        return false;
    }
    Diagnostic *d =
        report(context, E0203, range, "a program and its arguments are texts, this is %s",
               value_text(context->lowering->arena, value));
    const char *written = range_text(context, range);
    if (value->kind == VALUE_number && isdigit((unsigned char)*written))
        diagnostic_help(d, "`\"%s\"`", written);
    return false;
}

/* A program and its arguments, none of which a shell looks at. */
static bool add_words(const Context *context, FeedOrigin *origin, const Items *list, Range range) {
    for (size_t i = 0; i < list->count; i++) {
        const Value *word = &list->values[i];
        bool good = word->kind == VALUE_string && (i || !value_is_empty(word));
        Range place = word->range.source ? word->range : range;
        if (word->kind == VALUE_error || (!good && !report_word(context, word, place)))
            return false;
        add_word(context, origin, word);
    }
    return true;
}

/* "unix:/path" or "host:port", as far as it can be seen in the text. */
static bool is_address(const char *text) {
    const char *colon = strrchr(text, ':');
    bool is_path = !strncmp(text, "unix:", 5);
    return is_path ? text[5] != 0 : colon && colon > text && colon[1];
}

static bool report_origin(const Context *context, Range range, int which) {
    Diagnostic *d = report(context, E0204, range, "`%s` takes %s", origins[which].name,
                           origins[which].kind == ORIGIN_command
                               ? "a list of texts: a program and its arguments"
                               : "an address: \"unix:/path\" or \"host:port\"");
    diagnostic_help(d, "`%s`", origins[which].example);
    return false;
}

static bool lower_words(const Context *context, const Expression *call, int which,
                        FeedOrigin *origin) {
    const Argument *only = call->arguments.count == 1 ? &call->arguments.items[0] : NULL;
    if (!only || only->name.text) return report_origin(context, call->range, which);
    Range range = only->value->range;
    Value value = lower_expression(context, only->value);
    origin->kind = origins[which].kind;
    if (value.kind == VALUE_error) return false;
    if (origin->kind == ORIGIN_command) {
        bool listed = value.kind == VALUE_items && value.items.count;
        return listed ? add_words(context, origin, &value.items, range)
                      : report_origin(context, range, which);
    }
    bool known = !value.index && value.string != any_string;
    if (value.kind != VALUE_string || (known && !is_address(value.string)))
        return report_origin(context, range, which);
    add_word(context, origin, &value);
    return true;
}

/* Does the source take records as they come? False after reporting. */
static bool reads_streams(const Context *context, const char *source, Range range,
                          const char *stream) {
    if (source_records(source) == RECORDS_either) return true;
    Diagnostic *d = report(context, E0204, range,
                           "`%s` looks up any record, which %s does not let it", source, stream);
    diagnostic_help(d, "%s take records as they come", streaming_sources(context));
    return false;
}

bool take_path(const Context *context, Pipeline *pipeline, const Value *path, Range range) {
    FeedOrigin *origin = &pipeline->origin;
    bool input = !strcmp(path->string, "-") && source_records(pipeline->source) != RECORDS_coming;
    if (origin->kind != ORIGIN_files || !input) return true;
    if (!path->index && !reads_streams(context, pipeline->source, range, "standard input"))
        return false;
    origin->kind = ORIGIN_input;
    origin->optional = path->index != 0;
    return true;
}

const Expression *take_origin(const Context *context, const Expression *call, Pipeline *pipeline) {
    const Argument *first = call->arguments.count ? &call->arguments.items[0] : NULL;
    int which = first ? find_origin(first->value) : -1;
    if (which < 0) return call;
    if (!expect_no_annotations(context, first->value) ||
        !reads_streams(context, pipeline->source, first->value->range,
                       arena_format(context->lowering->arena, "`%s`", origins[which].name)))
        return NULL;
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
