/* Taps: what each place of a resized image is made of along one axis, and how much of each. */
#ifndef FLOW_TAPS_H
#define FLOW_TAPS_H

#include "runtime/flow.h"

enum { LANES = 8 }; /* numbers that are multiplied at once */

/* One axis of a resize: `from` places become `to`, of which those from `first` on are wanted. The
 * source's places are numbered from `offset`. */
typedef struct Axis {
    double from; /* of a halved image perhaps no whole number */
    int64_t offset, to, first, count;
} Axis;

typedef struct TapsKey {
    Axis axis;
    int64_t pixel; /* values between neighbours; 0: rows, whose weights are not spread */
    int64_t method, like, antialias;
} TapsKey;

typedef union Weight {
    int32_t fixed; /* Pillow's: a multiple of 2^-PRECISION */
    float real;
} Weight;

enum { PRECISION = 22 };

typedef struct Taps {
    TapsKey key;
    int64_t begin, end; /* the places of the source that are needed */
    int64_t most;       /* places that one is made of */
    int64_t width;      /* weights of each */
    int64_t *first, *last;
    Weight *weights; /* of columns: spread over LANES, as the values of pixels lie */
    int64_t room;    /* for so many, in bytes of `first` and `last`, … */
    int64_t weight_room;
} Taps;

/* Fills what was all zero, or filled before. False: there is no memory. */
bool taps_fill(Taps *taps, const TapsKey *key);
void taps_free(Taps *taps);

#endif
