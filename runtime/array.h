/* Array: one of numpy's, as a field of records: axis 0 counts them. */
#ifndef FLOW_ARRAY_H
#define FLOW_ARRAY_H

#include "runtime/flow.h"
#include "runtime/format/npy.h"

/* Where messages say that it lies: "x.npy"; in an archive "data.npz: x". */
typedef struct ArrayPlace {
    const char *path, *name; /* name: or NULL */
} ArrayPlace;

typedef struct Array {
    ArrayPlace place;
    const FlowField *field;
    Npy npy;
    const char *values;
    char *held;         /* values that were made at once, or NULL */
    size_t record_size; /* bytes of one at `values` */
    size_t record_elements;
    bool own;     /* elements are of the field's type */
    bool same;    /* they are the field's, byte for byte */
    bool aligned; /* they can be pointed at */
} Array;

/* Reads the header at the beginning of a file of `size` bytes (see npy_read), and checks it against
 * the field's type. Nothing is kept of the bytes. */
FlowStatus array_open(ArrayPlace place, const FlowField *field, const char *bytes, uint64_t size,
                      Array *array);

/* Says where the file's bytes lie, which have to stay. */
void array_fill(Array *array, const char *bytes);

/* Have all the same number of records? */
FlowStatus arrays_check(const Array *arrays, int count);

/* Can all records be pointed at? Few single numbers of another type than their field's, as labels
 * are, are made at once for that, and held. */
bool arrays_point(Array *arrays, int count);

void array_close(Array *array);

int64_t array_records(const Array *array);

/* Where the record lies. */
const void *array_at(const Array *array, int64_t record);

/* Asks for it, so that it is in the caches when it is made. */
void array_prefetch(const Array *array, int64_t record);

/* Makes the value of the record's field. False: as FlowSource.make says. */
bool array_make(const Array *array, int64_t record, void *value, FlowStatus *failure);

#endif
