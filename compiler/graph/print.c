/* Print: a graph as text, one node a line. parse.c describes the form. */
#include "compiler/graph/build.h"
#include "compiler/graph/print.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"
#include "lang/base/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMMENT_COLUMN = 64 };

static void quoted_print(const char *string, Text *text) {
    text_add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at; at++) {
        if (*at == '"' || *at == '\\') text_format(text, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f) text_format(text, "\\x%02x", *at);
        else text_add_bytes(text, (const char *)at, 1);
    }
    text_add(text, "\"");
}

/* With as few digits as read back to the same number of that type. */
void number_print(double number, Element element, Text *text) {
    char digits[40];
    if (isnan(number)) {
        text_add(text, "nan");
        return;
    }
    if (element_info[element].class == CLASS_integer) {
        text_format(text, "%.0f", number);
        return;
    }
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (element_round(element, strtod(digits, NULL)) == number) break;
    }
    text_add(text, digits);
}

bool range_is_of_program(Range range) {
    if (!range.source) return false;
    const char *suffix = strrchr(range.source->path, '.');
    return !suffix || strcmp(suffix, ".graph") != 0;
}

void place_print(Range range, Text *text) {
    text_format(text, "%s:%u", path_name(range.source->path),
                source_position(range.source, range.begin).line);
}

/* Symbols. */

typedef struct Symbols {
    Text *text;
    Map printed;
} Symbols;

static void print_bound(Dim symbol, Text *text) {
    text_add(text, dim_symbol_name(symbol));
    if (dim_bound(symbol) != SIZE_UNKNOWN)
        text_format(text, " <= %lld", (long long)dim_bound(symbol));
}

/* A symbol of bound 1 is printed as 1 wherever it is used. */
static void declare_symbol(Dim symbol, void *context) {
    Symbols *symbols = context;
    const char *name = dim_symbol_name(symbol);
    if (dim_bound(symbol) == 1 || map_get(&symbols->printed, name)) return;
    map_put(&symbols->printed, name, symbols);
    text_add(symbols->text, "  dim ");
    print_bound(symbol, symbols->text);
    text_add(symbols->text, "\n");
}

static void declare_symbols_of_external(const External *external, Symbols *symbols) {
    vector_each(Dim, size, external->sizes) dim_each_symbol(*size, declare_symbol, symbols);
    vector_each(Type, type, external->results)
        for (int i = 0; i < type->rank; i++)
            dim_each_symbol(type->dims[i], declare_symbol, symbols);
}

static void declare_symbols(const Graph *graph, Symbols *symbols) {
    vector_each(Node, node, graph->nodes) {
        for (int i = 0; i < node->type.rank; i++)
            dim_each_symbol(node->type.dims[i], declare_symbol, symbols);
        for (int i = 0; node->op == OP_view && i < node->view->rank; i++)
            dim_each_symbol(node->view->coordinates[i].start, declare_symbol, symbols);
        if (node->op == OP_extern) declare_symbols_of_external(node->external, symbols);
        if (node->op != OP_scan) continue;
        dim_each_symbol(node->scan->turns, declare_symbol, symbols);
        declare_symbols(node->scan->body, symbols);
    }
}

static void print_header(const Graph *graph, Text *text) {
    Symbols symbols = {text, map_new(text->arena)};
    text_add(text, "graph ");
    quoted_print(graph->name ? graph->name : "", text);
    if (graph->batch) {
        text_add(text, " batch ");
        print_bound(graph->batch, text);
        map_put(&symbols.printed, dim_symbol_name(graph->batch), text);
    }
    text_add(text, "\n");
    declare_symbols(graph, &symbols);
}

/* Nodes. */

/* What is printed where: nodes behind so many steps, and whether they say where they come from. */
typedef struct Form {
    int depth;
    bool places;
} Form;

static void print_lines(const Graph *graph, Form form, Text *text);

static void print_scan(const Scan *scan, Form form, Text *text) {
    text_add(text, " turns=");
    dim_print(scan->turns, text);
    text_format(text, " carried=%d scanned=%d shared=%d%s {\n", scan->carried, scan->scanned,
                scan->shared, scan->backwards ? " backwards" : "");
    print_lines(scan->body, (Form){form.depth + 1, form.places}, text);
    text_format(text, "%*s}", 2 * form.depth, "");
}

static void print_external(const External *external, Text *text) {
    text_add(text, " ");
    quoted_print(external->name, text);
    text_add(text, " sizes=[");
    vector_each(Dim, size, external->sizes) {
        if (size != external->sizes.items) text_add(text, ", ");
        dim_print(*size, text);
    }
    text_add(text, "] gives=[");
    vector_each(Type, type, external->results) {
        if (type != external->results.items) text_add(text, ", ");
        type_print(type, text);
    }
    text_add(text, "]");
}

static void print_axes(uint32_t axes, Text *text) {
    const char *before = " axes=[";
    for (int i = 0; i < RANK_LIMIT; i++) {
        if (!(axes >> i & 1)) continue;
        text_format(text, "%s%d", before, i);
        before = ", ";
    }
    text_add(text, axes ? "]" : " axes=[]");
}

static void print_view(const Graph *graph, const Node *node, Text *text) {
    const Type *operand = &graph_node(graph, node->inputs[0])->type;
    text_add(text, " ");
    view_print(node->view, text);
    if (!view_is_guarded(graph->dimensions, node->view, operand, &node->type)) return;
    text_add(text, " fill ");
    number_print(node->view->fill, node->type.element, text);
}

static void print_attributes(const Graph *graph, const Node *node, Form form, Text *text) {
    switch (node->op) {
    case OP_scan: print_scan(node->scan, form, text); return;
    case OP_extern: print_external(node->external, text); return;
    case OP_part: text_format(text, " %d", node->part); return;
    case OP_constant:
        text_add(text, " ");
        number_print(node->number, node->type.element, text);
        return;
    case OP_input:
    case OP_weight:
        text_add(text, " ");
        quoted_print(node->name, text);
        return;
    case OP_view: print_view(graph, node, text); return;
    case OP_check:
        text_format(text, " %lld..%lld name=", (long long)node->low, (long long)node->high);
        quoted_print(node->name ? node->name : "", text);
        return;
    case OP_random_uniform:
    case OP_random_normal: text_format(text, " stream=%lld", (long long)node->stream); return;
    default:
        if (op_info[node->op].class == LOOP_reduce) print_axes(node->axes, text);
    }
}

static void print_place(Range range, size_t line, Text *text) {
    if (!range_is_of_program(range)) return;
    do text_add(text, " ");
    while (text->size - line < COMMENT_COLUMN);
    text_add(text, "# ");
    place_print(range, text);
}

static void print_node(const Graph *graph, NodeId id, Form form, Text *text) {
    const Node *node = graph_node(graph, id);
    size_t line = text->size;
    text_format(text, "%*s%%%u = %s", 2 * form.depth, "", id, op_info[node->op].name);
    for (int i = 0; i < node->input_count; i++) text_format(text, " %%%u", node->inputs[i]);
    print_attributes(graph, node, form, text);
    text_add(text, " : ");
    type_print(&node->type, text);
    if (is_placed(&node->placement)) {
        text_add(text, " ");
        placement_print(&node->placement, text);
    }
    if (node->kernel != NO_KERNEL) text_format(text, " kernel=%d", node->kernel);
    if (form.places) print_place(node->range, node->op == OP_scan ? text->size : line, text);
    text_add(text, "\n");
}

static void print_output(const Output *output, int depth, Text *text) {
    text_format(text, "%*s%s", 2 * depth, "",
                output->kind == OUTPUT_update ? "update " : "result ");
    quoted_print(output->name ? output->name : "", text);
    text_format(text, " %%%u", output->value);
    if (output->kind == OUTPUT_update) text_format(text, " of %%%u", output->target);
    text_add(text, "\n");
}

static void print_lines(const Graph *graph, Form form, Text *text) {
    for (NodeId id = 0; id < graph->nodes.count; id++) print_node(graph, id, form, text);
    vector_each(Output, output, graph->outputs) print_output(output, form.depth, text);
}

void graph_print(const Graph *graph, Text *text) {
    print_header(graph, text);
    print_lines(graph, (Form){.depth = 1, .places = true}, text);
}

void graph_print_meaning(const Graph *graph, Text *text) {
    print_header(graph, text);
    print_lines(graph, (Form){.depth = 1}, text);
}
