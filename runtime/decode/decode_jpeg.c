/* jpeg: by libjpeg, whose errors jump. */
#include "runtime/flow.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum { SCAN_LIMIT = 200 }; /* of a progressive image: more only cost time */

typedef struct Reading {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
    struct jpeg_decompress_struct image;
} Reading;

static void jump_out(j_common_ptr image) {
    Reading *reading = (Reading *)image->err;
    image->err->format_message(image, reading->text);
    longjmp(reading->out, 1);
}

/* A warning is an error where pixels are missing. */
static void hear_message(j_common_ptr image, int level) {
    int code = image->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) jump_out(image);
}

static void watch_progress(j_common_ptr image) {
    Reading *reading = (Reading *)image->err;
    if (reading->image.input_scan_number <= SCAN_LIMIT) return;
    snprintf(reading->text, sizeof reading->text, "more than %d scans", SCAN_LIMIT);
    longjmp(reading->out, 1);
}

static void start(Reading *reading, const void *bytes, size_t size) {
    reading->image.err = jpeg_std_error(&reading->errors);
    reading->errors.error_exit = jump_out;
    reading->errors.emit_message = hear_message;
    jpeg_create_decompress(&reading->image);
    reading->progress.progress_monitor = watch_progress;
    reading->image.progress = &reading->progress;
    jpeg_mem_src(&reading->image, bytes, size);
    jpeg_read_header(&reading->image, TRUE);
}

static FlowStatus finish(Reading *reading, bool good) {
    jpeg_destroy_decompress(&reading->image);
    return good ? flow_ok : flow_failure(FLOW_EXIT_data, "can't be decoded: %.200s", reading->text);
}

static FlowStatus jpeg_measure(const void *bytes, size_t size, int64_t *height, int64_t *width) {
    Reading reading = {.text = ""};
    if (setjmp(reading.out)) return finish(&reading, false);
    start(&reading, bytes, size);
    *height = reading.image.image_height;
    *width = reading.image.image_width;
    return finish(&reading, true);
}

static void read_rows(Reading *reading, const FlowType *type, unsigned char *pixels) {
    size_t row = (size_t)(type->sizes[1] * type->sizes[2]);
    reading->image.out_color_space = type->sizes[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&reading->image);
    while (reading->image.output_scanline < reading->image.output_height) {
        unsigned char *at = pixels + reading->image.output_scanline * row;
        jpeg_read_scanlines(&reading->image, &at, 1);
    }
    jpeg_finish_decompress(&reading->image);
}

static FlowStatus jpeg_decode(const void *bytes, size_t size, const FlowType *type, void *pixels) {
    Reading reading = {.text = ""};
    if (setjmp(reading.out)) return finish(&reading, false);
    start(&reading, bytes, size);
    read_rows(&reading, type, pixels);
    return finish(&reading, true);
}

const FlowDecoder flow_decoder_jpeg = {"jpeg", jpeg_measure, jpeg_decode};
