/* Cut. */
#include "compiler/balance/cut.h"

Network network_new(Arena *arena, int nodes) {
    Network network = {.arena = arena, .nodes = nodes};
    network.first = arena_new_array(arena, int, nodes);
    network.level = arena_new_array(arena, int, nodes);
    network.at = arena_new_array(arena, int, nodes);
    network.queue = arena_new_array(arena, int, nodes);
    for (int i = 0; i < nodes; i++) network.first[i] = -1;
    return network;
}

static void add_arc(Network *network, int from, int to, int64_t room) {
    vector_push(network->arena, &network->arcs, (Arc){to, network->first[from], room});
    network->first[from] = (int)network->arcs.count - 1;
}

int network_add(Network *network, int from, int to, int64_t room) {
    add_arc(network, from, to, room);
    add_arc(network, to, from, 0);
    return (int)network->arcs.count - 2;
}

/* How far each node is from the source; -1: it is out of reach. */
static bool find_levels(Network *network) {
    int begin = 0, end = 0;
    for (int i = 0; i < network->nodes; i++) network->level[i] = -1;
    network->level[NETWORK_source] = 0;
    network->queue[end++] = NETWORK_source;
    while (begin < end) {
        int node = network->queue[begin++];
        for (int i = network->first[node]; i >= 0; i = network->arcs.items[i].next) {
            const Arc *arc = &network->arcs.items[i];
            if (!arc->room || network->level[arc->to] >= 0) continue;
            network->level[arc->to] = network->level[node] + 1;
            network->queue[end++] = arc->to;
        }
    }
    return network->level[NETWORK_sink] >= 0;
}

/* A way is kept in queue, as arcs. One further arc of it, or one back. */
static bool advance(Network *network, int *length, int *node) {
    for (int *at = &network->at[*node]; *at >= 0; *at = network->arcs.items[*at].next) {
        const Arc *arc = &network->arcs.items[*at];
        if (!arc->room || network->level[arc->to] != network->level[*node] + 1) continue;
        network->queue[(*length)++] = *at;
        *node = arc->to;
        return true;
    }
    if (!*length) return false;
    int last = network->queue[--*length];
    *node = network->arcs.items[last ^ 1].to;
    network->at[*node] = network->arcs.items[last].next;
    return true;
}

/* Sends what the way takes; goes back to where it is full. */
static void send(Network *network, int *length, int *node) {
    Arc *arcs = network->arcs.items;
    int64_t most = INT64_MAX;
    for (int i = 0; i < *length; i++)
        if (arcs[network->queue[i]].room < most) most = arcs[network->queue[i]].room;
    int full = -1;
    for (int i = 0; i < *length; i++) {
        Arc *arc = &arcs[network->queue[i]];
        arc->room -= most;
        arcs[network->queue[i] ^ 1].room += most;
        if (!arc->room && full < 0) full = i;
    }
    *length = full;
    *node = arcs[network->queue[full] ^ 1].to;
}

static void fill_levels(Network *network) {
    int length = 0, node = NETWORK_source;
    for (int i = 0; i < network->nodes; i++) network->at[i] = network->first[i];
    while (advance(network, &length, &node))
        if (node == NETWORK_sink) send(network, &length, &node);
}

void network_cut(Network *network) {
    while (find_levels(network)) fill_levels(network);
}

bool is_with_source(const Network *network, int node) {
    return network->level[node] >= 0;
}
