/* Parse: inside graph/, the reader of graph text. The first error sets `failed`, and every later
 * step does nothing. */
#ifndef FLOW_GRAPH_PARSE_H
#define FLOW_GRAPH_PARSE_H

#include "compiler/graph/graph.h"

typedef struct Reader {
    Arena *arena;
    const Source *source;
    uint32_t at, begin; /* begin: of the last word */
    Diagnostics *diagnostics;
    Graph *graph;
    Map symbols; /* from a name to its Dim */
    int dim_steps;
    int depth; /* bodies around */
    bool failed;
} Reader;

/* parse_words.c */

void reader_fail(Reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next character; 0 at the end. */
char next_char(const Reader *reader);
bool is_decimal(char c);

/* Blanks, line ends and comments; what comes next begins a word. */
void skip_blanks(Reader *reader);
bool reader_at_end(Reader *reader);

/* Takes the punctuation, or the name, if it comes next. */
bool take_mark(Reader *reader, const char *mark);
bool take_name(Reader *reader, const char *name);
void expect_mark(Reader *reader, const char *mark);

/* The name that comes next, "" if none does. */
const char *read_name(Reader *reader);
int64_t read_integer(Reader *reader);
double read_number(Reader *reader);
const char *read_string(Reader *reader);

/* `%3`, a node that is there. */
NodeId read_id(Reader *reader);

/* parse_type.c */

Dim read_dim(Reader *reader);
Type read_type(Reader *reader);

/* A product of sizes, which a sum of a coordinate may hold. */
Dim read_product(Reader *reader);

typedef Dim Arithmetic(Dimensions *table, Dim a, Dim b);
Dim combine_sizes(Reader *reader, Arithmetic *operation, Dim a, Dim b);

/* parse_view.c: what follows `view %0`, and `transpose`, whose type goes with it. */
void read_view(Reader *reader, Node *node);
void read_transpose(Reader *reader, Node *node);

/* parse_node.c: everything behind its `%`. */
void read_node(Reader *reader);

/* parse.c: a node, a dimension or an output. */
void read_line(Reader *reader);

#endif
