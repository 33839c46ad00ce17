/* Print: the pieces of graph text that pictures show too. */
#ifndef FLOW_GRAPH_PRINT_H
#define FLOW_GRAPH_PRINT_H

#include "compiler/graph/graph.h"

void number_print(double number, Element element, Text *text);

/* False for nowhere and for places in graph text. */
bool range_is_of_program(Range range);
void place_print(Range range, Text *text); /* "digits.flow:31" */

#endif
