/* packed: files of several compressed parts, and clear errors for every truncation, damage,
 * bombs. */
#include "runtime/content.h"
#include "runtime/packed.h"
#include "tests/runtime/test.h"

#include <zlib.h>
#include <zstd.h>

enum { LARGEST = 1 << 16 };

typedef size_t Compress(const void *bytes, size_t size, char *to, size_t room);

static size_t compress_gzip(const void *bytes, size_t size, char *to, size_t room) {
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (unsigned)size};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY)) exit(99);
    stream.next_out = (Bytef *)to;
    stream.avail_out = (unsigned)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) exit(99);
    deflateEnd(&stream);
    return stream.total_out;
}

/* With the sum of the content, so that every damage is seen. */
static size_t compress_zstd(const void *bytes, size_t size, char *to, size_t room) {
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t count = ZSTD_compress2(context, to, room, bytes, size);
    if (ZSTD_isError(count)) exit(99);
    ZSTD_freeCCtx(context);
    return count;
}

static const struct {
    const char *name;
    Compress *compress;
} codecs[] = {{"gzip", compress_gzip}, {"zstd", compress_zstd}};

static char packed[LARGEST];

static FlowStatus read_packed(size_t size, Content *content) {
    write_test_file("a.packed", packed, size);
    return content_read("a.packed", content);
}

static void reads(size_t size, const void *expected, size_t expected_size, const char *what) {
    Content content;
    FlowStatus status = read_packed(size, &content);
    CHECK(!status.exit, "%s: %s", what, status.text);
    CHECK(status.exit || content.size == expected_size, "%s: %zu bytes", what, content.size);
    CHECK(status.exit || !memcmp(content.bytes, expected, expected_size), "%s: other bytes", what);
    content_free(&content);
}

static void refuses(size_t size, const char *says, const char *what) {
    Content content;
    FlowStatus status = read_packed(size, &content);
    CHECK(status.exit == FLOW_EXIT_data, "%s: %zu bytes were taken", what, size);
    CHECK_SAYS(status.text, says);
    content_free(&content);
}

/* Two parts with text that compresses and text that does not. */
static void reads_parts(const char *name, Compress *compress) {
    char text[4000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i < 2000 ? i % 7 : (i * i * 2654435761u) >> 13);
    size_t first = compress(text, 1000, packed, LARGEST);
    size_t size = first + compress(text + 1000, 3000, packed + first, LARGEST - first);
    reads(size, text, sizeof text, name);
    for (size_t i = 1; i < size; i++) {
        Content content;
        FlowStatus status = read_packed(i, &content);
        bool whole = i == first; /* nobody can know that there was a second part */
        bool plain = !status.exit && content.size == i; /* too short to be seen as compressed */
        CHECK(whole ? !status.exit : status.exit || (plain && i < 4), "%s: %zu bytes", name, i);
        if (status.exit) CHECK_SAYS(status.text, "a.packed: the compressed data ends early");
        content_free(&content);
    }
    memcpy(packed + size, "garbage", 7);
    refuses(size + 7, "follows the compressed data", name);
    size += compress("", 0, packed + size, LARGEST - size);
    reads(size, text, sizeof text, "an empty part at the end");
}

/* What is read of damaged files is either refused or what it was: never a crash, never other
 * data. */
static void survives_damage(const char *name, Compress *compress) {
    static const char text[] = "some text some text some more text 0123456789 some text";
    static const unsigned char marks[] = {0x00, 0x7f, 0x80, 0xff, 0x04};
    size_t size = compress(text, sizeof text, packed, LARGEST);
    for (size_t i = 4; i < size; i++) /* those before tell that it is compressed */
        for (size_t mark = 0; mark < sizeof marks; mark++) {
            Content content;
            char before = packed[i];
            packed[i] = (char)marks[mark];
            FlowStatus status = read_packed(size, &content);
            bool same = !status.exit && content.size == sizeof text &&
                        !memcmp(content.bytes, text, sizeof text);
            CHECK(status.exit || same, "%s: byte %zu as %02x gives other text", name, i,
                  marks[mark]);
            content_free(&content);
            packed[i] = before;
        }
}

/* Any file may hold 1 MiB. */
static void bounds_bombs(const char *name, Compress *compress) {
    enum { ROOM = 1 << 20, BOMB = 64 << 20 };
    char *zeros = calloc(1, BOMB);
    if (!zeros) exit(99);
    size_t size = compress(zeros, ROOM, packed, LARGEST);
    reads(size, zeros, ROOM, name);
    if (compress == compress_zstd) {
        size = compress(zeros, ROOM + 1, packed, LARGEST);
        refuses(size, "a.packed: unpacks to more than 1048576 bytes", name);
        size = compress(zeros, BOMB, packed, LARGEST);
        refuses(size, "decompression bomb", name);
    }
    free(zeros);
}

static void skips_frames(void) {
    static const char skipped[] = "\x5a\x2a\x4d\x18\x03\0\0\0abc";
    memcpy(packed, skipped, 11);
    size_t size = 11 + compress_zstd("text", 4, packed + 11, LARGEST);
    memcpy(packed + size, skipped, 11);
    reads(size + 11, "text", 4, "frames to be skipped");
    refuses(size + 10, "ends early", "frames to be skipped");
}

/* A frame may say that it needs any window: 2^41 bytes here. */
static void refuses_windows(void) {
    memcpy(packed, "\x28\xb5\x2f\xfd\x00\xf8\x09\x00\x00x", 10);
    refuses(10, "a window of more than 128 MiB", "zstd");
}

static void knows_names(void) {
    CHECK(packed_is_named("a.gz") && packed_is_named("b/a.zst"), "names that say it");
    CHECK(!packed_is_named("a.gz.bin") && !packed_is_named("zst"), "names that do not");
}

/* Of a plain file, bytes of its beginning, then all others and one more. */
static void reads_plain(size_t size) {
    enum { FIRST = 7 };
    unsigned char *bytes = malloc(size), *found = calloc(size + 1, 1);
    size_t count = 0;
    Packed *file;
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i * 2654435761U >> 9);
    write_test_file("a.plain", bytes, size);
    CHECK(!packed_open("a.plain", &file).exit, "a plain file is not opened");
    CHECK(!packed_read(file, found, FIRST).exit, "its beginning is not read");
    CHECK(!packed_read_some(file, found + FIRST, size + 1 - FIRST, &count).exit, "not read");
    CHECK(FIRST + count == size && !memcmp(found, bytes, size), "%zu of %zu bytes", FIRST + count,
          size);
    CHECK(!packed_finish(file).exit, "there is more than all");
    CHECK(packed_read(file, found, 1).exit == FLOW_EXIT_data, "a byte behind its end");
    packed_close(file);
    free(bytes);
    free(found);
}

int main(void) {
    test_folder();
    reads_plain(1000);
    reads_plain(700001); /* which is more than is read ahead */
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        reads_parts(codecs[i].name, codecs[i].compress);
        survives_damage(codecs[i].name, codecs[i].compress);
        bounds_bombs(codecs[i].name, codecs[i].compress);
    }
    skips_frames();
    refuses_windows();
    knows_names();
    test_folder_remove();
    return test_result();
}
