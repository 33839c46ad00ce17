/* Build: the nodes of a tree. */
#include "lang/build.h"

#include "lang/habit.h"

/* Adds a syntax error with a way to write it right. */
void report_syntax(Parser *parser, Range range, const char *text, const char *help) {
    if (parser->tokens->stopped) return;
    Diagnostic *diagnostic = diagnostic_add(parser->diagnostics, E0101, range, "%s", text);
    if (help) diagnostic->help = help;
}

Expression *build_expression(Parser *parser, ExpressionKind kind, Range range) {
    Expression *expression = arena_new_item(parser->arena, Expression);
    expression->kind = kind;
    expression->range = range;
    expression->depth = 1;
    return expression;
}

Expression *build_hole(Parser *parser, Range range) {
    return build_expression(parser, EXPRESSION_error, range);
}

Expression *build_ellipsis(Parser *parser, Range range) {
    return build_expression(parser, EXPRESSION_ellipsis, range);
}

static void deepen(uint32_t *depth, uint32_t child) {
    if (*depth <= child) *depth = child + 1;
}

static void deepen_by_items(uint32_t *depth, const ExpressionList *items) {
    vector_each(Expression *, item, *items) deepen(depth, (*item)->depth);
}

/* Gives an expression with all its children a depth; or a hole when that is too much. */
static Expression *finish(Parser *parser, Expression *expression) {
    uint32_t depth = 1;
    if (expression->left) deepen(&depth, expression->left->depth);
    if (expression->right) deepen(&depth, expression->right->depth);
    if (expression->type) deepen(&depth, expression->type->depth);
    deepen_by_items(&depth, &expression->items);
    vector_each(const Argument, argument, expression->arguments)
        deepen(&depth, argument->value->depth);
    vector_each(const Annotation, annotation, expression->annotations)
        deepen_by_items(&depth, &annotation->arguments);
    expression->depth = depth;
    if (depth < DEPTH_LIMIT) return expression;
    if (!parser->too_deep)
        diagnostic_add(parser->diagnostics, E0105, expression->range,
                       "%d operations inside one another", DEPTH_LIMIT);
    parser->too_deep = true;
    Expression *error = build_hole(parser, expression->range);
    error->depth = DEPTH_LIMIT;
    return error;
}

Name token_name(Token token) {
    return (Name){token.text, token.range};
}

Expression *build_name(Parser *parser, Token token, const char *text) {
    Expression *expression = build_expression(parser, EXPRESSION_name, token.range);
    expression->name = (Name){text, token.range};
    return expression;
}

Expression *build_number(Parser *parser, Token token) {
    Expression *expression = build_expression(parser, EXPRESSION_number, token.range);
    expression->number = token.number;
    expression->unit = token.text;
    return expression;
}

Expression *build_string(Parser *parser, Token token) {
    Expression *expression = build_expression(parser, EXPRESSION_string, token.range);
    expression->string = token.text;
    return expression;
}

Expression *build_binary(Parser *parser, Operator operator, Expression * left, Expression *right) {
    Range range = range_join(left->range, right->range);
    Expression *expression = build_expression(parser, EXPRESSION_binary, range);
    expression->operator= operator;
    expression->left = left;
    expression->right = right;
    return finish(parser, expression);
}

Expression *build_unary(Parser *parser, Operator operator, Expression * operand, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_unary, range);
    expression->operator= operator;
    expression->left = operand;
    return finish(parser, expression);
}

Expression *build_call(Parser *parser, Token name, ArgumentList arguments, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_call, range);
    expression->name = token_name(name);
    expression->arguments = arguments;
    return finish(parser, expression);
}

static bool is_annotation(const char *name) {
    static const char *const names[] = {"cpu", "gpu", "prefer", "threads", "queue"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static void report_placed(Parser *parser, const Annotation *annotation) {
    if (is_annotation(annotation->name.text))
        report_syntax(parser, annotation->range, "only a call can be placed",
                      "write it behind a call, as in `dense(128) @gpu(0)`");
    else
        report_syntax(parser, annotation->range, "`@` names a device, and multiplies nothing",
                      "`matmul(a, b)` is a product of matrices");
}

Expression *build_annotated(Parser *parser, Expression *stage, AnnotationList annotations,
                            Range range) {
    if (!annotations.count || stage->kind == EXPRESSION_error) return stage;
    if (stage->kind != EXPRESSION_call) {
        report_placed(parser, &annotations.items[0]);
        return stage;
    }
    vector_each(const Annotation, annotation, annotations)
        vector_push(parser->arena, &stage->annotations, *annotation);
    stage->range = range;
    return finish(parser, stage);
}

Expression *build_pipe(Parser *parser, Expression *left, Expression *right) {
    Range range = range_join(left->range, right->range);
    Expression *expression = build_expression(parser, EXPRESSION_pipe, range);
    expression->left = left;
    expression->right = right;
    return finish(parser, expression);
}

Expression *build_pipe_into_name(Parser *parser, Expression *left, Token name) {
    report_syntax(parser, name.range, "a stage is a call",
                  arena_format(parser->arena, "write `%s()`", name.text));
    return build_pipe(parser, left, build_call(parser, name, (ArgumentList){0}, name.range));
}

Expression *build_assert(Parser *parser, Expression *left, TypeTree *type, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_assert, range);
    expression->left = left;
    expression->type = type;
    return finish(parser, expression);
}

Expression *build_list(Parser *parser, ExpressionList items, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_list, range);
    expression->items = items;
    return finish(parser, expression);
}

Expression *build_field(Parser *parser, Expression *left, Token name, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_field, range);
    expression->left = left;
    expression->name = token_name(name);
    return finish(parser, expression);
}

static bool is_module(const char *name) {
    static const char *const names[] = {"torch", "nn",    "F",   "np",   "numpy", "tf",
                                        "keras", "optim", "jax", "math", "pd",    "self"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

Expression *build_method(Parser *parser, Expression *left, Token name, ArgumentList arguments,
                         Range range) {
    const char *known = habit_of_name(name.text);
    bool module = left->kind == EXPRESSION_name && is_module(left->name.text);
    report_syntax(parser, module ? left->range : name.range,
                  module ? arena_format(parser->arena, "there is no module `%s`", left->name.text)
                         : "a value has no functions of its own",
                  known    ? known
                  : module ? arena_format(parser->arena, "write `%s(…)`", name.text)
                           : arena_format(parser->arena, "write `|> %s(…)`", name.text));
    Expression *call = build_call(parser, name, arguments, range_join(name.range, range));
    return build_pipe(parser, left, call);
}

Expression *build_index(Parser *parser, Expression *left, ExpressionList items, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_index, range);
    expression->left = left;
    expression->items = items;
    return finish(parser, expression);
}

Expression *build_slice(Parser *parser, Expression *from, Expression *to, Expression *step,
                        Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_slice, range);
    expression->left = from;
    expression->right = to;
    if (step) vector_push(parser->arena, &expression->items, step);
    return finish(parser, expression);
}

Expression *build_new(Parser *parser, Expression *model, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_new, range);
    expression->left = model;
    return finish(parser, expression);
}

Expression *build_choice(Parser *parser, Expression *condition, Expression *value,
                         Expression *otherwise, Range range) {
    Expression *expression = build_expression(parser, EXPRESSION_choice, range);
    expression->left = condition;
    vector_push(parser->arena, &expression->items, value);
    vector_push(parser->arena, &expression->items, otherwise);
    return finish(parser, expression);
}

Expression *build_reduce(Parser *parser, Expression *call, Expression *body) {
    if (call->kind != EXPRESSION_call) return call;
    Expression *expression =
        build_expression(parser, EXPRESSION_reduce, range_join(call->range, body->range));
    expression->name = call->name;
    expression->left = body;
    vector_each(const Argument, argument, call->arguments) {
        bool index = argument->value->kind == EXPRESSION_name && !argument->name.text;
        if (!index) report_syntax(parser, argument->value->range, "expected an index", NULL);
        if (index) vector_push(parser->arena, &expression->items, argument->value);
    }
    return finish(parser, expression);
}

/* `(a)` is a itself, anything else in parentheses a record. */
Expression *build_group(Parser *parser, ArgumentList arguments, Range range) {
    bool single = arguments.count == 1 && !arguments.items[0].name.text;
    if (!arguments.count || (single && arguments.items[0].value->kind == EXPRESSION_ellipsis)) {
        report_syntax(parser, range, "no value stands between the parentheses", NULL);
        return build_hole(parser, range);
    }
    if (single) {
        arguments.items[0].value->range = range;
        return arguments.items[0].value;
    }
    Expression *expression = build_expression(parser, EXPRESSION_record, range);
    expression->arguments = arguments;
    return finish(parser, expression);
}

Expression *build_bad_call(Parser *parser, Token name, Expression *bad, Range range) {
    ArgumentList arguments = {0};
    vector_push(parser->arena, &arguments, (Argument){.value = bad});
    return build_call(parser, name, arguments, range);
}

TypeTree *build_type(Parser *parser, Range range) {
    TypeTree *type = arena_new_item(parser->arena, TypeTree);
    type->range = range;
    type->depth = 1;
    return type;
}

TypeTree *build_bad_type(Parser *parser, Range range) {
    TypeTree *type = build_type(parser, range);
    type->broken = true;
    return type;
}

TypeTree *build_shaped_type(Parser *parser, Token name, ExpressionList dimensions, Range range) {
    TypeTree *type = build_type(parser, range);
    type->element = token_name(name);
    type->has_shape = true;
    type->dimensions = dimensions;
    deepen_by_items(&type->depth, &dimensions);
    return type;
}

TypeTree *build_bounded_type(TypeTree *type, Expression *low, Expression *high, Range range) {
    type->low = low;
    type->high = high;
    type->range = range;
    deepen(&type->depth, low->depth);
    deepen(&type->depth, high->depth);
    return type;
}

TypeTree *build_record_type(Parser *parser, FieldTypeList fields, Range range) {
    TypeTree *type = build_type(parser, range);
    type->fields = fields;
    vector_each(const FieldType, field, fields) deepen(&type->depth, field->type->depth);
    return type;
}

Statement *build_statement(Parser *parser, StatementKind kind, Range range, Expression *value) {
    Statement *statement = arena_new_item(parser->arena, Statement);
    statement->kind = kind;
    statement->range = range;
    statement->value = value;
    statement->depth = 1;
    return statement;
}

Statement *build_named_statement(Parser *parser, StatementKind kind, Range range, Token name,
                                 TypeTree *type, Expression *value) {
    Statement *statement = build_statement(parser, kind, range, value);
    vector_push(parser->arena, &statement->names, token_name(name));
    statement->type = type;
    return statement;
}

Statement *build_let(Parser *parser, Range range, NameList names, Expression *value) {
    Statement *statement = build_statement(parser, STATEMENT_let, range, value);
    statement->names = names;
    return statement;
}

Statement *build_blocks(Statement *statement, StatementList body, StatementList otherwise) {
    statement->body = body;
    statement->otherwise = otherwise;
    vector_each(Statement *, child, body) deepen(&statement->depth, (*child)->depth);
    vector_each(Statement *, child, otherwise) deepen(&statement->depth, (*child)->depth);
    return statement;
}

/* `else if` nests without brackets. */
Statement *build_else_if(Parser *parser, Statement *statement, StatementList body,
                         Statement *next) {
    StatementList otherwise = {0};
    if (next->depth < NESTING_LIMIT) vector_push(parser->arena, &otherwise, next);
    else diagnostic_add(parser->diagnostics, E0105, next->range, "too many `else if`");
    return build_blocks(statement, body, otherwise);
}

/* `relu(x)` alone reads as the action `relu` of `(x)`. */
Statement *build_action(Parser *parser, Token name, Expression *value, Range range) {
    bool known = !strcmp(name.text, "evaluate") || !strcmp(name.text, "save") ||
                 !strcmp(name.text, "print") || !strcmp(name.text, "require");
    bool is_call = name.range.source->text[name.range.end] == '(';
    if (is_call && !known)
        report_syntax(parser, range, "a call alone has no effect",
                      arena_format(parser->arena,
                                   "give the result a name, `let y = %s(…)`, "
                                   "or `return` it",
                                   name.text));
    return build_named_statement(parser, STATEMENT_action, range, name, NULL,
                                 is_call && !known ? build_hole(parser, range) : value);
}

/* Without terminators, only line ends keep statements apart for readers. */
void check_apart(Parser *parser, const Statement *statement) {
    const char *text = statement->range.source->text;
    uint32_t at = statement->range.begin;
    while (at && strchr(" \t\r", text[at - 1]) && text[at - 1]) at--;
    if (!at || strchr("\n;{}", text[at - 1])) return;
    report_syntax(
        parser,
        (Range){statement->range.source, statement->range.begin, statement->range.begin + 1},
        "a statement begins on a new line, or behind `;`", NULL);
}

Declaration *build_declaration(Parser *parser, DeclarationKind kind, Range range, Token name,
                               Expression *value) {
    Declaration *declaration = arena_new_item(parser->arena, Declaration);
    declaration->kind = kind;
    declaration->range = range;
    declaration->name = token_name(name);
    declaration->value = value;
    return declaration;
}

Declaration *build_broken(Parser *parser, DeclarationKind kind, Range range, Token name,
                          Expression *value) {
    Declaration *declaration = build_declaration(parser, kind, range, name, value);
    declaration->broken = true;
    return declaration;
}
