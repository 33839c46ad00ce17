/* Resize. A pixel of the result is a weighted mean of those around its place in the source: the weights
 * fall linearly to 0 at a distance of one source pixel, or of one result pixel where that is
 * larger. Rows and columns are separate: first each row is resized, then each column, rounded to
 * whole numbers in between; weights are whole multiples of 2^-22. */
#include "runtime/decode/resize.h"

#include <math.h>
#include <stdlib.h>

enum { PRECISION = 22 };

/* Where each element of a resized line comes from: `count` weights from `first` on. */
typedef struct Taps {
    int64_t *first, *count;
    int32_t *weights; /* `width` for each element */
    int64_t width;
} Taps;

static void taps_free(Taps *taps) {
    free(taps->first);
    free(taps->count);
    free(taps->weights);
}

static void fill_taps(Taps *taps, int64_t i, double scale, int64_t from) {
    double reach = scale > 1 ? scale : 1, center = ((double)i + 0.5) * scale, sum = 0;
    int64_t first = (int64_t)(center - reach + 0.5), end = (int64_t)(center + reach + 0.5);
    if (center - reach + 0.5 < 0) first = 0;
    if (end > from) end = from;
    taps->first[i] = first;
    taps->count[i] = end - first;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = first; k < end; k++) {
            double distance = fabs(((double)k - center + 0.5) / reach);
            double weight = distance < 1 ? 1 - distance : 0;
            if (pass == 0) sum += weight;
            else
                taps->weights[i * taps->width + k - first] =
                    (int32_t)floor(weight / sum * (1 << PRECISION) + 0.5);
        }
}

static bool taps_new(int64_t from, int64_t to, Taps *taps) {
    double scale = (double)from / (double)to;
    taps->width = (int64_t)ceil(scale > 1 ? scale : 1) * 2 + 1;
    taps->first = calloc((size_t)to, sizeof *taps->first);
    taps->count = calloc((size_t)to, sizeof *taps->count);
    taps->weights = calloc((size_t)(to * taps->width), sizeof *taps->weights);
    if (!taps->first || !taps->count || !taps->weights) return false;
    for (int64_t i = 0; i < to; i++) fill_taps(taps, i, scale, from);
    return true;
}

static uint8_t mean(const uint8_t *pixels, int64_t step, const int32_t *weights, int64_t count) {
    int64_t sum = 1 << (PRECISION - 1);
    for (int64_t i = 0; i < count; i++) sum += (int64_t)pixels[i * step] * weights[i];
    sum >>= PRECISION;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Lines of `to` elements, `step` apart, from lines of the source. */
static void resize_line(const Taps *taps, const uint8_t *from, uint8_t *to, int64_t count,
                        int64_t step) {
    for (int64_t i = 0; i < count; i++)
        to[i * step] = mean(from + taps->first[i] * step, step, taps->weights + i * taps->width,
                            taps->count[i]);
}

FlowStatus resize_image(const FlowType *from_type, const void *from, const FlowType *to_type,
                        void *to) {
    int64_t height = from_type->sizes[0], width = from_type->sizes[1];
    int64_t new_height = to_type->sizes[0], new_width = to_type->sizes[1];
    int64_t channels = to_type->sizes[2], row = new_width * channels;
    Taps across = {0}, down = {0};
    uint8_t *between = malloc((size_t)(height * row));
    bool room =
        between && taps_new(width, new_width, &across) && taps_new(height, new_height, &down);
    for (int64_t y = 0; room && y < height; y++)
        for (int64_t c = 0; c < channels; c++)
            resize_line(&across, (const uint8_t *)from + y * width * channels + c,
                        between + y * row + c, new_width, channels);
    for (int64_t x = 0; room && x < row; x++)
        resize_line(&down, between + x, (uint8_t *)to + x, new_height, row);
    taps_free(&across);
    taps_free(&down);
    free(between);
    return room ? flow_ok : flow_failure(FLOW_EXIT_resource, "no memory to resize it");
}
