/* Category: texts that stand for numbers. Listed in the program, or a vocabulary: those that the
 * training data has, which is kept with the weights under the names of pipeline and column. */
#include "compiler/lower/given.h"

#include "runtime/bounds.h"

#include <math.h>
#include <string.h>

enum { VOCABULARY_NAME_LIMIT = 300 };

/* The arguments after the field. */
typedef struct CategoryCall {
    const FieldCall *call;
    const Expression *texts;                /* or how many there are at most */
    const Expression *unknown, *vocabulary; /* or NULL */
} CategoryCall;

static bool read_arguments(const FieldCall *call, CategoryCall *arguments) {
    static const char *const parameters[] = {"texts", "unknown", "vocabulary", NULL};
    Given given = given_behind_field(
        call, parameters, 1,
        "category(sex, [\"female\", \"male\"])`, `category(city, 100, unknown = 0)");
    *arguments = (CategoryCall){.call = call,
                                .texts = given.values[0],
                                .unknown = given.values[1],
                                .vocabulary = given.values[2]};
    return !given.broken;
}

static Value with_range(const Context *context, Value value, int count) {
    if (value.kind != VALUE_tensor) return value;
    value.low = dim_constant(context->lowering->dimensions, 0);
    value.high = dim_constant(context->lowering->dimensions, count);
    return value;
}

/* What is missing is the place of a category: `category(missing(sex, 2), ["female", "male",
 * "?"])`. */
static bool fills_with_category(const FieldCall *call, const Field *field, int count) {
    if (!field->fills ||
        (field->filling >= 0 && field->filling < count && field->filling == floor(field->filling)))
        return true;
    report(call->context, E0203, call->call->range,
           "what is missing is the place of a category, 0 to %d, not %.15g", count - 1,
           field->filling);
    return false;
}

/* `unknown = 4` */
static bool read_unknown(const CategoryCall *category, Field *field) {
    const Context *context = category->call->context;
    const Expression *argument = category->unknown;
    double number;
    if (!argument) return true;
    Value value = lower_expression(context, argument);
    if (value.kind == VALUE_error || !to_number(context, &value, argument->range, &number))
        return false;
    if (number >= 0 && number < CATEGORY_LIMIT && number == floor(number)) {
        field->unknown = 1 + (int)number;
        return true;
    }
    report(context, E0211, argument->range, "what is unknown is a number from 0, not %.15g",
           number);
    return false;
}

/* Listed texts. */

static bool read_texts(const CategoryCall *category, const Value *list, Field *field) {
    const Context *context = category->call->context;
    bool good = list->kind == VALUE_items && list->items.count;
    for (size_t i = 0; good && i < list->items.count; i++) {
        good = list->items.values[i].kind == VALUE_string;
        vector_push(context->lowering->arena, &field->categories,
                    good ? fixed_string(context, &list->items.values[i]) : NULL);
    }
    if (good && category->vocabulary)
        report(context, E0204, category->vocabulary->range,
               "texts that are listed are in no vocabulary");
    if (good) return !category->vocabulary;
    Diagnostic *d = report(context, E0203, category->texts->range,
                           "`category` takes a list of texts or how many there may be, not %s",
                           value_text(context->lowering->arena, list));
    diagnostic_help(d, "`[\"female\", \"male\"]`, or `2`: those of the training data");
    return false;
}

/* Vocabularies. */

static const char *vocabulary_name(const CategoryCall *category) {
    const FieldCall *call = category->call;
    const Context *context = call->context;
    if (!category->vocabulary)
        return arena_format(context->lowering->arena, "%s.%s", call->field.stream->pipeline->name,
                            call->field.field->column);
    Value name = lower_expression(context, category->vocabulary);
    if (name.kind == VALUE_string) return fixed_string(context, &name);
    if (name.kind != VALUE_error)
        report(context, E0203, category->vocabulary->range,
               "the name of a vocabulary is a text, not %s",
               value_text(context->lowering->arena, &name));
    return NULL;
}

static Vocabulary *find_vocabulary(const Context *context, const char *name) {
    vector_each(Vocabulary, known, context->lowering->program->vocabularies)
        if (!strcmp(known->name, name)) return known;
    return NULL;
}

/* Numbers that no text stands for leave room for one at least. */
static bool has_room(const CategoryCall *category, const Vocabulary *vocabulary) {
    int reserved = (vocabulary->unknown > 0) +
                   (vocabulary->missing > 0 && vocabulary->missing != vocabulary->unknown);
    if (vocabulary->unknown <= vocabulary->size && reserved < vocabulary->size) return true;
    report(category->call->context, E0203, category->call->call->range, "of %d categor%s %s",
           vocabulary->size, vocabulary->size == 1 ? "y" : "ies",
           reserved < vocabulary->size ? "what is unknown has to be one"
                                       : "none is left for a text");
    return false;
}

static bool agrees(const CategoryCall *category, const Vocabulary *known, const Vocabulary *here) {
    if (known->size == here->size && known->unknown == here->unknown &&
        known->missing == here->missing)
        return true;
    Diagnostic *d = report(category->call->context, E0203, category->call->call->range,
                           "the vocabulary `%s` has other numbers elsewhere", known->name);
    diagnostic_note(d, known->range, "it is used here");
    diagnostic_help(d, "`vocabulary = \"…\"` gives this one another name");
    return false;
}

static bool is_sound(const CategoryCall *category, const Vocabulary *vocabulary) {
    if (!vocabulary->name || !has_room(category, vocabulary)) return false;
    if (strlen(vocabulary->name) <= VOCABULARY_NAME_LIMIT) return true;
    report(category->call->context, E0106, vocabulary->range,
           "the name of a vocabulary has at most %d bytes", VOCABULARY_NAME_LIMIT);
    return false;
}

/* That of the program; NULL after reporting. */
static Vocabulary *enter_vocabulary(const CategoryCall *category, const Vocabulary *here) {
    const Context *context = category->call->context;
    Vocabulary *known = find_vocabulary(context, here->name);
    if (known) return agrees(category, known, here) ? known : NULL;
    vector_push(context->lowering->arena, &context->lowering->program->vocabularies, *here);
    return find_vocabulary(context, here->name);
}

static bool use_vocabulary(const CategoryCall *category, Field *field, int size) {
    Lowering *lowering = category->call->context->lowering;
    Vocabulary here = {.name = vocabulary_name(category),
                       .size = size,
                       .unknown = field->unknown,
                       .missing = field->fills ? 1 + (int)field->filling : 0,
                       .range = category->call->call->range};
    field->vocabulary = 1;
    if (!is_sound(category, &here)) return false;
    if (category->call->context->checking) return true;
    Vocabulary *known = enter_vocabulary(category, &here);
    if (!known) return false;
    known->learned |= lowering->learning;
    int index = (int)(known - lowering->program->vocabularies.items);
    vector_push(lowering->arena, &lowering->vocabularies, index);
    field->vocabulary = 1 + index;
    return true;
}

void load_vocabularies(const Context *context, const Declaration *declaration, bool loads) {
    Lowering *lowering = context->lowering;
    vector_each(const int, index, lowering->vocabularies) {
        Vocabulary *vocabulary = &lowering->program->vocabularies.items[*index];
        vocabulary->loaded = true; /* or what is wrong was said */
        if (loads) continue;
        Diagnostic *d = report(context, E0214, declaration->name.range,
                               "nothing tells `%s` what the texts of `%s` stand for",
                               declaration->name.text, vocabulary->name);
        diagnostic_note(d, vocabulary->range, "they are categories here");
        diagnostic_help(d, "they are kept with the weights: `let net = load(model, \"file\")`");
    }
}

void check_vocabularies(const Context *context) {
    const Program *program = context->lowering->program;
    vector_each(Vocabulary, vocabulary, program->vocabularies) {
        if (vocabulary->learned || vocabulary->loaded) continue;
        Diagnostic *d =
            report(context, E0214, vocabulary->range,
                   "the data of no train block has the texts of `%s`", vocabulary->name);
        diagnostic_help(d,
                        "`vocabulary = \"…\"` gives columns of several pipelines one vocabulary");
    }
}

/* How many numbers there are; 0 after reporting. */
static int read_size(const CategoryCall *category, const Value *value) {
    Context fixing = *category->call->context;
    fixing.fixing = true;
    int64_t size = 0;
    Dim dim = to_size(&fixing, value, category->texts->range);
    if (!dim) return 0;
    if (dim_is_constant(dim, &size) && size >= 1 && size <= CATEGORY_LIMIT) return (int)size;
    report(&fixing, E0211, category->texts->range, "a vocabulary has 1 to %d texts",
           CATEGORY_LIMIT);
    return 0;
}

static bool is_number(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size || value->kind == VALUE_option;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* The field's texts; how many numbers they stand for, 0 after reporting. */
static int describe_texts(const CategoryCall *category, Field *field) {
    Value texts = lower_expression(category->call->context, category->texts);
    if (texts.kind == VALUE_error || !read_unknown(category, field)) return 0;
    if (is_number(&texts)) {
        int size = read_size(category, &texts);
        bool good = size && fills_with_category(category->call, field, size) &&
                    use_vocabulary(category, field, size);
        return good ? size : 0;
    }
    if (!read_texts(category, &texts, field)) return 0;
    int size = larger((int)field->categories.count, field->unknown);
    return fills_with_category(category->call, field, size) ? size : 0;
}

Value lower_category(const FieldCall *call) {
    CategoryCall category;
    bool whole = call->field.form == FORM_value || expect_unfilled(call);
    if (!whole || !expect(call, FORM_cell, FORM_bytes, "a column") ||
        !read_arguments(call, &category))
        return value_error;
    Field *field = describe(call);
    int size = describe_texts(&category, field);
    if (!size) return value_error;
    Value value = become(call, field, FORM_number);
    value = type_field(call->context, &value, type_scalar(TYPE_i32), call->call->range);
    return with_range(call->context, value, size);
}
