/* image: JPEG and PNG of every kind, whole and in parts, resized and not; clear errors for what is
 * truncated or too large, and no byte of a file that does harm. */
#include "runtime/decode/image.h"
#include "runtime/key.h"
#include "tests/runtime/test.h"

#include <math.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

enum { HEIGHT = 75, WIDTH = 107, LARGEST = 1 << 16 };

typedef struct File {
    unsigned char *bytes;
    size_t size;
} File;

static uint8_t original[HEIGHT * WIDTH * 3];

/* Smooth, with some noise. */
static void draw_original(void) {
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 3; c++) {
                double wave = sin(x * 0.13 + c) * cos(y * 0.09 - c) * 100;
                original[(y * WIDTH + x) * 3 + c] = (uint8_t)(128 + wave + (x * y * 7 + c) % 20);
            }
}

typedef struct JpegForm {
    bool progressive, turned, grey;
    int across, down; /* of colours against brightness */
} JpegForm;

static File write_jpeg(JpegForm form) {
    static const unsigned char turned[] = "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0";
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct image = {.err = jpeg_std_error(&errors)};
    File file = {NULL, 0};
    unsigned long size = 0;
    jpeg_create_compress(&image);
    jpeg_mem_dest(&image, &file.bytes, &size);
    image.image_width = WIDTH;
    image.image_height = HEIGHT;
    image.input_components = 3;
    image.in_color_space = JCS_RGB;
    jpeg_set_defaults(&image);
    if (form.grey) jpeg_set_colorspace(&image, JCS_GRAYSCALE);
    if (form.progressive) jpeg_simple_progression(&image);
    if (form.across) image.comp_info[0].h_samp_factor = form.across;
    if (form.down) image.comp_info[0].v_samp_factor = form.down;
    jpeg_start_compress(&image, TRUE);
    if (form.turned) jpeg_write_marker(&image, JPEG_APP0 + 1, turned, sizeof turned);
    for (int y = 0; y < HEIGHT; y++)
        jpeg_write_scanlines(&image, (JSAMPROW[]){original + y * WIDTH * 3}, 1);
    jpeg_finish_compress(&image);
    jpeg_destroy_compress(&image);
    file.size = size;
    return file;
}

static void append(png_structp png, png_bytep bytes, size_t count) {
    File *file = png_get_io_ptr(png);
    if (file->size + count > LARGEST) png_error(png, "too large");
    memcpy(file->bytes + file->size, bytes, count);
    file->size += count;
}

static File write_png(int interlace) {
    File file = {malloc(LARGEST), 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_bytep rows[HEIGHT];
    if (setjmp(png_jmpbuf(png))) exit(99);
    for (int y = 0; y < HEIGHT; y++) rows[y] = original + y * WIDTH * 3;
    png_set_write_fn(png, &file, append, NULL);
    png_set_IHDR(png, info, WIDTH, HEIGHT, 8, PNG_COLOR_TYPE_RGB, interlace, 0, 0);
    png_set_rows(png, info, rows);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    return file;
}

static FlowField field_of(int height, int width, int channels, FlowImage image) {
    return (FlowField){.name = "image",
                       .type = {FLOW_u8, 3, {height, width, channels}},
                       .decoder = &flow_decoder_any,
                       .image = image};
}

static FlowImage fitted(FlowFit fit, double first, double second) {
    return (FlowImage){.fit = fit,
                       .method = FLOW_METHOD_bilinear,
                       .antialias = true,
                       .numbers = {first, second, 0.75, 4.0 / 3}};
}

static bool made(const File *file, const FlowField *field, void *value) {
    FlowStatus status = image_make(file->bytes, file->size, field, value);
    CHECK(!status.exit, "%s", status.text);
    return !status.exit;
}

static void refuses(const File *file, const FlowField *field, const char *says) {
    static uint8_t value[HEIGHT * WIDTH * 4];
    FlowStatus status = image_make(file->bytes, file->size, field, value);
    CHECK(status.exit == FLOW_EXIT_data, "`%s` was expected, exit %d", says, (int)status.exit);
    CHECK_SAYS(status.text, says);
}

static const FlowField whole = {
    .name = "image", .type = {FLOW_u8, 3, {HEIGHT, WIDTH, 3}}, .decoder = &flow_decoder_any};

/* What is decoded. */

static void png_is_exact(void) {
    static uint8_t pixels[sizeof original];
    for (int interlace = 0; interlace < 2; interlace++) {
        File file = write_png(interlace);
        made(&file, &whole, pixels);
        CHECK(!memcmp(pixels, original, sizeof original), "interlace %d", interlace);
        free(file.bytes);
    }
}

static void orientation_is_not_looked_at(void) {
    static uint8_t pixels[sizeof original], turned[sizeof original];
    File plain = write_jpeg((JpegForm){0}), noted = write_jpeg((JpegForm){.turned = true});
    CHECK(noted.size > plain.size, "the note is missing");
    if (made(&plain, &whole, pixels) && made(&noted, &whole, turned))
        CHECK(!memcmp(pixels, turned, sizeof pixels), "the image was turned");
    free(plain.bytes);
    free(noted.bytes);
}

/* Parts are what they are of the whole, whichever rows and columns are decoded for them. */
static void check_parts(const File *file, const char *what, int channels) {
    static uint8_t pixels[sizeof original], part[sizeof original];
    FlowField all = field_of(HEIGHT, WIDTH, channels, (FlowImage){0});
    if (!made(file, &all, pixels)) return;
    for (int i = 0; i < 300; i++) {
        int height = 1 + i * 7 % HEIGHT, width = 1 + i * 13 % WIDTH;
        int top = i * 31 % (HEIGHT - height + 1), left = i * 17 % (WIDTH - width + 1);
        FlowField cut = field_of(height, width, channels, fitted(FLOW_FIT_place, top, left));
        if (!made(file, &cut, part)) return;
        for (int y = 0; y < height; y++) {
            const uint8_t *row = pixels + ((top + y) * WIDTH + left) * channels;
            bool same = !memcmp(part + y * width * channels, row, (size_t)(width * channels));
            CHECK(same, "%s, %d channels: row %d of %d x %d from %d, %d", what, channels, y, height,
                  width, top, left);
            if (!same) return;
        }
    }
}

static void parts_are_exact(void) {
    static const JpegForm forms[] = {{0},
                                     {.progressive = true},
                                     {.across = 1, .down = 1},
                                     {.across = 2, .down = 1},
                                     {.across = 1, .down = 2},
                                     {.across = 4, .down = 1},
                                     {.grey = true}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char what[32];
        File file = write_jpeg(forms[i]);
        snprintf(what, sizeof what, "form %zu", i);
        check_parts(&file, what, 3);
        check_parts(&file, what, 1);
        free(file.bytes);
    }
    File file = write_png(1);
    check_parts(&file, "png", 3);
    free(file.bytes);
}

/* Resizing. */

/* As the definition says, in double; bytes in between. */
static void shrink_line(const uint8_t *from, int size, int step, uint8_t *to, int count,
                        int to_step) {
    double scale = (double)size / count, reach = scale > 1 ? scale : 1;
    for (int i = 0; i < count; i++) {
        double sum = 0, weights = 0, middle = (i + 0.5) * scale;
        for (int k = 0; k < size; k++) {
            double weight = 1 - fabs(k + 0.5 - middle) / reach;
            if (weight <= 0) continue;
            sum += weight * from[k * step];
            weights += weight;
        }
        to[i * to_step] = (uint8_t)(sum / weights + 0.5);
    }
}

static void resize_slowly(int height, int width, uint8_t *to) {
    static uint8_t between[HEIGHT * 1024 * 3];
    for (int y = 0; y < HEIGHT; y++)
        for (int c = 0; c < 3; c++)
            shrink_line(original + y * WIDTH * 3 + c, WIDTH, 3, between + y * width * 3 + c, width,
                        3);
    for (int x = 0; x < width * 3; x++)
        shrink_line(between + x, HEIGHT, width * 3, to + x, height, width * 3);
}

static int largest_difference(const uint8_t *a, const uint8_t *b, int count) {
    int largest = 0;
    for (int i = 0; i < count; i++)
        if (abs(a[i] - b[i]) > largest) largest = abs(a[i] - b[i]);
    return largest;
}

static void resizes(void) {
    static const int sizes[][2] = {{24, 31}, {75, 50}, {30, 107}, {1, 1}, {200, 300}, {74, 106}};
    static uint8_t pixels[1 << 18], expected[1 << 18];
    File file = write_png(0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int height = sizes[i][0], width = sizes[i][1];
        FlowField field = field_of(height, width, 3, fitted(FLOW_FIT_whole, 0, 0));
        resize_slowly(height, width, expected);
        for (FlowLike like = FLOW_LIKE_pil; like <= FLOW_LIKE_tensorflow; like++) {
            field.image.like = like;
            if (!made(&file, &field, pixels)) break;
            int difference = largest_difference(pixels, expected, height * width * 3);
            CHECK(difference <= 1, "%d x %d like %d: %d", height, width, (int)like, difference);
        }
    }
    free(file.bytes);
}

/* The short side is resized to 40, the long one so that nothing is distorted; of that the
 * middle. */
static void cuts_the_middle(void) {
    static uint8_t pixels[40 * 40 * 3], large[40 * 57 * 3];
    File file = write_png(0);
    FlowField short_side = field_of(40, 40, 3, fitted(FLOW_FIT_short, 40, 0));
    FlowField all = field_of(40, 57, 3, fitted(FLOW_FIT_whole, 0, 0));
    if (made(&file, &short_side, pixels) && made(&file, &all, large))
        for (int y = 0; y < 40; y++)
            CHECK(!memcmp(pixels + y * 120, large + y * 171 + 24, 120), "row %d", y);
    FlowField wide = field_of(40, 60, 3, fitted(FLOW_FIT_short, 40, 0));
    refuses(&file, &wide, "is resized to 40 x 57, less than u8[40, 60, 3]");
    free(file.bytes);
}

static void halves_where_it_may(void) {
    static uint8_t exact[15 * 20 * 3], halved[15 * 20 * 3];
    File file = write_jpeg((JpegForm){0});
    FlowField field = field_of(15, 20, 3, fitted(FLOW_FIT_whole, 0, 0));
    made(&file, &field, exact);
    field.image.approximate = true;
    made(&file, &field, halved);
    int difference = largest_difference(exact, halved, sizeof exact);
    CHECK(difference > 0 && difference < 24, "%d", difference);
    free(file.bytes);
}

static void random_boxes_follow_the_key(void) {
    static uint8_t first[16 * 16 * 3], again[16 * 16 * 3];
    File file = write_jpeg((JpegForm){0});
    FlowField field = field_of(16, 16, 3, fitted(FLOW_FIT_random, 0.08, 1));
    int others = 0;
    key_set(5);
    made(&file, &field, first);
    for (uint64_t key = 0; key < 200; key++) {
        key_set(key);
        if (!made(&file, &field, again)) break;
        bool same = !memcmp(first, again, sizeof first);
        others += !same;
        CHECK(same || key != 5, "the same key gives other pixels");
    }
    CHECK(others == 199, "%d of 199 keys give other pixels", others);
    field.image.stream = 1;
    key_set(5);
    made(&file, &field, again);
    CHECK(memcmp(first, again, sizeof first), "another field has the same box");
    free(file.bytes);
}

/* What is wrong. */

static void refuses_truncation(void) {
    File files[] = {write_jpeg((JpegForm){0}), write_jpeg((JpegForm){.progressive = true}),
                    write_png(0), write_png(1)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t size = 0; size < files[i].size; size += size < 700 ? 1 : 17) {
            File cut = {files[i].bytes, size};
            refuses(&cut, &whole, "");
        }
        free(files[i].bytes);
    }
}

/* Either an error or some pixels. */
static void survives_wrong_bytes(void) {
    static const uint8_t wrong[] = {0, 0x7f, 0x80, 0xff};
    static uint8_t value[sizeof original];
    File files[] = {write_jpeg((JpegForm){0}), write_jpeg((JpegForm){.progressive = true}),
                    write_png(0)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t at = 0; at < files[i].size; at += at < 700 ? 1 : 67)
            for (int j = 0; j < 4; j++) {
                uint8_t right = files[i].bytes[at];
                files[i].bytes[at] = wrong[j];
                FlowField field = field_of(20, 20, 3, fitted(FLOW_FIT_whole, 0, 0));
                FlowStatus status = image_make(files[i].bytes, files[i].size, &field, value);
                CHECK(!status.exit || status.text[0], "byte %zu: no text", at);
                files[i].bytes[at] = right;
            }
        free(files[i].bytes);
    }
}

static void refuses_bombs(void) {
    File jpeg = write_jpeg((JpegForm){0});
    FlowField field = field_of(8, 8, 3, fitted(FLOW_FIT_whole, 0, 0));
    unsigned char *header = NULL;
    for (size_t i = 0; i + 9 < jpeg.size && !header; i++)
        if (jpeg.bytes[i] == 0xff && jpeg.bytes[i + 1] == 0xc0) header = jpeg.bytes + i;
    memcpy(header + 5, "\xff\xdc\xff\xdc", 4);
    refuses(&jpeg, &field, "too few for its 65500 x 65500 pixels");
    File png = write_png(0);
    memcpy(png.bytes + 16, "\0\0\x50\0\0\0\x50\0", 8);
    png_uint_32 sum = (png_uint_32)crc32(0, png.bytes + 12, 17);
    png_save_uint_32(png.bytes + 29, sum);
    refuses(&png, &field, "has 20480 x 20480 pixels, more than 2^28");
    free(jpeg.bytes);
    free(png.bytes);
}

static void says_what_is_wrong(void) {
    File none = {(unsigned char *)"GIF89a", 6}, file = write_png(0);
    refuses(&none, &whole, "is neither JPEG nor PNG");
    FlowField small = field_of(HEIGHT, 20, 3, (FlowImage){0});
    refuses(&file, &small, "is u8[75, 107, 3], the program expects u8[75, 20, 3]");
    FlowField beyond = field_of(HEIGHT, 20, 3, fitted(FLOW_FIT_place, 1, 0));
    refuses(&file, &beyond, "the program expects at least u8[75, 20, 3]");
    FlowField large = field_of(HEIGHT + 1, 20, 3, fitted(FLOW_FIT_middle, 0, 0));
    refuses(&file, &large, "the program expects at least u8[76, 20, 3]");
    free(file.bytes);
}

int main(void) {
    draw_original();
    png_is_exact();
    orientation_is_not_looked_at();
    parts_are_exact();
    resizes();
    cuts_the_middle();
    halves_where_it_may();
    random_boxes_follow_the_key();
    refuses_truncation();
    survives_wrong_bytes();
    refuses_bombs();
    says_what_is_wrong();
    return test_result();
}
