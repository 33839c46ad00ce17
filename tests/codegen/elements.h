/* Elements: numbers as the element types lay them out in memory, without the functions of
 * kernel.h, which are under test. */
#ifndef FLOW_TESTS_ELEMENTS_H
#define FLOW_TESTS_ELEMENTS_H

#include "compiler/types/type.h"

void elements_encode(Element element, const double *from, int64_t count, void *to);
double element_decode(Element element, const void *from, int64_t i);

#endif
