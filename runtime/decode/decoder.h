/* Decoder: what reads one image format, row by row. */
#ifndef FLOW_DECODER_H
#define FLOW_DECODER_H

#include "runtime/decode/desk.h"
#include "runtime/flow.h"

/* Rows top … bottom-1 and columns left … right-1 of an image. */
typedef struct Region {
    int64_t top, bottom, left, right;
} Region;

typedef struct Measures {
    int64_t height, width;
    bool halves; /* the decoder can shrink it */
} Measures;

/* Takes the rows of the region from top to bottom: `row` begins with its left column and may be
 * read for ROW_PADDING bytes behind its end. */
typedef struct RowTaker {
    void (*take)(void *context, int64_t y, const uint8_t *row);
    void *context;
} RowTaker;

enum { ROW_PADDING = 64, HALVINGS_LIMIT = 3, PIXEL_LIMIT = 1 << 28 };

typedef struct DecoderRequest {
    int pixel;     /* bytes: 1 grey; 3 red, green, blue; 4 and alpha */
    int halvings;  /* how often height and width are halved, rounded up, before all else */
    Region region; /* of the image as it is then */
    RowTaker rows;
} DecoderRequest;

/* The texts of failures say what is wrong and not where. Any thread, with a desk of its own. */
struct FlowDecoder {
    const char *name;
    bool (*recognises)(const void *bytes, size_t size);
    FlowStatus (*measure)(Desk *desk, const void *bytes, size_t size, Measures *measures);
    /* Follows a measure of the same bytes at the same desk. Fails when the file does not tell each
     * pixel of the region. */
    FlowStatus (*decode)(Desk *desk, const void *bytes, size_t size, const DecoderRequest *request);
};

#endif
