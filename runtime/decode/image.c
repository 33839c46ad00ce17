/* Only the rows and columns that the result needs are decoded where the decoder can, and each row
 * goes on at once: the image itself lies nowhere. */
#include "runtime/decode/image.h"

#include "runtime/decode/crop.h"
#include "runtime/decode/resize.h"
#include "runtime/key.h"

#include <string.h>

/* Rows that are kept as they are. */
typedef struct Copying {
    uint8_t *to;
    int64_t top;
    size_t size;
} Copying;

static void copy_row(void *context, int64_t y, const uint8_t *row) {
    const Copying *copying = context;
    memcpy(copying->to + (size_t)(y - copying->top) * copying->size, row, copying->size);
}

static FlowStatus decode_part(Desk *desk, const FlowField *field, const Crop *crop,
                              const void *bytes, size_t size, void *value) {
    int channels = (int)field->type.sizes[2];
    const Axis *down = &crop->down, *across = &crop->across;
    Copying copying = {value, down->first, (size_t)(across->count * channels)};
    DecoderRequest request = {.pixel = channels,
                              .region = {down->first, down->first + down->count, across->first,
                                         across->first + across->count},
                              .rows = {copy_row, &copying}};
    return field->decoder->decode(desk, bytes, size, &request);
}

static FlowStatus decode_resized(Desk *desk, const FlowField *field, const Crop *crop,
                                 const void *bytes, size_t size, void *value) {
    const FlowImage *image = &field->image;
    ResizeRequest wanted = {crop->down,  crop->across,     image->method,
                            image->like, image->antialias, (int)field->type.sizes[2]};
    Resizing resizing;
    if (!resize_begin(desk, &wanted, value, &resizing)) return desk_no_memory();
    DecoderRequest request = {.pixel = wanted.channels == 1 ? 1 : 4,
                              .halvings = crop->halvings,
                              .region = resize_region(&resizing),
                              .rows = {resize_take, &resizing}};
    return field->decoder->decode(desk, bytes, size, &request);
}

static FlowStatus check_size(const Measures *measures) {
    if (measures->height <= PIXEL_LIMIT / measures->width) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "has %lld x %lld pixels, more than 2^28",
                        (long long)measures->height, (long long)measures->width);
}

FlowStatus image_make(const void *bytes, size_t size, const FlowField *field, void *value) {
    Desk *desk = desk_of_thread();
    Measures measures;
    Crop crop;
    if (!desk) return desk_no_memory();
    FlowStatus status = field->decoder->measure(desk, bytes, size, &measures);
    if (!status.exit) status = check_size(&measures);
    if (!status.exit)
        status = crop_choose(&field->image, &measures, &field->type, key_now(), &crop);
    if (status.exit) return status;
    return (crop.resized ? decode_resized : decode_part)(desk, field, &crop, bytes, size, value);
}
