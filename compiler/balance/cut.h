/* Cut: minimum cuts, by flows along shortest ways (E. A. Dinic, 1970). */
#ifndef FLOW_BALANCE_CUT_H
#define FLOW_BALANCE_CUT_H

#include "lang/base/vector.h"

#include <stdbool.h>
#include <stdint.h>

/* From a node to another, and its partner back: arcs 2i and 2i + 1. */
typedef struct Arc {
    int to, next; /* next: of the same node, or -1 */
    int64_t room;
} Arc;

typedef struct Network {
    Arena *arena;
    int nodes;
    int *first, *level, *at, *queue; /* of each node */
    Vector(Arc) arcs;
} Network;

enum { NETWORK_source, NETWORK_sink, NETWORK_nodes /* others are numbered from here */ };

#define NETWORK_ENDLESS (INT64_MAX / 4)

Network network_new(Arena *arena, int nodes);

/* Returns the number of the arc, whose room may be set anew. */
int network_add(Network *network, int from, int to, int64_t room);

/* Uses up the arcs' room; then the nodes that can still be reached from the source are on its side
 * of a minimum cut, the smallest such side. */
void network_cut(Network *network);

/* After network_cut alone. */
bool is_with_source(const Network *network, int node);

#endif
