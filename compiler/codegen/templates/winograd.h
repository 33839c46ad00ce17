/* winograd.h: what winograd.c and winograd_weights.c share: convolutions with windows of 3 x 3
 * places, 2 x 2 of them a tile, by Winograd's minimal filtering (A. Lavin, S. Gray: Fast Algorithms
 * for Convolutional Neural Networks, CVPR 2016, F(2x2, 3x3)). With d the 4 x 4 places of a that a
 * tile sees, g the weights and y the tile's results,
 *
 *     y = A' (G g G' * B' d B) A
 *
 * where * multiplies each of 16 points by itself, so that over features it is 16 products of
 * matrices, with 4 multiplications a result and not 9.
 *
 * Besides the parameters of matmul.c:
 *
 *   IMAGE_LINES, IMAGE_PLACES results of an image: so many lines of so many places
 *   FEATURES                  of each place of a
 *   A_IMAGE, A_LINE           what the next image and the next line of a add; of places, FEATURES
 *   A_IMAGE_LINES, A_LINE_PLACES      of an image of a: so many lines of so many places
 *   A_LINES_BEFORE, A_PLACES_BEFORE     so many lines and places of zeros the windows see before
 *                             these, and as many as they want behind
 *   PANEL                     so many columns at a time: whole vectors, but for the last
 *   TILES_WANTED              about so many at a time, as the caches have room for
 *   FEATURE_BLOCK             of the file that includes this: vectors divide it
 */
#include "product/lanes.h"

/* Tiles: lines of them, of an image, and of how many are made at a time; a line that is too long
 * is several segments. */
#define TILE_LINES (((IMAGE_LINES) + 1) / 2)
#define LINE_TILES (((IMAGE_PLACES) + 1) / 2)
#define SEGMENT FLOW_SEGMENT(LINE_TILES, TILES_WANTED)
#define GROUP_LINES FLOW_GROUP_LINES(LINE_TILES, TILES_WANTED)
#define GROUP FLOW_GROUP(LINE_TILES, TILES_WANTED)

/* The tile of sums in registers. */
#define ACROSS FLOW_ACROSS(PANEL, LANES)
#define VECTORS FLOW_WINDOW_VECTORS(ACROSS)
#define WIDTH (VECTORS * LANES)
#define WIDE (((PANEL)-1) / WIDTH * WIDTH + WIDTH)
#define ROWS_MOST FLOW_WINDOW_MOST(FLOW_SUMS, VECTORS)
/* Are the columns of each panel whole vectors? */
#define WHOLE_VECTORS ((COLUMNS) % LANES == 0 && (PANEL) % LANES == 0)
/* Are all panels as wide as WIDE? */
#define WHOLE_PANELS ((PANEL) % WIDTH == 0 && (COLUMNS) % (PANEL) == 0)
/* Features, up to whole blocks. */
#define FEATURES_WIDE (((FEATURES)-1) / FEATURE_BLOCK * FEATURE_BLOCK + FEATURE_BLOCK)

/* Elements from point to point are no power of two, or they would fall on the same lines of the
 * nearest cache. */
enum { FLOW_JOIN(KERNEL, _POINTS) = 16 };
#define POINTS FLOW_JOIN(KERNEL, _POINTS)
#define APART(elements) ((elements) + 64 / (int)sizeof(ELEMENT))

/* The first row of the results that a line of tiles has. */
FLOW_TILE int64_t FLOW_JOIN(KERNEL, _row)(int64_t line) {
    return (line / TILE_LINES * (IMAGE_LINES) + line % TILE_LINES * 2) * (IMAGE_PLACES);
}

/* B' of four values. */
FLOW_TILE void FLOW_JOIN(KERNEL, _seen)(const VECTOR d[4], VECTOR to[4]) {
    to[0] = d[0] - d[2], to[1] = d[1] + d[2];
    to[2] = d[2] - d[1], to[3] = d[1] - d[3];
}

/* What is at four points, line `line` of them. */
FLOW_TILE void FLOW_JOIN(KERNEL, _put_points)(const VECTOR values[4], const int line, ELEMENT *to,
                                              const int point) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) *(VECTOR *)(to + (4 * line + j) * point) = values[j];
}

/* Four lines of a that tiles see, from a place on: what the next place adds is 0 where a line lies
 * outside, and is all zeros. */
typedef struct FLOW_JOIN(KERNEL, _lines) {
    const ELEMENT *at[4];
    int64_t step[4];
} FLOW_JOIN(KERNEL, _lines);

FLOW_TILE FLOW_JOIN(KERNEL, _lines)
    FLOW_JOIN(KERNEL, _lines_at)(const ELEMENT *image, int64_t line, int64_t place) {
    _Static_assert((FEATURES_WIDE) * sizeof(ELEMENT) <= sizeof flow_outside, "zeros of a place");
    FLOW_JOIN(KERNEL, _lines) lines;
    for (int i = 0; i < 4; i++) {
        const int64_t number = line + i - (A_LINES_BEFORE);
        const int inside = number >= 0 && number < (A_IMAGE_LINES);
        lines.at[i] = inside ? image + number * (A_LINE) + (place - (A_PLACES_BEFORE)) * (FEATURES)
                             : (const ELEMENT *)flow_outside;
        lines.step[i] = inside ? FEATURES : 0;
    }
    return lines;
}

/* Of one place in four lines, and on to the next. */
FLOW_TILE void FLOW_JOIN(KERNEL, _see_place)(FLOW_JOIN(KERNEL, _lines) * lines, int64_t place,
                                             int64_t feature, VECTOR to[4]) {
    const int whole = (FEATURES) % FEATURE_BLOCK == 0;
    VECTOR d[4] = {0};
    if (place >= (A_PLACES_BEFORE) && place < (A_LINE_PLACES) + (A_PLACES_BEFORE))
        for (int i = 0; i < 4; i++)
            d[i] = FLOW_JOIN(KERNEL, _get)(lines->at[i] + feature, whole, (FEATURES)-feature);
    for (int i = 0; i < 4; i++) lines->at[i] += lines->step[i];
    FLOW_JOIN(KERNEL, _seen)(d, to);
}

/* What tiles of a line, from number `tile` on, see of features [feature, end), whole blocks, of an
 * image: B' d B, `row` elements from tile to tile and `point` from point to point. */
FLOW_TILE void FLOW_JOIN(KERNEL, _see)(const ELEMENT *image, int64_t line, int64_t tile,
                                       int64_t tiles, int64_t feature, int64_t end, ELEMENT *to,
                                       const int row, const int point) {
    const FLOW_JOIN(KERNEL, _lines) first = FLOW_JOIN(KERNEL, _lines_at)(image, 2 * line, 2 * tile);
    for (int64_t c = feature; c < end; c += LANES, to += LANES) {
        FLOW_JOIN(KERNEL, _lines) lines = first;
        VECTOR at[4][4]; /* by place and line */
        int64_t place = 2 * tile;
        FLOW_JOIN(KERNEL, _see_place)(&lines, place++, c, at[0]);
        FLOW_JOIN(KERNEL, _see_place)(&lines, place++, c, at[1]);
        for (int64_t t = 0; t < tiles; t++) {
            FLOW_JOIN(KERNEL, _see_place)(&lines, place++, c, at[2]);
            FLOW_JOIN(KERNEL, _see_place)(&lines, place++, c, at[3]);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const VECTOR d[4] = {at[0][i], at[1][i], at[2][i], at[3][i]};
                VECTOR seen[4];
                FLOW_JOIN(KERNEL, _seen)(d, seen);
                FLOW_JOIN(KERNEL, _put_points)(seen, i, to + t * row, point);
                at[0][i] = at[2][i], at[1][i] = at[3][i];
            }
        }
    }
}

/* Adds the products of one depth or two. Two of a row come one after the other: rows may be so far
 * apart that they lie in the same bank of the nearest cache, which gives one of them at a time. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add)(const ELEMENT *restrict left, const int left_row,
                                       const int left_depth, const ELEMENT *restrict right,
                                       const int rows, const int depths,
                                       VECTOR y[ROWS_MOST][VECTORS]) {
    VECTOR b[2][VECTORS];
    /* or gcc carries values from turn to turn in more registers than there are */
    __asm__("" : "+r"(left));
#pragma GCC unroll 2
    for (int i = 0; i < depths; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            b[i][v] = *(const VECTOR *)(right + i * WIDTH + v * LANES);
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
        for (int i = 0; i < depths; i++) {
            const VECTOR value = left[m * left_row + i * left_depth] - (VECTOR){0};
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                y[m][v] = FLOW_JOIN(KERNEL, _add_product)(y[m][v], value, b[i][v]);
            FLOW_STAYS(value);
        }
#pragma GCC unroll 2
    for (int i = 0; i < depths; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) FLOW_STAYS(b[i][v]);
}

/* sums[m, n] (+)= sum(k) left[m, k] * right[k, n] for a tile of `rows` rows. */
FLOW_TILE void FLOW_JOIN(KERNEL, _multiply)(const ELEMENT *restrict left, const int left_row,
                                            const int left_depth, const ELEMENT *restrict right,
                                            int64_t depth, ELEMENT *restrict sums, const int rows,
                                            const int adds) {
    const int pairs = (rows + 2) * VECTORS + 1 <= FLOW_OF_VECTORS(32, 16, 16, 32);
    const int64_t together = pairs ? depth / 2 * 2 : 0;
    /* a number that gcc does not know, so that all rows round alike: see windows.c */
    int64_t nothing = 0;
    __asm__("" : "+r"(nothing));
    const VECTOR zero = (VECTOR){0} + (ELEMENT)nothing;
    VECTOR y[ROWS_MOST][VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            y[m][v] = adds ? *(const VECTOR *)(sums + m * WIDE + v * LANES) : zero;
    for (int64_t k = 0; k < together; k += 2, left += 2 * left_depth, right += 2 * WIDTH)
        FLOW_JOIN(KERNEL, _add)(left, left_row, left_depth, right, rows, 2, y);
    for (int64_t k = together; k < depth; k++, left += left_depth, right += WIDTH)
        FLOW_JOIN(KERNEL, _add)(left, left_row, left_depth, right, rows, 1, y);
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) *(VECTOR *)(sums + m * WIDE + v * LANES) = y[m][v];
}
