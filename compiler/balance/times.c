/* Times: keys are FNV-1a hashes (G. Fowler, L. C. Noll, K.-P. Vo) of what is said of nodes in
 * words, so that they are the same in every program and process. */
#include "compiler/balance/times.h"

#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"
#include "runtime/bounds.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY_SIZE = 16, DATE_SIZE = 10, LONGEST = 4096 /* of a line */ };

/* Keys. */

typedef struct Hasher {
    Arena *arena;
    const Graph *graph;
    const NodeId *nodes; /* what is hashed; NULL: all of the graph */
    size_t count;
    uint64_t hash;
} Hasher;

static void add_text(Hasher *hasher, const char *text) {
    do hasher->hash = (hasher->hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
}

static void add_number(Hasher *hasher, double number) {
    add_text(hasher, arena_format(hasher->arena, "%a", number));
}

static void add_dim(Hasher *hasher, Dim dim) {
    Text text = text_new(hasher->arena);
    dim_print(dim, &text);
    add_text(hasher, text_string(&text));
}

static void add_view(Hasher *hasher, const View *view) {
    Text text = text_new(hasher->arena);
    view_print(view, &text);
    add_text(hasher, text_string(&text));
    add_number(hasher, view->fill);
}

/* Its place among the nodes; -1: another kernel's. */
static int place_of(const Hasher *hasher, NodeId id) {
    if (!hasher->nodes) return (int)id;
    for (size_t i = 0; i < hasher->count; i++)
        if (hasher->nodes[i] == id) return (int)i;
    return -1;
}

static void add_nodes(Hasher *hasher);

static void add_loop(Hasher *hasher, const Scan *scan) {
    Hasher body = {.arena = hasher->arena, .graph = scan->body, .hash = hasher->hash};
    body.count = scan->body->nodes.count;
    add_nodes(&body);
    hasher->hash = body.hash;
    add_dim(hasher, scan->turns);
    add_number(hasher, scan->backwards);
}

/* What comes from elsewhere is only a type, and its number if it is one. */
static void add_operand(Hasher *hasher, NodeId id) {
    const Node *node = graph_node(hasher->graph, id);
    int place = place_of(hasher, id);
    add_number(hasher, place);
    if (place >= 0) return;
    add_text(hasher, type_text(hasher->arena, &node->type));
    if (node->op == OP_constant) add_number(hasher, node->number);
}

static void add_node(Hasher *hasher, const Node *node) {
    add_text(hasher, op_info[node->op].name);
    add_text(hasher, type_text(hasher->arena, &node->type));
    add_number(hasher, node->number);
    add_number(hasher, node->axes);
    add_number(hasher, node->part);
    if (node->view) add_view(hasher, node->view);
    if (node->external) add_text(hasher, node->external->name);
    if (node->scan && node->op == OP_scan) add_loop(hasher, node->scan);
    for (int i = 0; i < node->input_count; i++) add_operand(hasher, node->inputs[i]);
}

static void add_nodes(Hasher *hasher) {
    for (size_t i = 0; i < hasher->count; i++)
        add_node(hasher, graph_node(hasher->graph, hasher->nodes ? hasher->nodes[i] : (NodeId)i));
}

uint64_t kernel_key(Arena *arena, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    Hasher hasher = {arena, plan->graph, kernel->fused, kernel->fused_count,
                     UINT64_C(0xcbf29ce484222325)};
    add_number(&hasher, (double)plan->batch);
    add_number(&hasher, plan->graph->wishes.exact);
    add_number(&hasher, plan->graph->wishes.product);
    add_number(&hasher, plan->graph->wishes.tf32);
    add_nodes(&hasher);
    return hasher.hash;
}

int threads_on(int cores) {
    return cores < THREADS_BY_ITSELF ? cores : THREADS_BY_ITSELF;
}

/* Another version may compute the same in other ways. */
const char *time_key(Arena *arena, uint64_t kernel, const char *device, int cores) {
    Hasher hasher = {.arena = arena, .hash = kernel};
    add_text(&hasher, FLOWC_VERSION);
    add_text(&hasher, device);
    add_number(&hasher, threads_on(cores));
    return arena_format(arena, "%016" PRIx64, hasher.hash);
}

/* Lines. */

typedef struct Line {
    char key[KEY_SIZE + 1], date[DATE_SIZE + 1];
    double seconds;
} Line;

static bool read_line(const char *from, size_t size, Line *line) {
    enum { DAY = 86400 };
    char text[LONGEST] = ""; /* a line alone: sscanf looks for the end of what it reads */
    int key = 0, end = 0;
    if (size < LONGEST) memcpy(text, from, size), text[size] = 0;
    bool good = sscanf(text, "%16[0-9a-f]%n %lf %10[0-9-]%n", line->key, &key, &line->seconds,
                       line->date, &end) == 3;
    return good && key == KEY_SIZE && strlen(line->date) == DATE_SIZE && line->seconds > 0 &&
           line->seconds < DAY;
}

static void note_line(Arena *arena, Times *times, const Line *line) {
    KernelTime *known = map_get(&times->by_key, line->key);
    if (!known) {
        known = arena_new_item(arena, KernelTime);
        map_put(&times->by_key, line->key, known);
    }
    if (!known->count++ || line->seconds < known->seconds) {
        known->seconds = line->seconds;
        known->date = arena_copy(arena, line->date, DATE_SIZE);
    }
}

/* Of the line at text, with its end; 0 behind the last one. */
static size_t line_size(const char *text) {
    size_t size = strcspn(text, "\n");
    return size + (text[size] == '\n');
}

const Times *times_parse(Arena *arena, const char *text, const char *since) {
    Times *times = arena_new_item(arena, Times);
    times->by_key = map_new(arena);
    for (size_t size; (size = line_size(text)); text += size) {
        Line line;
        times->lines++;
        if (!read_line(text, size, &line)) times->broken++;
        else if (strcmp(line.date, since) < 0) times->old++;
        else note_line(arena, times, &line);
    }
    return times;
}

void times_shorten(const char *text, const char *since, int most, Text *shorter) {
    const Times *times = times_parse(shorter->arena, text, since);
    int skipped = times->lines - times->broken - times->old - most;
    for (size_t size; (size = line_size(text)); text += size) {
        Line line;
        if (!read_line(text, size, &line) || strcmp(line.date, since) < 0) continue;
        if (skipped-- <= 0) text_format(shorter, "%.*s", (int)size, text);
    }
}

const KernelTime *times_find(const Times *times, const char *key) {
    return times ? map_get(&times->by_key, key) : NULL;
}
