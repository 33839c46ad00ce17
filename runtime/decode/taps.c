/* Weights are computed as the library does whose pixels are wanted. Both take a filter of the
 * distance between the middles of two places, which is stretched where the image gets smaller, if
 * it is to be smooth; cut it at the image's edge, and make the sum 1. What TensorFlow does
 * otherwise when it is not smooth: a cubic's distance is a multiple of 2^-10; an area is measured
 * to the fraction of a pixel. */
#include "runtime/decode/taps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Filters of the distance. */

static double box(double x) {
    return x > -0.5 && x <= 0.5;
}

static double triangle(double x) {
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* Keys' cubic with a = -1/2. */
static double cubic(double x) {
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

typedef struct Filter {
    double (*weight)(double distance);
    double reach;
} Filter;

static Filter filter_of(int64_t method) {
    if (method == FLOW_METHOD_bicubic) return (Filter){cubic, 2};
    return method == FLOW_METHOD_area ? (Filter){box, 0.5} : (Filter){triangle, 1};
}

/* Weights of one place. */

typedef struct Place {
    int64_t first, count;
    double *weights;
} Place;

static bool is_exact_area(const TapsKey *key) {
    return key->method == FLOW_METHOD_area && key->like == FLOW_LIKE_tensorflow;
}

static double stretch_of(const TapsKey *key) {
    double scale = key->axis.from / (double)key->axis.to;
    return scale > 1 && (key->antialias || key->method == FLOW_METHOD_area) ? scale : 1;
}

/* No place is made of more. */
static int64_t limit_of(const TapsKey *key) {
    if (key->method == FLOW_METHOD_nearest) return 1;
    return (int64_t)ceil(filter_of(key->method).reach * stretch_of(key)) * 2 + 1;
}

static int64_t within(double x, int64_t end) {
    return x < 0 ? 0 : x > (double)end ? end : (int64_t)x;
}

static void find_nearest(const TapsKey *key, int64_t i, int64_t end, Place *place) {
    place->first = within(((double)i + 0.5) * key->axis.from / (double)key->axis.to, end - 1);
    place->count = 1;
    place->weights[0] = 1;
}

static void find_area(const TapsKey *key, int64_t i, int64_t end, Place *place) {
    double scale = key->axis.from / (double)key->axis.to;
    double from = (double)i * scale, to = (double)(i + 1) * scale;
    place->first = within(from, end - 1);
    place->count = within(ceil(to), end) - place->first;
    for (int64_t k = 0; k < place->count; k++) {
        double left = fmax(from, (double)(place->first + k));
        double right = fmin(to, (double)(place->first + k + 1));
        place->weights[k] = (right - left) / scale;
    }
}

static double middle_of(const TapsKey *key, int64_t i) {
    double middle = ((double)i + 0.5) * (key->axis.from / (double)key->axis.to);
    bool coarse =
        key->like == FLOW_LIKE_tensorflow && key->method == FLOW_METHOD_bicubic && !key->antialias;
    if (!coarse) return middle;
    double below = floor(middle - 0.5);
    return below + rint((middle - 0.5 - below) * 1024) / 1024 + 0.5;
}

static void find_weighted(const TapsKey *key, int64_t i, int64_t end, Place *place) {
    Filter filter = filter_of(key->method);
    double stretch = stretch_of(key), reach = filter.reach * stretch, middle = middle_of(key, i);
    double sum = 0;
    place->first = within(middle - reach + 0.5, end);
    place->count = within(middle + reach + 0.5, end) - place->first;
    for (int64_t k = 0; k < place->count; k++) {
        double distance = (double)(place->first + k) - middle + 0.5;
        sum += place->weights[k] = filter.weight(distance / stretch);
    }
    for (int64_t k = 0; sum != 0 && k < place->count; k++) place->weights[k] /= sum;
}

static void find_place(const TapsKey *key, int64_t i, Place *place) {
    int64_t end = (int64_t)ceil(key->axis.from);
    if (key->method == FLOW_METHOD_nearest) find_nearest(key, i, end, place);
    else if (is_exact_area(key)) find_area(key, i, end, place);
    else find_weighted(key, i, end, place);
}

/* Tables. */

static bool make_room(Taps *taps, int64_t places, int64_t weights) {
    if (taps->room < places || taps->weight_room < weights) {
        taps_free(taps);
        taps->first = malloc((size_t)places * sizeof *taps->first);
        taps->last = malloc((size_t)places * sizeof *taps->last);
        taps->weights = aligned_alloc(64, ((size_t)weights * sizeof(Weight) + 63) / 64 * 64);
        if (!taps->first || !taps->last || !taps->weights) return false;
        taps->room = places;
        taps->weight_room = weights;
    }
    memset(taps->weights, 0, (size_t)weights * sizeof(Weight));
    return true;
}

static Weight weight_of(const TapsKey *key, double weight) {
    if (key->like == FLOW_LIKE_tensorflow) return (Weight){.real = (float)weight};
    double fixed = weight * (1 << PRECISION);
    return (Weight){.fixed = (int32_t)(fixed < 0 ? fixed - 0.5 : fixed + 0.5)};
}

static void keep_place(Taps *taps, int64_t i, const Place *place) {
    int64_t pixel = taps->key.pixel ? taps->key.pixel : 1;
    Weight *to = taps->weights + i * taps->width;
    taps->first[i] = taps->key.axis.offset + place->first;
    taps->last[i] = taps->first[i] + (place->count ? place->count - 1 : 0);
    for (int64_t k = 0; k < place->count; k++)
        for (int64_t j = 0; j < pixel; j++)
            to[k * pixel + j] = weight_of(&taps->key, place->weights[k]);
    if (taps->first[i] < taps->begin) taps->begin = taps->first[i];
    if (taps->last[i] >= taps->end) taps->end = taps->last[i] + 1;
}

/* The most places that one is made of. */
static int64_t count_places(const TapsKey *key, Place *place) {
    int64_t most = 1;
    for (int64_t i = 0; i < key->axis.count; i++) {
        find_place(key, key->axis.first + i, place);
        if (place->count > most) most = place->count;
    }
    return most;
}

static void fill_places(Taps *taps, const TapsKey *key, Place *place) {
    taps->begin = INT64_MAX;
    taps->end = 0;
    for (int64_t i = 0; i < key->axis.count; i++) {
        find_place(key, key->axis.first + i, place);
        keep_place(taps, i, place);
    }
}

bool taps_fill(Taps *taps, const TapsKey *key) {
    Place place = {.weights = malloc((size_t)limit_of(key) * sizeof(double))};
    int64_t most = place.weights ? count_places(key, &place) : 0;
    int64_t width = key->pixel ? (most * key->pixel + LANES - 1) / LANES * LANES : most;
    bool room = place.weights && make_room(taps, key->axis.count, key->axis.count * width);
    if (room) {
        taps->key = *key;
        taps->most = most;
        taps->width = width;
        fill_places(taps, key, &place);
    } else taps_free(taps);
    free(place.weights);
    return room;
}

void taps_free(Taps *taps) {
    free(taps->first);
    free(taps->last);
    free(taps->weights);
    *taps = (Taps){0};
}
