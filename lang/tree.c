/* Tree: printed as .flow source (expressions, types) and as an outline (declarations). */
#include "lang/tree.h"

#include <stdio.h>
#include <stdlib.h>

/* From loose to tight; as in parser.y. */
typedef enum Binding {
    BINDING_pipe,
    BINDING_or,
    BINDING_and,
    BINDING_not,
    BINDING_compare,
    BINDING_add,
    BINDING_multiply,
    BINDING_negate,
    BINDING_power,
    BINDING_primary,
} Binding;

static const struct {
    const char *text;
    Binding binding;
} operators[] = {
    [OPERATOR_add] = {"+", BINDING_add},
    [OPERATOR_subtract] = {"-", BINDING_add},
    [OPERATOR_multiply] = {"*", BINDING_multiply},
    [OPERATOR_divide] = {"/", BINDING_multiply},
    [OPERATOR_power] = {"^", BINDING_power},
    [OPERATOR_equal] = {"==", BINDING_compare},
    [OPERATOR_not_equal] = {"!=", BINDING_compare},
    [OPERATOR_less] = {"<", BINDING_compare},
    [OPERATOR_less_equal] = {"<=", BINDING_compare},
    [OPERATOR_greater] = {">", BINDING_compare},
    [OPERATOR_greater_equal] = {">=", BINDING_compare},
    [OPERATOR_and] = {"and", BINDING_and},
    [OPERATOR_or] = {"or", BINDING_or},
    [OPERATOR_not] = {"not", BINDING_not},
    [OPERATOR_negate] = {"-", BINDING_negate},
};

const char *operator_text(Operator operator) {
    return operators[operator].text;
}

double unit_scale(const char *unit) {
    static const struct {
        const char *unit;
        double scale;
    } units[] = {
        {"k", 1e3},      {"M", 1e6},   {"G", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20},
        {"GiB", 0x1p30}, {"ms", 1e-3}, {"s", 1},   {"min", 60},     {"h", 3600},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].unit, unit)) return units[i].scale;
    return 0;
}

/* Whether some digits give the number back when they are read with the unit: the shortest. Counts
 * are written without exponent. */
static bool find_digits(double number, double scale, char digits[static 40]) {
    double count = number / scale;
    for (int precision = count >= 10 && count < 1e9 ? 9 : 1; precision <= 17; precision++) {
        snprintf(digits, 40, "%.*g", precision, count);
        if (strtod(digits, NULL) * scale == number) return true;
    }
    return false;
}

static void print_number(double number, const char *unit, Text *text) {
    char digits[40];
    bool exact = unit && find_digits(number, unit_scale(unit), digits);
    if (!exact) find_digits(number, 1, digits);
    text_format(text, "%s%s", digits, exact ? unit : "");
}

static void print_string(const char *string, Text *text) {
    text_add(text, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '\n') text_add(text, "\\n");
        else if (*c == '\t') text_add(text, "\\t");
        else if (*c == '"' || *c == '\\') text_format(text, "\\%c", *c);
        else text_add_bytes(text, c, 1);
    }
    text_add(text, "\"");
}

static void print(const Expression *expression, Binding least, Text *text);
static void print_type(const TypeTree *type, Text *text);

static void print_items(const ExpressionList *items, const char *open, const char *close,
                        Text *text) {
    text_add(text, open);
    for (size_t i = 0; i < items->count; i++) {
        if (i) text_add(text, ", ");
        print(items->items[i], BINDING_pipe, text);
    }
    text_add(text, close);
}

static void print_arguments(const ArgumentList *arguments, const char *naming, Text *text) {
    text_add(text, "(");
    for (size_t i = 0; i < arguments->count; i++) {
        const Argument *argument = &arguments->items[i];
        if (i) text_add(text, ", ");
        if (argument->name.text) text_format(text, "%s%s", argument->name.text, naming);
        print(argument->value, BINDING_pipe, text);
    }
    text_add(text, ")");
}

static void print_call(const Expression *call, Text *text) {
    text_add(text, call->name.text);
    print_arguments(&call->arguments, " = ", text);
    vector_each(const Annotation, annotation, call->annotations) {
        text_format(text, " @%s", annotation->name.text);
        if (annotation->arguments.count) print_items(&annotation->arguments, "(", ")", text);
    }
}

/* Powers group to the right and take a negation there; comparisons do not chain. */
static void print_binary(const Expression *binary, Text *text) {
    Binding binding = operators[binary->operator].binding;
    bool closes_left = binding == BINDING_power || binding == BINDING_compare;
    print(binary->left, binding + closes_left, text);
    text_format(text, binding == BINDING_power ? "%s" : " %s ", operators[binary->operator].text);
    print(binary->right, binding == BINDING_power ? BINDING_negate : binding + 1, text);
}

static void print_unary(const Expression *unary, Text *text) {
    text_add(text, unary->operator== OPERATOR_not ? "not " : "-");
    print(unary->left, operators[unary->operator].binding, text);
}

static void print_pipe(const Expression *pipe, Text *text) {
    print(pipe->left, BINDING_pipe, text);
    text_add(text, pipe->kind == EXPRESSION_pipe ? " |> " : " |> : ");
    if (pipe->kind == EXPRESSION_pipe) print(pipe->right, BINDING_pipe, text);
    else print_type(pipe->type, text);
}

/* `1.x` would read as a number without digits. */
static void print_field(const Expression *field, Text *text) {
    bool number = field->left->kind == EXPRESSION_number;
    if (number) text_add(text, "(");
    print(field->left, BINDING_primary, text);
    text_format(text, number ? ").%s" : ".%s", field->name.text);
}

static void print_choice(const Expression *choice, Text *text) {
    text_add(text, "if ");
    print(choice->left, BINDING_pipe, text);
    print_items(&(ExpressionList){choice->items.items, 1, 1}, " { ", " } else ", text);
    const Expression *otherwise = choice->items.items[1];
    bool chained = otherwise->kind == EXPRESSION_choice;
    text_add(text, chained ? "" : "{ ");
    print(otherwise, BINDING_pipe, text);
    text_add(text, chained ? "" : " }");
}

static Binding binding_of(const Expression *expression) {
    switch (expression->kind) {
    case EXPRESSION_pipe:
    case EXPRESSION_assert: return BINDING_pipe;
    case EXPRESSION_call: return expression->annotations.count ? BINDING_pipe : BINDING_primary;
    case EXPRESSION_binary:
    case EXPRESSION_unary: return operators[expression->operator].binding;
    case EXPRESSION_reduce: return BINDING_add;
    default: return BINDING_primary;
    }
}

static void print_kind(const Expression *expression, Text *text) {
    switch (expression->kind) {
    case EXPRESSION_error: text_add(text, "<error>"); break;
    case EXPRESSION_number: print_number(expression->number, expression->unit, text); break;
    case EXPRESSION_string: print_string(expression->string, text); break;
    case EXPRESSION_name: text_add(text, expression->name.text); break;
    case EXPRESSION_ellipsis: text_add(text, "..."); break;
    case EXPRESSION_list: print_items(&expression->items, "[", "]", text); break;
    case EXPRESSION_record: print_arguments(&expression->arguments, ": ", text); break;
    case EXPRESSION_call: print_call(expression, text); break;
    case EXPRESSION_pipe:
    case EXPRESSION_assert: print_pipe(expression, text); break;
    case EXPRESSION_binary: print_binary(expression, text); break;
    case EXPRESSION_unary: print_unary(expression, text); break;
    case EXPRESSION_field: print_field(expression, text); break;
    case EXPRESSION_index:
        print(expression->left, BINDING_primary, text);
        print_items(&expression->items, "[", "]", text);
        break;
    case EXPRESSION_slice:
        if (expression->left) print(expression->left, BINDING_pipe, text);
        text_add(text, ":");
        if (expression->right) print(expression->right, BINDING_pipe, text);
        if (expression->items.count) text_add(text, ":");
        vector_each(Expression *, step, expression->items) print(*step, BINDING_pipe, text);
        break;
    case EXPRESSION_new:
        text_add(text, "new ");
        print(expression->left, BINDING_primary, text);
        break;
    case EXPRESSION_choice: print_choice(expression, text); break;
    case EXPRESSION_reduce:
        text_add(text, expression->name.text);
        print_items(&expression->items, "(", ") ", text);
        print(expression->left, BINDING_multiply, text);
        break;
    }
}

/* In parentheses when it binds looser than its place allows. */
static void print(const Expression *expression, Binding least, Text *text) {
    bool parentheses = binding_of(expression) < least;
    if (parentheses) text_add(text, "(");
    print_kind(expression, text);
    if (parentheses) text_add(text, ")");
}

void expression_print(const Expression *expression, Text *text) {
    print(expression, BINDING_pipe, text);
}

static void print_fields(const FieldTypeList *fields, Text *text) {
    text_add(text, "(");
    for (size_t i = 0; i < fields->count; i++) {
        if (i) text_add(text, ", ");
        if (fields->items[i].name.text) text_format(text, "%s: ", fields->items[i].name.text);
        print_type(fields->items[i].type, text);
    }
    text_add(text, ")");
}

static void print_type(const TypeTree *type, Text *text) {
    if (type->broken) text_add(text, "<error>");
    else if (type->element.text) text_add(text, type->element.text);
    else print_fields(&type->fields, text);
    if (type->has_shape) print_items(&type->dimensions, "[", "]", text);
    if (!type->low) return;
    text_add(text, " in ");
    print(type->low, BINDING_add, text);
    text_add(text, "..");
    print(type->high, BINDING_add, text);
}

static void print_typed(Name name, const TypeTree *type, const Expression *value, Text *text) {
    text_add(text, name.text);
    if (type) text_add(text, ": "), print_type(type, text);
    if (value) text_add(text, " = "), expression_print(value, text);
}

static void print_names(const NameList *names, Text *text) {
    if (names->count > 1) text_add(text, "(");
    for (size_t i = 0; i < names->count; i++)
        text_format(text, i ? ", %s" : "%s", names->items[i].text);
    if (names->count > 1) text_add(text, ")");
}

static const char *const statement_words[] = {
    [STATEMENT_let] = "let ",       [STATEMENT_assign] = "assign ", [STATEMENT_weight] = "weight ",
    [STATEMENT_state] = "state ",   [STATEMENT_return] = "return ", [STATEMENT_repeat] = "repeat ",
    [STATEMENT_on] = "on ",         [STATEMENT_if] = "if ",         [STATEMENT_every] = "every ",
    [STATEMENT_action] = "action ", [STATEMENT_scan] = "scan ",     [STATEMENT_fit] = "fit",
};

static void print_head(const Statement *statement, Text *text) {
    text_add(text, statement_words[statement->kind]);
    switch (statement->kind) {
    case STATEMENT_let:
    case STATEMENT_assign:
    case STATEMENT_weight:
    case STATEMENT_state:
        print_names(&statement->names, text);
        if (statement->pattern) text_format(text, " \"%s\"", statement->pattern);
        if (statement->indices.count) print_items(&statement->indices, "[", "]", text);
        if (statement->type) text_add(text, ": "), print_type(statement->type, text);
        if (statement->value) text_add(text, " = ");
        break;
    case STATEMENT_scan:
    case STATEMENT_repeat: text_format(text, "%s in ", statement->names.items[0].text); break;
    case STATEMENT_action: text_format(text, "%s ", statement->names.items[0].text); break;
    default: break;
    }
    if (statement->value) expression_print(statement->value, text);
    if (statement->kind == STATEMENT_every)
        text_format(text, " %s", statement->names.items[0].text);
}

static void print_indent(size_t depth, Text *text) {
    for (size_t i = 0; i < depth; i++) text_add(text, "  ");
}

static void print_statements(const StatementList *statements, size_t depth, Text *text) {
    for (size_t i = 0; i < statements->count; i++) {
        const Statement *statement = statements->items[i];
        print_indent(depth, text);
        print_head(statement, text);
        text_add(text, "\n");
        print_statements(&statement->body, depth + 1, text);
        if (!statement->otherwise.count) continue;
        print_indent(depth, text);
        text_add(text, "else\n");
        print_statements(&statement->otherwise, depth + 1, text);
    }
}

static const char *const declaration_words[] = {
    [DECLARATION_import] = "import ",
    [DECLARATION_option] = "option ",
    [DECLARATION_dim] = "dim ",
    [DECLARATION_const] = "const ",
    [DECLARATION_fn] = "fn ",
    [DECLARATION_model] = "model ",
    [DECLARATION_pipeline] = "pipeline ",
    [DECLARATION_train] = "train ",
    [DECLARATION_export] = "export ",
};

static void print_declaration(const Declaration *declaration, Text *text) {
    if (declaration->broken) text_add(text, "broken ");
    if (declaration->external) text_add(text, "extern ");
    text_add(text, declaration_words[declaration->kind]);
    if (declaration->name.text) text_add(text, declaration->name.text);
    if (declaration->name.text && declaration->value)
        text_add(text, declaration->bounded ? " <= " : " = ");
    if (declaration->value) expression_print(declaration->value, text);
    if (declaration->help) text_add(text, " "), print_string(declaration->help, text);
    text_add(text, "\n");
    vector_each(const Parameter, parameter, declaration->parameters) {
        text_add(text, "  parameter ");
        print_typed(parameter->name, parameter->type, parameter->value, text);
        text_add(text, "\n");
    }
    if (declaration->result) {
        text_add(text, "  result ");
        print_type(declaration->result, text);
        text_add(text, "\n");
    }
    print_statements(&declaration->body, 1, text);
}

void tree_print(const Tree *tree, Text *text) {
    for (size_t i = 0; i < tree->declarations.count; i++)
        print_declaration(tree->declarations.items[i], text);
}
