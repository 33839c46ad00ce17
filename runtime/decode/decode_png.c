/* png: by libpng, whose errors jump. Of 16 bits the upper 8 are taken; transparency is dropped
 * where the program asks for colours or grey alone. */
#include "runtime/decode/decoder.h"
#include "runtime/decode/grey.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reading {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t left;
    bool starved; /* there was no memory */
    char text[128];
} Reading;

/* What libpng calls. */

static void jump_out(png_structp png, png_const_charp text) {
    Reading *reading = png_get_error_ptr(png);
    snprintf(reading->text, sizeof reading->text, "%s", text);
    png_longjmp(png, 1);
}

static void be_quiet(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void read_bytes(png_structp png, png_bytep to, size_t count) {
    Reading *reading = png_get_io_ptr(png);
    if (count > reading->left) png_error(png, "the file ends too early");
    memcpy(to, reading->bytes, count);
    reading->bytes += count;
    reading->left -= count;
}

static png_voidp take_memory(png_structp png, png_alloc_size_t size) {
    Reading *reading = png_get_mem_ptr(png);
    void *bytes = malloc(size);
    reading->starved |= !bytes;
    return bytes;
}

static void give_memory(png_structp png, png_voidp bytes) {
    (void)png;
    free(bytes);
}

/* Beginning and end. */

/* Chunks that say nothing of pixels are passed over: they may be packed, and large. */
static void pass_over(png_structp png) {
    static const png_byte names[] = "iCCP\0zTXt\0iTXt\0tEXt\0sPLT\0eXIf\0hIST\0pCAL\0sCAL\0tIME";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

static FlowStatus begin(Reading *reading, const void *bytes, size_t size) {
    reading->bytes = bytes;
    reading->left = size;
    reading->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reading, jump_out, be_quiet,
                                            reading, take_memory, give_memory);
    if (reading->png) reading->info = png_create_info_struct(reading->png);
    if (reading->info) return flow_ok;
    png_destroy_read_struct(&reading->png, &reading->info, NULL);
    return desk_no_memory();
}

static FlowStatus finish(Reading *reading, bool good) {
    png_destroy_read_struct(&reading->png, &reading->info, NULL);
    if (reading->starved) return desk_no_memory();
    return good ? flow_ok : flow_failure(FLOW_EXIT_data, "can't be decoded: %s", reading->text);
}

static void read_header(Reading *reading) {
    png_set_read_fn(reading->png, reading, read_bytes);
    pass_over(reading->png);
    png_read_info(reading->png, reading->info);
}

static bool png_recognises(const void *bytes, size_t size) {
    return size >= 8 && !png_sig_cmp(bytes, 0, 8);
}

static FlowStatus png_measure(Desk *desk, const void *bytes, size_t size, Measures *measures) {
    Reading reading = {.text = ""};
    FlowStatus status = begin(&reading, bytes, size);
    (void)desk;
    if (status.exit) return status;
    if (setjmp(png_jmpbuf(reading.png))) return finish(&reading, false);
    read_header(&reading);
    *measures = (Measures){.height = png_get_image_height(reading.png, reading.info),
                           .width = png_get_image_width(reading.png, reading.info)};
    return finish(&reading, true);
}

/* Rows. */

static bool has_colours(const Reading *reading) {
    return png_get_color_type(reading->png, reading->info) & PNG_COLOR_MASK_COLOR;
}

/* Rows come as 1 byte of grey, or 3 or 4 bytes of colours. Returns how many. */
static int choose_form(const Reading *reading, int pixel) {
    png_structp png = reading->png;
    bool colours = has_colours(reading);
    png_set_expand(png);
    png_set_strip_16(png);
    if (pixel != 4) png_set_strip_alpha(png);
    else png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    if (pixel != 1) png_set_gray_to_rgb(png);
    return pixel == 1 && colours ? 3 : pixel;
}

static void give_row(const DecoderRequest *request, int64_t y, uint8_t *row, int form) {
    const Region *region = &request->region;
    if (y < region->top || y >= region->bottom) return;
    for (int64_t x = region->left; form != request->pixel && x < region->right; x++)
        row[x] = grey_of(row[form * x], row[form * x + 1], row[form * x + 2]);
    request->rows.take(request->rows.context, y, row + region->left * request->pixel);
}

/* Row by row; what lies below the region is not looked at. */
static bool read_rows(Reading *reading, Desk *desk, const DecoderRequest *request, int form,
                      int64_t height) {
    size_t size = png_get_rowbytes(reading->png, reading->info);
    uint8_t *row = room_for(&desk->row, size + ROW_PADDING);
    for (int64_t y = 0; row && y < request->region.bottom; y++) {
        png_read_row(reading->png, row, NULL);
        give_row(request, y, row, form);
    }
    if (row && request->region.bottom == height) png_read_end(reading->png, NULL);
    return row;
}

/* Interlaced: a row is known when all passes have gone over it. */
static bool read_passes(Reading *reading, Desk *desk, const DecoderRequest *request, int form,
                        int64_t height, int passes) {
    size_t size = png_get_rowbytes(reading->png, reading->info);
    uint8_t *rows = room_for(&desk->image, size * (size_t)height + ROW_PADDING);
    if (!rows) return false;
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < height; y++)
            png_read_row(reading->png, rows + (size_t)y * size, NULL);
    png_read_end(reading->png, NULL);
    for (int64_t y = 0; y < height; y++) give_row(request, y, rows + (size_t)y * size, form);
    return true;
}

static bool read_image(Reading *reading, Desk *desk, const DecoderRequest *request) {
    read_header(reading);
    int form = choose_form(reading, request->pixel);
    int passes = png_set_interlace_handling(reading->png);
    int64_t height = png_get_image_height(reading->png, reading->info);
    png_read_update_info(reading->png, reading->info);
    return passes > 1 ? read_passes(reading, desk, request, form, height, passes)
                      : read_rows(reading, desk, request, form, height);
}

static FlowStatus png_decode(Desk *desk, const void *bytes, size_t size,
                             const DecoderRequest *request) {
    Reading reading = {.text = ""};
    FlowStatus status = begin(&reading, bytes, size);
    if (status.exit) return status;
    if (setjmp(png_jmpbuf(reading.png))) return finish(&reading, false);
    reading.starved |= !read_image(&reading, desk, request);
    return finish(&reading, true);
}

const FlowDecoder flow_decoder_png = {"png", png_recognises, png_measure, png_decode};
