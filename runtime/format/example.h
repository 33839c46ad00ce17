/* Example: tf.train.Example, what TFRecord files mostly hold: features by name, each a list of
 * bytes, of floats or of whole numbers.
 *
 *     Example  { Features features = 1; }
 *     Features { map<string, Feature> feature = 1; }
 *     Feature  { BytesList = 1, FloatList = 2 or Int64List = 3; }   each { repeated value = 1; } */
#ifndef FLOW_EXAMPLE_H
#define FLOW_EXAMPLE_H

#include "runtime/format/protobuf.h"

typedef enum FeatureKind {
    FEATURE_none, /* it is missing, or says nothing */
    FEATURE_bytes = 1,
    FEATURE_floats = 2,
    FEATURE_integers = 3,
} FeatureKind;

typedef struct Feature {
    FeatureKind kind;
    Wire list; /* what is left of its values */
    Wire run;  /* of numbers: what is left of those packed together */
} Feature;

/* Finds the features of these names; of several with one name the last counts, as everywhere in
 * protobuf. False: the bytes are no Example. */
bool example_find(const void *bytes, size_t size, const char *const *names, int count,
                  Feature *features);

/* The name of feature `index`, as it comes; false: there are not so many. */
bool example_name(const void *bytes, size_t size, int index, Wire *name);

/* Take the next values, at most `room` of them, and return how many: none are left when it is less.
 * list.broken and run.broken say that what follows is damaged. */
size_t feature_bytes(Feature *feature, Wire *values, size_t room);
size_t feature_floats(Feature *feature, float *values, size_t room);
size_t feature_integers(Feature *feature, int64_t *values, size_t room);

#endif
