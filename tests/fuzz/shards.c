/* Fuzz: shards as WebDataset writes them, of true images beside their classes, with any bytes
 * changed: three bytes of input say where and to what, in the archive or behind gzip. Every record
 * is decoded. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SIDE = 16, LARGEST = 1 << 15, BLOCK = 512 };

static uint8_t pixels[SIDE * SIDE * 3];

typedef struct Archive {
    uint8_t bytes[LARGEST];
    size_t size;
} Archive;

static void seal(uint8_t *header) {
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum & 0777777);
}

static void add(Archive *archive, const char *name, const void *content, size_t size) {
    uint8_t *header = archive->bytes + archive->size;
    snprintf((char *)header, 100, "%s", name);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)size);
    memcpy(header + 257, "ustar\00000", 8);
    header[156] = '0';
    seal(header);
    memcpy(header + BLOCK, content, size);
    archive->size += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

static void add_jpeg(Archive *archive, const char *name) {
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
    jpeg_start_compress(&image, TRUE);
    for (int y = 0; y < SIDE; y++)
        jpeg_write_scanlines(&image, (JSAMPROW[]){pixels + y * SIDE * 3}, 1);
    jpeg_finish_compress(&image);
    jpeg_destroy_compress(&image);
    add(archive, name, bytes, size);
    free(bytes);
}

static void add_png(Archive *archive, const char *name) {
    static uint8_t bytes[4096];
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = PNG_FORMAT_RGB};
    png_alloc_size_t size = sizeof bytes;
    if (!png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL)) abort();
    add(archive, name, bytes, size);
}

static void make_archive(Archive *archive) {
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i >> 4);
    add_jpeg(archive, "a/1.jpg");
    add(archive, "a/1.cls", "7", 1);
    add_png(archive, "a/2.jpg");
    add(archive, "a/2.cls", "12\n", 3);
    archive->size += 2 * BLOCK;
}

static void change(uint8_t *to, size_t size, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i + 2 < count; i += 3)
        to[(bytes[i] | bytes[i + 1] << 8) % size] = bytes[i + 2];
}

static void read_all(const char *path) {
    static uint8_t image[8 * 8 * 3];
    int32_t label;
    FlowStatus failure;
    FlowReader *reader;
    FlowField fields[] = {
        {.name = "jpg",
         .path = path,
         .type = {FLOW_u8, 3, {8, 8, 3}},
         .decoder = &flow_decoder_any,
         .image = {.fit = FLOW_FIT_random,
                   .method = FLOW_METHOD_bilinear,
                   .antialias = true,
                   .numbers = {0.1, 1, 0.75, 1.3}}},
        {.name = "cls", .path = path, .type = {.element = FLOW_i32}, .digits = true}};
    if (flow_source_tar.open(fields, 2, NULL, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_tar.records(reader); i++)
        flow_source_tar.make(reader, i, (void *[]){image, &label}, &failure);
    flow_source_tar.close(reader);
}

static void read_file(int descriptor, const char *path, const uint8_t *bytes, size_t size) {
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return;
    read_all(path);
}

static size_t pack(const Archive *archive, uint8_t *to, size_t room) {
    z_stream stream = {.next_in = (uint8_t *)archive->bytes,
                       .avail_in = (unsigned)archive->size,
                       .next_out = to,
                       .avail_out = (unsigned)room};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return stream.total_out;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    static Archive whole, changed;
    static uint8_t packed[LARGEST];
    if (descriptor < 0) {
        make_archive(&whole);
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (!size) return 0;
    changed = whole;
    bool behind = bytes[0] % 4 == 0;
    if (!behind) change(changed.bytes, changed.size, bytes + 1, size - 1);
    if (bytes[0] % 4 == 1) seal(changed.bytes);
    if (bytes[0] % 2) {
        read_file(descriptor, path, changed.bytes, changed.size);
        return 0;
    }
    size_t packed_size = pack(&changed, packed, sizeof packed);
    if (behind) change(packed, packed_size, bytes + 1, size - 1);
    read_file(descriptor, path, packed, packed_size);
    return 0;
}
