/* NPY header: what stands before the elements in numpy's files. */
#ifndef FLOW_SINK_NPY_HEADER_H
#define FLOW_SINK_NPY_HEADER_H

#include "runtime/flow.h"

enum { NPY_HEADER_ROOM = 512 };

/* Writes the header of an array of so many records of the type; of one value of the type, if
 * `records` is -1. Returns its length, which is the same for any number of records. */
int npy_header_write(char *header, const FlowType *type, int64_t records);

#endif
