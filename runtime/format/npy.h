/* NPY: the header of numpy's arrays in files, versions 1 to 3: an element type, an order and a
 * shape, written as a literal of Python; the elements follow. */
#ifndef FLOW_NPY_H
#define FLOW_NPY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NPY_RANK_LIMIT = 9,
    NPY_HEADER_LIMIT = 1 << 16, /* bytes, with all that stands before the elements */
    NPY_TYPE_SIZE = 24,
};

typedef struct Npy {
    char type[NPY_TYPE_SIZE]; /* as it is written: "<f4" */
    char kind;       /* b: bool; i, u: integers; f: floating point; V: 2 bytes of any use */
    int size;        /* bytes of an element: 1, 2, 4 or 8 */
    bool swapped;    /* elements are not in this machine's byte order */
    bool by_columns; /* the first axis changes fastest */
    int rank;
    int64_t sizes[NPY_RANK_LIMIT];
    uint64_t begin;    /* of the elements, in the file */
    uint64_t elements; /* how many there are */
    const char *error; /* what is wrong */
} Npy;

/* Reads the header of a file of `size` bytes, of which at least the first NPY_HEADER_LIMIT are
 * there, or all. False: npy->error is set. After it the file is known to hold the elements, and
 * nothing else. */
bool npy_read(const char *bytes, uint64_t size, Npy *npy);

#endif
