/* Parser: tokens to a tree. Actions only build; no name is looked up.
 *
 * Errors: `bad` stands where something could not be parsed. Its action has the token stream skip
 * to where the enclosing bracket ends or the next statement or declaration begins, so every rule
 * with `bad` stands directly behind an opening bracket, or runs to the end of a statement or
 * declaration. What was known by then stays in the tree. */
%code requires {
#include "lang/build.h"
#include "lang/mistake.h"
}

%code {
/* The longest chain of right recursion (`not not …`, `a^b^…`) that is read; DEPTH_LIMIT ends
 * first in all but hostile input. */
#define YYMAXDEPTH 20000

#define YYLLOC_DEFAULT(current, symbols, count) \
    ((current) = (count) ? range_join(YYRHSLOC(symbols, 1), YYRHSLOC(symbols, count)) \
                         : (Range){YYRHSLOC(symbols, 0).source, YYRHSLOC(symbols, 0).end, \
                                   YYRHSLOC(symbols, 0).end})

static int yylex(YYSTYPE *value, YYLTYPE *location, Parser *parser);
static void yyerror(YYLTYPE *location, Parser *parser, const char *message);
}

%require "3.8"
%define api.pure full
%define api.prefix {flow_}
%define api.token.prefix {TOKEN_}
%define api.location.type {Range}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {Parser *parser}
%initial-action { @$ = (Range){parser->tokens->source, 0, 0}; }

%union {
    Token token;
    Operator operator;
    DeclarationKind kind;
    StatementKind statement_kind;
    Expression *expression;
    ExpressionList expressions;
    ArgumentList arguments;
    Argument argument;
    Annotation annotation;
    AnnotationList annotations;
    TypeTree *type;
    FieldType field;
    FieldTypeList fields;
    NameList names;
    Statement *statement;
    StatementList statements;
    Parameter parameter;
    ParameterList parameters;
    Declaration *declaration;
}

%token END 0 "the end of the file"
%token PROGRAM EXPRESSION /* which text follows */
%token <token> NAME "a name" NUMBER "a number" STRING "a string" UNKNOWN_SIZE "a size"
%token <token> IMPORT "import" OPTION "option" DIM "dim" CONST "const" EXTERN "extern" FN "fn"
%token <token> MODEL "model"
%token <token> PIPELINE "pipeline" TRAIN "train" EXPORT "export"
%token <token> LET "let" WEIGHT "weight" STATE "state" RETURN "return" REPEAT "repeat" SCAN "scan" ON "on"
%token <token> FIT "fit"
%token <token> IF "if" ELSE "else" EVERY "every" IN "in" NEW "new"
%token <token> TRUE "true" FALSE "false" AND "and" OR "or" NOT "not"
%token PIPE "|>" ARROW "->" RANGE ".." ELLIPSIS "..."
%token OF /* between `sum(k)` and what is summed */
%token EQUAL "==" NOT_EQUAL "!=" LESS_EQUAL "<=" GREATER_EQUAL ">="

%type <token> label name
%type <operator> comparing
%type <kind> function_word
%type <statement_kind> owned
%type <expression> expression pipe stage disjunction conjunction negation comparison sum term product
%type <expression> unary power postfix primary call passes item slice bound bad place choice
%type <expressions> items item_list slices
%type <arguments> arguments argument_list
%type <argument> argument
%type <annotation> annotation
%type <annotations> annotations
%type <type> type plain_type result
%type <field> field
%type <fields> fields
%type <names> names
%type <statement> statement if
%type <statements> statements block
%type <parameter> parameter
%type <parameters> parameters parameter_list signature
%type <declaration> declaration

%%

text:
    PROGRAM declarations { (void)yynerrs; } /* else unused, says clang */
  | EXPRESSION expression { parser->expression = $2; }
  | EXPRESSION bad        { parser->expression = $2; }
  ;

bad: error {
        $$ = build_hole(parser, @error);
        if (!tokens_recover(parser->tokens)) YYABORT;
        yyclearin;
        yyerrok;
    }
  ;

/* Declarations */

declarations:
    %empty
  | declarations declaration {
        $declaration->range = @declaration;
        vector_push(parser->arena, &parser->tree->declarations, $declaration);
    }
  | declarations bad
  ;

declaration:
    IMPORT STRING { $$ = build_declaration(parser, DECLARATION_import, @$, (Token){0},
                                 build_string(parser, $STRING)); }
  | OPTION NAME '=' expression {
        $$ = build_declaration(parser, DECLARATION_option, @$, $NAME, $4); }
  | OPTION NAME '=' expression STRING {
        $$ = build_declaration(parser, DECLARATION_option, @$, $NAME, $4);
        $$->help = $STRING.text;
    }
  | OPTION NAME bad { $$ = build_broken(parser, DECLARATION_option, @$, $NAME, $bad); }
  | DIM NAME '=' expression { $$ = build_declaration(parser, DECLARATION_dim, @$, $NAME, $4); }
  | DIM NAME "<=" expression {
        $$ = build_declaration(parser, DECLARATION_dim, @$, $NAME, $4);
        $$->bounded = true;
    }
  | DIM NAME bad { $$ = build_broken(parser, DECLARATION_dim, @$, $NAME, $bad); }
  | CONST NAME '=' expression { $$ = build_declaration(parser, DECLARATION_const, @$, $NAME, $4); }
  | CONST NAME bad { $$ = build_broken(parser, DECLARATION_const, @$, $NAME, $bad); }
  | TRAIN name block {
        $$ = build_declaration(parser, DECLARATION_train, @$, $name, NULL);
        $$->body = $block;
    }
  | TRAIN NAME bad { $$ = build_broken(parser, DECLARATION_train, @$, $NAME, NULL); }
  | function_word name signature result block {
        $$ = build_declaration(parser, $function_word, @$, $name, NULL);
        $$->parameters = $signature;
        $$->result = $result;
        $$->body = $block;
        $$->broken = $signature.count && !$signature.items[0].name.text;
        if ($$->broken) $$->parameters = (ParameterList){0};
    }
  | function_word NAME bad { $$ = build_broken(parser, $function_word, @$, $NAME, NULL); }
  | EXTERN FN NAME signature "->" type {
        $$ = build_declaration(parser, DECLARATION_fn, @$, $NAME, NULL);
        $$->external = true;
        $$->parameters = $signature;
        $$->result = $type;
        $$->broken = $signature.count && !$signature.items[0].name.text;
        if ($$->broken) $$->parameters = (ParameterList){0};
    }
  | EXTERN FN NAME bad {
        $$ = build_broken(parser, DECLARATION_fn, @$, $NAME, NULL);
        $$->external = true;
    }
  ;

name: NAME | FIT ;

function_word:
    FN       { $$ = DECLARATION_fn; }
  | MODEL    { $$ = DECLARATION_model; }
  | PIPELINE { $$ = DECLARATION_pipeline; }
  | EXPORT   { $$ = DECLARATION_export; }
  ;

signature:
    %empty             { $$ = (ParameterList){0}; }
  | '(' parameters ')' { $$ = $parameters; }
  | '(' bad ')'        { $$ = (ParameterList){0};
                         vector_push(parser->arena, &$$, (Parameter){.value = $bad}); }
  ;

parameters:
    %empty             { $$ = (ParameterList){0}; }
  | parameter_list
  | parameter_list ','
  ;

parameter_list:
    parameter { $$ = (ParameterList){0}; vector_push(parser->arena, &$$, $1); }
  | parameter_list ',' parameter { $$ = $1; vector_push(parser->arena, &$$, $3); }
  ;

parameter:
    NAME                         { $$ = (Parameter){token_name($NAME), NULL, NULL}; }
  | NAME ':' type                { $$ = (Parameter){token_name($NAME), $type, NULL}; }
  | NAME ':' type '=' expression { $$ = (Parameter){token_name($NAME), $type, $expression}; }
  | NAME '=' expression          { $$ = (Parameter){token_name($NAME), NULL, $expression}; }
  ;

result:
    %empty    { $$ = NULL; }
  | "->" type { $$ = $type; }
  ;

/* Types */

type:
    plain_type
  | plain_type IN sum ".." sum { $$ = build_bounded_type($1, $3, $5, @$); }
  | '(' fields ')'             { $$ = build_record_type(parser, $fields, @$); }
  | '(' fields ',' ')'         { $$ = build_record_type(parser, $fields, @$); }
  | '(' bad ')'                { $$ = build_bad_type(parser, @$); }
  ;

plain_type:
    NAME               { $$ = build_type(parser, @$); $$->element = token_name($NAME); }
  | NAME '[' items ']' { $$ = build_shaped_type(parser, $NAME, $items, @$); }
  | NAME '[' bad ']'   { $$ = build_bad_type(parser, @$); }
  ;

fields:
    field            { $$ = (FieldTypeList){0}; vector_push(parser->arena, &$$, $1); }
  | fields ',' field { $$ = $1; vector_push(parser->arena, &$$, $3); }
  ;

field:
    type          { $$ = (FieldType){.type = $type}; }
  | NAME ':' type { $$ = (FieldType){token_name($NAME), $type}; }
  ;

/* Statements */

block: '{' statements '}' { $$ = $statements; } ;

statements:
    %empty         { $$ = (StatementList){0}; }
  | statements statement {
        $$ = $1;
        check_apart(parser, $statement);
        vector_push(parser->arena, &$$, $statement);
    }
  | statements ';'
  | statements bad
  ;

statement:
    LET NAME '=' expression {
        $$ = build_named_statement(parser, STATEMENT_let, @$, $NAME, NULL, $expression); }
  | LET NAME ':' type '=' expression {
        $$ = build_named_statement(parser, STATEMENT_let, @$, $NAME, $type, $expression); }
  | LET NAME '[' slices ']' '=' expression {
        $$ = build_named_statement(parser, STATEMENT_let, @$, $NAME, NULL, $expression);
        $$->indices = $slices;
    }
  | LET NAME bad { $$ = build_named_statement(parser, STATEMENT_let, @$, $NAME, NULL, $bad); }
  | LET '(' names ')' '=' expression { $$ = build_let(parser, @$, $names, $expression); }
  | LET '(' names ')' bad            { $$ = build_let(parser, @$, $names, $bad); }
  | LET '(' bad ')' '=' expression   { $$ = build_let(parser, @$, (NameList){0}, $bad); }
  | NAME '=' expression {
        $$ = build_named_statement(parser, STATEMENT_assign, @$, $NAME, NULL, $expression); }
  | NAME '=' bad { $$ = build_named_statement(parser, STATEMENT_assign, @$, $NAME, NULL, $bad); }
  | NAME STRING '=' expression {
        $$ = build_named_statement(parser, STATEMENT_assign, @$, $NAME, NULL, $expression);
        $$->pattern = $STRING.text;
    }
  | NAME expression { $$ = build_action(parser, $NAME, $expression, @$); }
  | owned NAME ':' type {
        $$ = build_named_statement(parser, $owned, @$, $NAME, $type, NULL); }
  | owned NAME ':' type '=' expression {
        $$ = build_named_statement(parser, $owned, @$, $NAME, $type, $expression); }
  | owned NAME ':' type '=' bad {
        $$ = build_named_statement(parser, $owned, @$, $NAME, $type, $bad); }
  | owned NAME bad { $$ = build_named_statement(parser, $owned, @$, $NAME, NULL, $bad); }
  | RETURN expression { $$ = build_statement(parser, STATEMENT_return, @$, $expression); }
  | RETURN bad        { $$ = build_statement(parser, STATEMENT_return, @$, $bad); }
  | REPEAT NAME IN expression block {
        $$ = build_named_statement(parser, STATEMENT_repeat, @$, $NAME, NULL, $expression);
        $$ = build_blocks($$, $block, (StatementList){0});
    }
  | SCAN NAME IN expression block {
        $$ = build_named_statement(parser, STATEMENT_scan, @$, $NAME, NULL, $expression);
        $$ = build_blocks($$, $block, (StatementList){0});
    }
  | ON place block {
        $$ = build_blocks(build_statement(parser, STATEMENT_on, @$, $place), $block,
                         (StatementList){0});
    }
  | FIT block {
        $$ = build_blocks(build_statement(parser, STATEMENT_fit, @$, NULL), $block,
                         (StatementList){0});
    }
  | EVERY expression NAME block {
        $$ = build_named_statement(parser, STATEMENT_every, @$, $NAME, NULL, $expression);
        $$ = build_blocks($$, $block, (StatementList){0});
    }
  | if
  ;

owned:
    WEIGHT { $$ = STATEMENT_weight; }
  | STATE  { $$ = STATEMENT_state; }
  ;

if:
    IF expression block {
        $$ = build_blocks(build_statement(parser, STATEMENT_if, @$, $expression), $block,
                         (StatementList){0});
    }
  | IF expression block ELSE block[otherwise] {
        $$ = build_blocks(build_statement(parser, STATEMENT_if, @$, $expression), $3, $otherwise);
    }
  | IF expression block ELSE if[next] {
        $$ = build_statement(parser, STATEMENT_if, @$, $expression);
        $$ = build_else_if(parser, $$, $block, $next);
    }
  ;

place:
    call
  | NAME { $$ = build_call(parser, $NAME, (ArgumentList){0}, @$); }
  ;

names:
    NAME           { $$ = (NameList){0}; vector_push(parser->arena, &$$, token_name($NAME)); }
  | names ',' NAME { $$ = $1; vector_push(parser->arena, &$$, token_name($NAME)); }
  ;

/* Expressions, from loose to tight */

expression: pipe ;

pipe:
    stage
  | pipe "|>" call annotations { $$ = build_pipe(parser, $1,
                                                build_annotated(parser, $call, $annotations,
                                                         range_join(@call, @annotations))); }
  | pipe "|>" passes annotations { $$ = build_pipe(parser, $1,
                                                build_annotated(parser, $passes, $annotations,
                                                         range_join(@passes, @annotations))); }
  | pipe "|>" ':' type         { $$ = build_assert(parser, $1, $type, @$); }
  | pipe "|>" NAME             { $$ = build_pipe_into_name(parser, $1, $NAME); }
  ;

stage: disjunction annotations { $$ = build_annotated(parser, $1, $annotations, @$); } ;

annotations:
    %empty                 { $$ = (AnnotationList){0}; }
  | annotations annotation { $$ = $1; vector_push(parser->arena, &$$, $annotation); }
  ;

annotation:
    '@' NAME               { $$ = (Annotation){.name = token_name($NAME), .range = @$}; }
  | '@' NAME '(' items ')' { $$ = (Annotation){token_name($NAME), $items, @$}; }
  | '@' NAME '(' bad ')'   { $$ = (Annotation){.name = token_name($NAME), .range = @$};
                             vector_push(parser->arena, &$$.arguments, $bad); }
  ;

disjunction:
    conjunction
  | disjunction OR conjunction { $$ = build_binary(parser, OPERATOR_or, $1, $3); }
  ;

conjunction:
    negation
  | conjunction AND negation { $$ = build_binary(parser, OPERATOR_and, $1, $3); }
  ;

negation:
    comparison
  | NOT negation { $$ = build_unary(parser, OPERATOR_not, $2, @$); }
  ;

comparison:
    sum
  | sum comparing sum { $$ = build_binary(parser, $comparing, $1, $3); }
  | sum comparing sum comparing sum {
        report_syntax(parser, @4, "comparisons do not chain", "write `a < b and b < c`");
        $$ = build_hole(parser, @$);
    }
  ;

comparing:
    "==" { $$ = OPERATOR_equal; }
  | "!=" { $$ = OPERATOR_not_equal; }
  | '<'  { $$ = OPERATOR_less; }
  | "<=" { $$ = OPERATOR_less_equal; }
  | '>'  { $$ = OPERATOR_greater; }
  | ">=" { $$ = OPERATOR_greater_equal; }
  ;

sum:
    term
  | sum '+' term { $$ = build_binary(parser, OPERATOR_add, $1, $3); }
  | sum '-' term { $$ = build_binary(parser, OPERATOR_subtract, $1, $3); }
  ;

term:
    product
  | call OF term { $$ = build_reduce(parser, $call, $3); }
  ;

product:
    unary
  | product '*' unary { $$ = build_binary(parser, OPERATOR_multiply, $1, $3); }
  | product '/' unary { $$ = build_binary(parser, OPERATOR_divide, $1, $3); }
  ;

unary:
    power
  | '-' unary { $$ = build_unary(parser, OPERATOR_negate, $2, @$); }
  ;

power:
    postfix
  | postfix '^' unary { $$ = build_binary(parser, OPERATOR_power, $1, $3); }
  ;

postfix:
    primary
  | postfix '.' label                   { $$ = build_field(parser, $1, $label, @$); }
  | postfix '.' label '(' arguments ')' { $$ = build_method(parser, $1, $label, $arguments, @6); }
  | postfix '[' slices ']'              { $$ = build_index(parser, $1, $slices, @$); }
  | postfix '[' bad ']'                 { $$ = build_hole(parser, @$); }
  ;

primary:
    NUMBER            { $$ = build_number(parser, $1); }
  | STRING            { $$ = build_string(parser, $1); }
  | NAME              { $$ = build_name(parser, $1, $1.text); }
  | TRUE              { $$ = build_name(parser, $1, "true"); }
  | FALSE             { $$ = build_name(parser, $1, "false"); }
  | call
  | NEW call          { $$ = build_new(parser, $call, @$); }
  | choice
  | '(' arguments ')' { $$ = build_group(parser, $arguments, @$); }
  | '(' bad ')'       { $$ = build_hole(parser, @$); }
  | '[' items ']'     { $$ = build_list(parser, $items, @$); }
  | '[' bad ']'       { $$ = build_hole(parser, @$); }
  ;

choice:
    IF expression '{' expression[a] '}' ELSE '{' expression[b] '}' {
        $$ = build_choice(parser, $2, $a, $b, @$); }
  | IF expression '{' expression[a] '}' ELSE choice[b] {
        $$ = build_choice(parser, $2, $a, $b, @$); }
  ;

call:
    NAME '(' arguments ')' { $$ = build_call(parser, $NAME, $arguments, @$); }
  | NAME '(' bad ')'       { $$ = build_bad_call(parser, $NAME, $bad, @$); }
  ;

passes:
    REPEAT '(' arguments ')' { $$ = build_call(parser, $REPEAT, $arguments, @$); }
  | REPEAT '(' bad ')'       { $$ = build_bad_call(parser, $REPEAT, $bad, @$); }
  ;

arguments:
    %empty            { $$ = (ArgumentList){0}; }
  | argument_list
  | argument_list ','
  ;

argument_list:
    argument                   { $$ = (ArgumentList){0}; vector_push(parser->arena, &$$, $1); }
  | argument_list ',' argument { $$ = $1; vector_push(parser->arena, &$$, $3); }
  ;

argument:
    expression           { $$ = (Argument){.value = $1}; }
  | "..."                { $$ = (Argument){.value = build_ellipsis(parser, @$)}; }
  | label ':' expression { $$ = (Argument){token_name($label), $3}; }
  | label '=' expression { $$ = (Argument){token_name($label), $3}; }
  ;

/* What a field or a named argument may be called: also words that could not begin a value. */
label:
    NAME
  | IN  { $$ = $1; }
  | NEW { $$ = $1; }
  ;

items:
    %empty        { $$ = (ExpressionList){0}; }
  | item_list
  | item_list ','
  ;

item_list:
    item               { $$ = (ExpressionList){0}; vector_push(parser->arena, &$$, $1); }
  | item_list ',' item { $$ = $1; vector_push(parser->arena, &$$, $3); }
  ;

item:
    expression
  | "..."        { $$ = build_ellipsis(parser, @$); }
  | UNKNOWN_SIZE { $$ = build_name(parser, $1, $1.text); }
  ;

slices:
    slice            { $$ = (ExpressionList){0}; vector_push(parser->arena, &$$, $1); }
  | slices ',' slice { $$ = $1; vector_push(parser->arena, &$$, $3); }
  ;

slice:
    expression
  | "..."                     { $$ = build_ellipsis(parser, @$); }
  | bound ':' bound           { $$ = build_slice(parser, $1, $3, NULL, @$); }
  | bound ':' bound ':' bound { $$ = build_slice(parser, $1, $3, $5, @$); }
  ;

bound:
    %empty     { $$ = NULL; }
  | expression
  ;

%%

static bool is_reduction(const Token *token) {
    static const char *const names[] = {"sum", "max", "min", "prod", "mean"};
    for (size_t i = 0; token->kind == TOKEN_NAME && i < sizeof names / sizeof *names; i++)
        if (!strcmp(token->text, names[i])) return true;
    return false;
}

/* `sum(k)` is followed by what is summed when that stands in the same line. */
static bool follows_reduction(const Parser *parser) {
    int kind = parser->next.kind;
    bool begins = kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == '(';
    return parser->closed_reduction && begins && !parser->next.first_on_line;
}

static void note_bracket(Parser *parser) {
    const Tokens *tokens = parser->tokens;
    if (parser->next.kind == '(') parser->reduces[tokens->depth] = is_reduction(&tokens->previous);
    parser->closed_reduction = parser->next.kind == ')' && parser->reduces[tokens->depth + 1];
}

/* The first token says which kind of text follows. */
static int yylex(YYSTYPE *value, YYLTYPE *location, Parser *parser) {
    *location = (Range){parser->tokens->source, 0, 0};
    int start = parser->start;
    parser->start = 0;
    if (start) return start;
    if (!parser->held) parser->next = tokens_next(parser->tokens);
    bool reduces = !parser->held && follows_reduction(parser);
    parser->held = reduces;
    value->token = parser->next;
    *location = value->token.range;
    if (reduces) return TOKEN_OF;
    note_bracket(parser);
    return value->token.kind;
}

/* Only reached when the parser's stack is full. */
static void yyerror(YYLTYPE *location, Parser *parser, const char *message) {
    (void)message;
    diagnostic_add(parser->diagnostics, E0105, *location, "too deep to be read");
}

typedef struct Expected {
    bool symbols[YYNTOKENS];
    const char *phrase; /* "an expression", for all that begins one; or NULL */
} Expected;

/* Takes all of the symbols away. */
static void forget(Expected *expected, const yysymbol_kind_t *symbols, size_t count) {
    for (size_t i = 0; i < count; i++) expected->symbols[symbols[i]] = false;
}
#define FORGET(expected, ...) \
    forget(expected, (const yysymbol_kind_t[]){__VA_ARGS__}, \
           sizeof((const yysymbol_kind_t[]){__VA_ARGS__}) / sizeof(yysymbol_kind_t))

static Expected collect_expected(const yypcontext_t *context) {
    Expected expected = {0};
    yysymbol_kind_t symbols[YYNTOKENS];
    int count = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    for (int i = 0; i < count; i++) expected.symbols[symbols[i]] = true;
    return expected;
}

#define SYMBOL(token) YYTRANSLATE(TOKEN_##token)

/* Leaves what a reader wants to hear: that an operator could also follow goes without saying.
 * False when all is left that could begin or go on anything. */
static bool simplify(Expected *expected, bool after_let) {
    bool *symbols = expected->symbols;
    bool continues = symbols[YYTRANSLATE('+')], begins = symbols[SYMBOL(NUMBER)];
    bool statement = symbols[SYMBOL(LET)], declaration = symbols[SYMBOL(FN)];
    bool type = symbols[SYMBOL(NAME)] && symbols[YYTRANSLATE('(')] && !after_let;
    if (continues && (statement || declaration)) return false;
    if (begins) expected->phrase = "an expression";
    else if (statement) expected->phrase = "a statement";
    else if (declaration) expected->phrase = "a declaration";
    else if (type && !continues) expected->phrase = "a type";
    FORGET(expected, YYTRANSLATE('+'), YYTRANSLATE('*'), YYTRANSLATE('/'), YYTRANSLATE('^'),
           YYTRANSLATE('<'), YYTRANSLATE('>'), YYTRANSLATE('.'), YYTRANSLATE('@'), SYMBOL(EQUAL),
           SYMBOL(NOT_EQUAL), SYMBOL(LESS_EQUAL), SYMBOL(GREATER_EQUAL), SYMBOL(AND), SYMBOL(OR),
           SYMBOL(PIPE), YYTRANSLATE(';'), SYMBOL(LET), SYMBOL(WEIGHT), SYMBOL(STATE),
           SYMBOL(RETURN), SYMBOL(REPEAT), SYMBOL(SCAN), SYMBOL(ON), SYMBOL(FIT), SYMBOL(IF),
           SYMBOL(EVERY), SYMBOL(IMPORT), SYMBOL(OPTION), SYMBOL(DIM),
           SYMBOL(CONST), SYMBOL(EXTERN), SYMBOL(FN), SYMBOL(MODEL), SYMBOL(PIPELINE),
           SYMBOL(TRAIN), SYMBOL(EXPORT), SYMBOL(END), SYMBOL(OF));
    if (symbols[SYMBOL(NAME)] || begins) FORGET(expected, SYMBOL(IN), SYMBOL(NEW));
    if (continues || expected->phrase || after_let)
        FORGET(expected, YYTRANSLATE('('), YYTRANSLATE('['), YYTRANSLATE('-'));
    if (symbols[YYTRANSLATE('=')]) FORGET(expected, YYTRANSLATE('[')); /* few lets have indices */
    if (expected->phrase)
        FORGET(expected, SYMBOL(NAME), SYMBOL(NUMBER), SYMBOL(STRING), SYMBOL(NOT), SYMBOL(TRUE),
               SYMBOL(FALSE), SYMBOL(ELLIPSIS), SYMBOL(UNKNOWN_SIZE));
    if (continues && symbols[YYTRANSLATE(',')])
        FORGET(expected, YYTRANSLATE(':'), YYTRANSLATE('='));
    return true;
}

/* A symbol as a reader knows it: 'c' and words of the language in backticks. */
static const char *symbol_text(Arena *arena, yysymbol_kind_t symbol) {
    const char *name = yysymbol_name(symbol);
    bool described = !strncmp(name, "a ", 2) || !strncmp(name, "the ", 4);
    if (described) return name;
    if (name[0] == '\'') return arena_format(arena, "`%c`", name[1]);
    return arena_format(arena, "`%s`", name);
}

enum { EXPECTED_LIMIT = 5 }; /* a longer list says nothing */

/* "expected `,` or `)`", or NULL. */
static const char *expected_text(Arena *arena, const yypcontext_t *context, bool after_let) {
    const char *texts[EXPECTED_LIMIT];
    size_t count = 0;
    Expected expected = collect_expected(context);
    if (!simplify(&expected, after_let)) return NULL;
    if (expected.phrase) texts[count++] = expected.phrase;
    for (int i = 0; i < YYNTOKENS; i++) {
        if (!expected.symbols[i]) continue;
        if (count == EXPECTED_LIMIT) return NULL;
        texts[count++] = symbol_text(arena, (yysymbol_kind_t)i);
    }
    Text text = text_new(arena);
    for (size_t i = 0; i < count; i++)
        text_format(&text, "%s%s", i == 0 ? "expected " : i + 1 < count ? ", " : " or ", texts[i]);
    return count ? text_string(&text) : NULL;
}

static int yyreport_syntax_error(const yypcontext_t *context, Parser *parser) {
    const Tokens *tokens = parser->tokens;
    if (tokens->current.injected || tokens->current.spoiled) return 0;
    bool after_let = tokens->previous.kind == TOKEN_LET;
    report_mistake(parser, expected_text(parser->arena, context, after_let));
    return 0;
}

static bool fits(const Source *source, Diagnostics *diagnostics) {
    if (source->size <= SOURCE_SIZE_LIMIT) return true;
    diagnostic_add(diagnostics, E0002, (Range){source, 0, 0}, "more than %d MiB",
                   SOURCE_SIZE_LIMIT >> 20);
    return false;
}

static void run(Parser *parser, Range part) {
    if (!fits(part.source, parser->diagnostics)) return;
    parser->tokens = tokens_new(parser->arena, part, parser->diagnostics);
    parser->tokens->whole_program = parser->start == TOKEN_PROGRAM;
    yyparse(parser);
    tokens_free(parser->tokens);
}

Tree *parse_part(Arena *arena, Range part, Diagnostics *diagnostics) {
    Parser parser = {arena, diagnostics, .start = TOKEN_PROGRAM};
    parser.tree = arena_new_item(arena, Tree);
    parser.tree->source = part.source;
    run(&parser, part);
    return parser.tree;
}

Tree *parse(Arena *arena, const Source *source, Diagnostics *diagnostics) {
    return parse_part(arena, (Range){source, 0, source->size}, diagnostics);
}

Expression *parse_expression(Arena *arena, const Source *source, Diagnostics *diagnostics) {
    Parser parser = {arena, diagnostics, .start = TOKEN_EXPRESSION};
    run(&parser, (Range){source, 0, source->size});
    return parser.expression ? parser.expression : build_hole(&parser, (Range){source, 0, 0});
}
