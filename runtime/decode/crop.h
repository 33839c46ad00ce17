/* Crop: which part of an image becomes the value, and what size the image is made first. */
#ifndef FLOW_CROP_H
#define FLOW_CROP_H

#include "runtime/decode/decoder.h"

typedef struct Crop {
    bool resized;      /* else the axes only say where the part lies */
    Axis down, across; /* of the image as it is decoded */
    int halvings;      /* while it is decoded */
} Crop;

/* type: what is wanted. Fails when the image is of another size, or too small. */
FlowStatus crop_choose(const FlowImage *image, const Measures *measures, const FlowType *type,
                       uint64_t key, Crop *crop);

#endif
