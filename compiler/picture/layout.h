/* Layout: where everything in a picture is, in pixels. */
#ifndef FLOW_PICTURE_LAYOUT_H
#define FLOW_PICTURE_LAYOUT_H

#include "compiler/picture/boxes.h"

/* A box, or a bend: where a long arrow passes a layer. */
typedef struct Place {
    int layer, order; /* order: from the left, within the layer */
    double x;         /* of the middle */
    double width, height;
} Place;

/* Places from one box to another. */
typedef struct Path {
    int count;
    int *places;
    double start, end; /* x where it leaves the first and enters the last */
} Path;

typedef struct Layout {
    Vector(Place) places; /* the boxes first, bends behind */
    int layer_count;
    double *tops, *heights; /* of layers */
    Path *paths;            /* one an arrow */
    double width, height;
} Layout;

/* sizes: width and height of each box. */
Layout *layout_new(Arena *arena, const Boxes *boxes, const double (*sizes)[2]);

#endif
