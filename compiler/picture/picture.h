/* Picture: graphs to look at. After fuse, a box is a kernel; before, a node. */
#ifndef FLOW_PICTURE_H
#define FLOW_PICTURE_H

#include "compiler/graph/graph.h"

/* Graphviz text, with a cluster for each kernel. */
void picture_dot(const Graph *graph, Text *text);

/* One HTML page that needs nothing else: pan by dragging, zoom with the wheel. */
void picture_html(const Graph *graph, Text *text);

#endif
