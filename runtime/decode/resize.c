/* First each row, as it comes, into a ring of rows that are as wide as the result; then, as soon as
 * the last one that it needs is there, a row of the result. For Pillow's pixels rows in between are
 * rounded to bytes, as Pillow does, and weights are whole numbers; for TensorFlow's all is f32. */
#include "runtime/decode/resize.h"

#include "runtime/processors.h"

#include <string.h>

typedef int32_t Fixed __attribute__((vector_size(4 * LANES)));
typedef float Real __attribute__((vector_size(4 * LANES)));
enum { HALF = LANES / 2, ROUNDING = 1 << (PRECISION - 1) };
typedef int32_t HalfFixed __attribute__((vector_size(4 * HALF)));
typedef float HalfReal __attribute__((vector_size(4 * HALF)));

static inline int32_t clipped(int32_t sum) {
    sum >>= PRECISION;
    return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

/* Whole numbers. */

FOR_EACH_PROCESSOR
static void widen_fixed(const uint8_t *row, int64_t count, int32_t *wide) {
    for (int64_t i = 0; i < count; i++) wide[i] = row[i];
}

static inline __attribute__((always_inline)) void
across_fixed_by(const Taps *taps, const int32_t *row, int32_t *to, int64_t width) {
    const Weight *weights = taps->weights;
    for (int64_t i = 0; i < taps->key.axis.count; i++, weights += width) {
        const int32_t *from = row + (taps->first[i] - taps->begin) * 4;
        Fixed sum = {0}, values;
        HalfFixed halves[2];
        for (int64_t k = 0; k < width; k += LANES) {
            memcpy(&values, from + k, sizeof values);
            sum += values * *(const Fixed *)(weights + k);
        }
        memcpy(halves, &sum, sizeof halves);
        halves[0] += halves[1] + ROUNDING;
        for (int c = 0; c < 4; c++) to[4 * i + c] = clipped(halves[0][c]);
    }
}

/* The usual widths are unrolled. */
FOR_EACH_PROCESSOR
static void across_fixed_4(const Taps *taps, const int32_t *row, int32_t *to) {
    switch (taps->width / LANES) {
    case 1: across_fixed_by(taps, row, to, LANES); break;
    case 2: across_fixed_by(taps, row, to, 2 * LANES); break;
    case 3: across_fixed_by(taps, row, to, 3 * LANES); break;
    case 4: across_fixed_by(taps, row, to, 4 * LANES); break;
    default: across_fixed_by(taps, row, to, taps->width); break;
    }
}

FOR_EACH_PROCESSOR
static void across_fixed_1(const Taps *taps, const int32_t *row, int32_t *to) {
    const Weight *weights = taps->weights;
    for (int64_t i = 0; i < taps->key.axis.count; i++, weights += taps->width) {
        const int32_t *from = row + (taps->first[i] - taps->begin);
        int32_t sum = ROUNDING;
        for (int64_t k = 0; k < taps->width; k++) sum += from[k] * weights[k].fixed;
        to[i] = clipped(sum);
    }
}

FOR_EACH_PROCESSOR
static void add_fixed(int32_t *sums, const int32_t *row, int32_t weight, int64_t count) {
    for (int64_t i = 0; i < count; i++) sums[i] += row[i] * weight;
}

FOR_EACH_PROCESSOR
static void narrow_fixed(const int32_t *sums, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)clipped(sums[i] + ROUNDING);
}

/* Real numbers. */

FOR_EACH_PROCESSOR
static void widen_real(const uint8_t *row, int64_t count, float *wide) {
    for (int64_t i = 0; i < count; i++) wide[i] = row[i];
}

FOR_EACH_PROCESSOR
static void across_real(const Taps *taps, const float *row, float *to, int64_t pixel) {
    const Weight *weights = taps->weights;
    for (int64_t i = 0; i < taps->key.axis.count; i++, weights += taps->width) {
        const float *from = row + (taps->first[i] - taps->begin) * pixel;
        Real sum = {0}, values;
        HalfReal halves[2];
        for (int64_t k = 0; k < taps->width; k += LANES) {
            memcpy(&values, from + k, sizeof values);
            sum += values * *(const Real *)(weights + k);
        }
        memcpy(halves, &sum, sizeof halves);
        halves[0] += halves[1];
        if (pixel == 1) to[i] = halves[0][0] + halves[0][1] + halves[0][2] + halves[0][3];
        else memcpy(to + 4 * i, &halves[0], sizeof halves[0]);
    }
}

FOR_EACH_PROCESSOR
static void add_real(float *sums, const float *row, float weight, int64_t count) {
    for (int64_t i = 0; i < count; i++) sums[i] += row[i] * weight;
}

FOR_EACH_PROCESSOR
static void narrow_real(const float *sums, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; i++) {
        float value = sums[i] + 0.5f;
        to[i] = (uint8_t)(int32_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

/* Rows. A row in the ring has `stride` numbers of 4 bytes. */

static void *ring_row(const Resizing *resizing, int64_t y) {
    return (int32_t *)resizing->ring + y % resizing->ring_size * resizing->stride;
}

static void shrink_row(const Resizing *resizing, int64_t y, const uint8_t *row) {
    const Taps *taps = resizing->across;
    int64_t count = (taps->end - taps->begin) * resizing->pixel;
    if (resizing->real) {
        widen_real(row, count, resizing->wide);
        across_real(taps, resizing->wide, ring_row(resizing, y), resizing->pixel);
        return;
    }
    widen_fixed(row, count, resizing->wide);
    (resizing->pixel == 4 ? across_fixed_4 : across_fixed_1)(taps, resizing->wide,
                                                             ring_row(resizing, y));
}

/* Pixels of 4 bytes become pixels of 3; `to` has no byte more. */
static void pack(const uint8_t *pixels, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i + 1 < count; i++) memcpy(to + 3 * i, pixels + 4 * i, 4);
    memcpy(to + 3 * (count - 1), pixels + 4 * (count - 1), 3);
}

static void finish_row(const Resizing *resizing, int64_t i) {
    const Taps *taps = resizing->down;
    int64_t count = resizing->across->key.axis.count, first = taps->first[i];
    int64_t values = count * resizing->pixel;
    uint8_t *to = resizing->to + i * count * resizing->channels;
    uint8_t *bytes = resizing->channels == resizing->pixel ? to : resizing->bytes;
    memset(resizing->sums, 0, (size_t)values * 4);
    for (int64_t y = first; y <= taps->last[i]; y++) {
        Weight weight = taps->weights[i * taps->width + y - first];
        if (resizing->real) add_real(resizing->sums, ring_row(resizing, y), weight.real, values);
        else add_fixed(resizing->sums, ring_row(resizing, y), weight.fixed, values);
    }
    if (resizing->real) narrow_real(resizing->sums, values, bytes);
    else narrow_fixed(resizing->sums, values, bytes);
    if (bytes != to) pack(bytes, count, to);
}

void resize_take(void *context, int64_t y, const uint8_t *row) {
    Resizing *resizing = context;
    const Taps *down = resizing->down;
    int64_t count = down->key.axis.count;
    if (resizing->next == count || y < down->first[resizing->next]) return;
    shrink_row(resizing, y, row);
    while (resizing->next < count && down->last[resizing->next] <= y)
        finish_row(resizing, resizing->next++);
}

/* Beginning. */

/* Those of the desk, which has kept the last few. */
static const Taps *find_taps(Desk *desk, const TapsKey *key) {
    int across = key->pixel != 0;
    for (int i = 0; i < DESK_TAPS; i++) {
        const Taps *known = &desk->taps[across][i];
        if (known->room && !memcmp(&known->key, key, sizeof *key)) return known;
    }
    Taps *taps = &desk->taps[across][desk->next_taps[across]];
    desk->next_taps[across] = (desk->next_taps[across] + 1) % DESK_TAPS;
    return taps_fill(taps, key) ? taps : NULL;
}

static int64_t whole_lanes(int64_t count) {
    return (count + LANES - 1) / LANES * LANES;
}

bool resize_begin(Desk *desk, const ResizeRequest *request, uint8_t *to, Resizing *resizing) {
    int64_t pixel = request->channels == 1 ? 1 : 4;
    TapsKey key = {request->down, 0, request->method, request->like, request->antialias};
    const Taps *down = find_taps(desk, &key);
    key.axis = request->across;
    key.pixel = pixel;
    const Taps *across = find_taps(desk, &key);
    if (!down || !across) return false;
    int64_t stride = whole_lanes(request->across.count * pixel);
    int64_t wide = whole_lanes((across->end - across->begin) * pixel + across->width);
    size_t line = (size_t)(wide + 2 * stride) * sizeof(int32_t);
    int32_t *ring = room_for(&desk->ring, (size_t)(down->most * stride) * sizeof *ring);
    int32_t *lines = room_for(&desk->line, line);
    if (!ring || !lines) return false;
    memset(lines, 0, line);
    *resizing = (Resizing){.down = down,
                           .across = across,
                           .pixel = pixel,
                           .channels = request->channels,
                           .stride = stride,
                           .ring = ring,
                           .wide = lines,
                           .sums = lines + wide,
                           .bytes = (uint8_t *)(lines + wide + stride),
                           .ring_size = down->most,
                           .to = to,
                           .real = request->like == FLOW_LIKE_tensorflow};
    return true;
}

Region resize_region(const Resizing *resizing) {
    return (Region){resizing->down->begin, resizing->down->end, resizing->across->begin,
                    resizing->across->end};
}
