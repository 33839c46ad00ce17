/* Fuzz: any bytes as an image, whole, cut and resized. What begins with a byte below 128 is tried
 * as it is; else a few bytes of a true image are changed: three bytes say where and to what. */
#include "runtime/decode/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SIDE = 24, LARGEST = 1 << 14 };

static uint8_t pixels[SIDE * SIDE * 3];

static size_t write_jpeg(uint8_t *to, bool progressive) {
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct image = {.err = jpeg_std_error(&errors)};
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    jpeg_create_compress(&image);
    jpeg_mem_dest(&image, &bytes, &size);
    image.image_width = image.image_height = SIDE;
    image.input_components = 3;
    image.in_color_space = JCS_RGB;
    jpeg_set_defaults(&image);
    if (progressive) jpeg_simple_progression(&image);
    jpeg_start_compress(&image, TRUE);
    for (int y = 0; y < SIDE; y++)
        jpeg_write_scanlines(&image, (JSAMPROW[]){pixels + y * SIDE * 3}, 1);
    jpeg_finish_compress(&image);
    jpeg_destroy_compress(&image);
    memcpy(to, bytes, size);
    free(bytes);
    return size;
}

static size_t write_png(uint8_t *to) {
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = PNG_FORMAT_RGB};
    png_alloc_size_t size = LARGEST;
    return png_image_write_to_memory(&image, to, &size, 0, pixels, 0, NULL) ? size : 0;
}

static size_t write_image(int which, uint8_t *to) {
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i >> 5);
    return which == 2 ? write_png(to) : write_jpeg(to, which == 1);
}

static void make(const uint8_t *bytes, size_t size, FlowFit fit, int channels) {
    static uint8_t value[SIDE * SIDE * 4];
    FlowField field = {.type = {FLOW_u8, 3, {13, 17, channels}},
                       .decoder = &flow_decoder_any,
                       .image = {.fit = fit,
                                 .method = FLOW_METHOD_bilinear,
                                 .antialias = true,
                                 .approximate = true,
                                 .numbers = {fit == FLOW_FIT_short ? 20 : 0.1, 1, 0.75, 1.3}}};
    image_make(bytes, size, &field, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static uint8_t copies[3][LARGEST];
    static size_t sizes[3];
    for (int i = 0; i < 3 && !sizes[i]; i++) sizes[i] = write_image(i, copies[i]);
    uint8_t changed[LARGEST];
    if (size && bytes[0] >= 128) {
        int which = bytes[0] % 3;
        memcpy(changed, copies[which], sizes[which]);
        for (size_t i = 1; i + 2 < size; i += 3)
            changed[(bytes[i] | bytes[i + 1] << 8) % sizes[which]] = bytes[i + 2];
        bytes = changed;
        size = sizes[which];
    }
    for (FlowFit fit = FLOW_FIT_exact; fit <= FLOW_FIT_random; fit++)
        make(bytes, size, fit, fit == FLOW_FIT_middle ? 1 : fit == FLOW_FIT_place ? 4 : 3);
    return 0;
}
