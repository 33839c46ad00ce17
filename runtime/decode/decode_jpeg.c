/* jpeg: by libjpeg-turbo, whose errors jump. Each desk keeps one decompressor from image to image.
 * Colours are as the file's are said to be; four inks are taken for Adobe's, which are inverted.
 * The orientation that a camera has noted is not looked at. */
#include "runtime/decode/decoder.h"
#include "runtime/decode/grey.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
    SCAN_LIMIT = 200,    /* of a progressive image: more only cost time */
    PIXELS_A_BYTE = 512, /* at most: 8 blocks, of each at least one bit */
    FREE_PIXELS = 1 << 20,
    MARGIN = 2, /* columns beside a region that its colours depend on */
    SHIFT = 8, /* bytes: to aligned rows libjpeg-turbo writes past the caches, which we read from */
};

typedef struct Reading {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
    struct jpeg_decompress_struct image;
} Reading;

/* Messages. */

static void jump_out(j_common_ptr image) {
    Reading *reading = (Reading *)image->err;
    image->err->format_message(image, reading->text);
    longjmp(reading->out, 1);
}

/* A warning is an error where pixels are missing. */
static void hear_message(j_common_ptr image, int level) {
    if (level >= 0) return;
    switch (image->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: jump_out(image);
    }
}

static void watch_progress(j_common_ptr image) {
    Reading *reading = (Reading *)image->err;
    if (reading->image.input_scan_number <= SCAN_LIMIT) return;
    snprintf(reading->text, sizeof reading->text, "more than %d scans", SCAN_LIMIT);
    longjmp(reading->out, 1);
}

static FlowStatus failure(Reading *reading) {
    bool starved = reading->errors.msg_code == JERR_OUT_OF_MEMORY;
    reading->errors.msg_code = 0;
    jpeg_abort_decompress(&reading->image);
    if (starved) return desk_no_memory();
    return flow_failure(FLOW_EXIT_data, "can't be decoded: %.200s", reading->text);
}

/* The desk's decompressor. */

static void drop(void *jpeg) {
    Reading *reading = jpeg;
    jpeg_destroy_decompress(&reading->image);
    free(reading);
}

static bool create(Reading *reading) {
    if (setjmp(reading->out)) return false;
    jpeg_create_decompress(&reading->image);
    return true;
}

static Reading *make_reading(Desk *desk) {
    Reading *reading = calloc(1, sizeof *reading);
    if (!reading) return NULL;
    reading->image.err = jpeg_std_error(&reading->errors);
    reading->errors.error_exit = jump_out;
    reading->errors.emit_message = hear_message;
    if (!create(reading)) {
        free(reading);
        return NULL;
    }
    reading->progress.progress_monitor = watch_progress;
    reading->image.progress = &reading->progress;
    desk->jpeg = reading;
    desk->drop_jpeg = drop;
    return reading;
}

static bool jpeg_recognises(const void *bytes, size_t size) {
    return size >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3);
}

static FlowStatus jpeg_measure(Desk *desk, const void *bytes, size_t size, Measures *measures) {
    Reading *reading = desk->jpeg ? desk->jpeg : make_reading(desk);
    if (!reading) return desk_no_memory();
    if (setjmp(reading->out)) return failure(reading);
    jpeg_abort_decompress(&reading->image);
    jpeg_mem_src(&reading->image, bytes, size);
    jpeg_read_header(&reading->image, TRUE);
    *measures = (Measures){reading->image.image_height, reading->image.image_width, true};
    int64_t pixels = measures->height * measures->width;
    if (pixels <= FREE_PIXELS || (uint64_t)pixels / PIXELS_A_BYTE <= size) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "has %lld bytes, too few for its %lld x %lld pixels",
                        (long long)size, (long long)measures->height, (long long)measures->width);
}

/* Colours. */

static void choose_colours(struct jpeg_decompress_struct *image, int pixel) {
    bool inks = image->jpeg_color_space == JCS_CMYK || image->jpeg_color_space == JCS_YCCK;
    if (inks) image->out_color_space = JCS_CMYK;
    else if (pixel == 1) image->out_color_space = JCS_GRAYSCALE;
    else image->out_color_space = pixel == 3 ? JCS_RGB : JCS_EXT_RGBA;
}

static uint8_t under_black(int ink, int black) {
    int product = (255 - ink) * black + 128;
    int colour = black - ((product + (product >> 8)) >> 8);
    return (uint8_t)(colour < 0 ? 0 : colour);
}

/* Inverted inks become colours, in place. */
static void mix_inks(uint8_t *row, int64_t width, int pixel) {
    for (int64_t x = 0; x < width; x++) {
        const uint8_t *inks = row + 4 * x;
        uint8_t black = inks[3];
        uint8_t colours[] = {under_black(inks[0], black), under_black(inks[1], black),
                             under_black(inks[2], black), 255};
        if (pixel == 1) row[x] = grey_of(colours[0], colours[1], colours[2]);
        else memcpy(row + pixel * x, colours, (size_t)pixel);
    }
}

/* Rows. */

/* Of the columns that are decoded the first, which is not to the right of the region's. */
static int64_t choose_columns(struct jpeg_decompress_struct *image, const Region *region) {
    int64_t left = region->left > MARGIN ? region->left - MARGIN : 0;
    int64_t right = region->right + MARGIN;
    if (right > image->output_width) right = image->output_width;
    if (left == 0 && right == image->output_width) return 0;
    JDIMENSION first = (JDIMENSION)left, width = (JDIMENSION)(right - left);
    jpeg_crop_scanline(image, &first, &width);
    return first;
}

/* Rows below the region are not looked at. */
static void read_rows(struct jpeg_decompress_struct *image, const DecoderRequest *request,
                      int64_t first, uint8_t *row) {
    const Region *region = &request->region;
    const uint8_t *left = row + (region->left - first) * request->pixel;
    if (region->top) jpeg_skip_scanlines(image, (JDIMENSION)region->top);
    for (int64_t y = region->top; y < region->bottom; y++) {
        jpeg_read_scanlines(image, &row, 1);
        if (image->out_color_space == JCS_CMYK) mix_inks(row, image->output_width, request->pixel);
        request->rows.take(request->rows.context, y, left);
    }
    if (region->bottom == image->output_height) jpeg_finish_decompress(image);
}

/* Bytes of an image whose colours come in several scans: they are kept until the last has come. */
static size_t coefficients_of(struct jpeg_decompress_struct *image) {
    size_t size = 0;
    if (!jpeg_has_multiple_scans(image)) return 0;
    for (int i = 0; i < image->num_components; i++) {
        const jpeg_component_info *part = &image->comp_info[i];
        size += ((size_t)part->width_in_blocks + MAX_SAMP_FACTOR) *
                ((size_t)part->height_in_blocks + MAX_SAMP_FACTOR) * sizeof(JBLOCK);
    }
    return size;
}

static FlowStatus jpeg_decode(Desk *desk, const void *bytes, size_t size,
                              const DecoderRequest *request) {
    Reading *reading = desk->jpeg;
    struct jpeg_decompress_struct *image = &reading->image;
    (void)bytes;
    (void)size;
    uint8_t *row = room_for(&desk->row, SHIFT + (size_t)image->image_width * 4 + ROW_PADDING);
    if (!row || !room_counted(&desk->coefficients, coefficients_of(image))) return desk_no_memory();
    if (setjmp(reading->out)) return failure(reading);
    choose_colours(image, request->pixel);
    image->scale_num = 1;
    image->scale_denom = 1u << request->halvings;
    jpeg_start_decompress(image);
    read_rows(image, request, choose_columns(image, &request->region), row + SHIFT);
    return flow_ok;
}

const FlowDecoder flow_decoder_jpeg = {"jpeg", jpeg_recognises, jpeg_measure, jpeg_decode};
