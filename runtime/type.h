/* Types: element names and single numbers of any element type. */
#ifndef FLOW_TYPE_H
#define FLOW_TYPE_H

#include "runtime/flow.h"

typedef struct TypeText {
    char text[256];
} TypeText;

/* "f32[28, 28]"; of a scalar "f32". */
TypeText type_name(const FlowType *type);
bool types_equal(const FlowType *a, const FlowType *b);

/* The values of a program's bounded dimensions in a run. */
typedef struct Sizes {
    const FlowProgram *program;
    const int64_t *values; /* one for each of its bounds */
} Sizes;

/* What a size of a FlowType is in the run. */
int64_t size_at(int64_t size, Sizes sizes);

/* The type with every size known. */
FlowType type_at(const FlowType *type, Sizes sizes);

/* flow_ok, or what is wrong with the values. */
FlowStatus sizes_check(Sizes sizes);

double number_read(FlowElement element, const void *bytes);

/* Stores the number, rounded to a floating-point element. False when an integer element
 * cannot hold it. */
bool number_write(FlowElement element, double number, void *bytes);

#endif
