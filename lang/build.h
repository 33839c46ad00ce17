/* Build: the nodes of a tree, for the parser's actions. Each gets its range and its depth;
 * what would be too deep becomes a hole. */
#ifndef FLOW_LANG_BUILD_H
#define FLOW_LANG_BUILD_H

#include "lang/tokens.h"
#include "lang/tree.h"

typedef struct Parser {
    Arena *arena;
    Diagnostics *diagnostics;
    Tokens *tokens;
    int start;              /* the first token handed out: which kind of text is parsed */
    Tree *tree;             /* of a program */
    Expression *expression; /* of an expression */
    bool too_deep;          /* was reported: once is enough */
    Token next;             /* the token handed out, or held back behind one put in between */
    bool held, closed_reduction;
    bool reduces[NESTING_LIMIT + 2]; /* of each open `(`: `sum` or its like stands before it */
} Parser;

void report_syntax(Parser *parser, Range range, const char *text, const char *help);
Expression *build_expression(Parser *parser, ExpressionKind kind, Range range);
Expression *build_ellipsis(Parser *parser, Range range);
Expression *build_hole(Parser *parser, Range range);
Name token_name(Token token);
Expression *build_name(Parser *parser, Token token, const char *text);
Expression *build_number(Parser *parser, Token token);
Expression *build_string(Parser *parser, Token token);
Expression *build_binary(Parser *parser, Operator operator, Expression * left, Expression *right);
Expression *build_unary(Parser *parser, Operator operator, Expression * operand, Range range);
Expression *build_call(Parser *parser, Token name, ArgumentList arguments, Range range);
Expression *build_annotated(Parser *parser, Expression *stage, AnnotationList annotations,
                            Range range);
Expression *build_pipe(Parser *parser, Expression *left, Expression *right);
Expression *build_pipe_into_name(Parser *parser, Expression *left, Token name);
Expression *build_assert(Parser *parser, Expression *left, TypeTree *type, Range range);
Expression *build_list(Parser *parser, ExpressionList items, Range range);
Expression *build_field(Parser *parser, Expression *left, Token name, Range range);
Expression *build_method(Parser *parser, Expression *left, Token name, ArgumentList arguments,
                         Range range);
Expression *build_index(Parser *parser, Expression *left, ExpressionList items, Range range);
Expression *build_slice(Parser *parser, Expression *from, Expression *to, Expression *step,
                        Range range);
Expression *build_new(Parser *parser, Expression *model, Range range);
Expression *build_choice(Parser *parser, Expression *condition, Expression *value,
                         Expression *otherwise, Range range);
Expression *build_reduce(Parser *parser, Expression *call, Expression *body);
Expression *build_group(Parser *parser, ArgumentList arguments, Range range);
Expression *build_bad_call(Parser *parser, Token name, Expression *bad, Range range);
TypeTree *build_type(Parser *parser, Range range);
TypeTree *build_bad_type(Parser *parser, Range range);
TypeTree *build_shaped_type(Parser *parser, Token name, ExpressionList dimensions, Range range);
TypeTree *build_bounded_type(TypeTree *type, Expression *low, Expression *high, Range range);
TypeTree *build_record_type(Parser *parser, FieldTypeList fields, Range range);
Statement *build_statement(Parser *parser, StatementKind kind, Range range, Expression *value);
Statement *build_named_statement(Parser *parser, StatementKind kind, Range range, Token name,
                                 TypeTree *type, Expression *value);
Statement *build_let(Parser *parser, Range range, NameList names, Expression *value);
Statement *build_blocks(Statement *statement, StatementList body, StatementList otherwise);
Statement *build_else_if(Parser *parser, Statement *statement, StatementList body, Statement *next);
Statement *build_action(Parser *parser, Token name, Expression *value, Range range);
/* Reports a statement that begins on the line of another. */
void check_apart(Parser *parser, const Statement *statement);
Declaration *build_declaration(Parser *parser, DeclarationKind kind, Range range, Token name,
                               Expression *value);
/* Only its name is sure. */
Declaration *build_broken(Parser *parser, DeclarationKind kind, Range range, Token name,
                          Expression *value);

#endif
