/* Tar. A header is a block of 512 bytes with fields of text: name, size in octal digits (or in
 * binary, when the first bit is set), a sum of its bytes, a kind. What follows it is padded to
 * whole blocks. Long names come in members of their own before the one they are for: `x` (pax: "27
 * path=…\n" lines) or `L` (GNU). */
#include "runtime/format/tar.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

typedef struct Header {
    char name[100], mode[8], owner[8], group[8], size[12], time[12], sum[8], kind, link[100];
    char magic[6], version[2], owner_name[32], group_name[32], device[16], prefix[155], padding[12];
} Header;

_Static_assert(sizeof(Header) == BLOCK, "a header is one block");

Tar tar_new(const char *bytes, uint64_t size) {
    return (Tar){.bytes = bytes, .size = size};
}

static bool fail(Tar *tar, const char *error) {
    tar->error = error;
    return false;
}

static bool read_octal(const char *digits, size_t size, uint64_t *number) {
    size_t i = 0;
    *number = 0;
    while (i < size && digits[i] == ' ') i++;
    for (; i < size && digits[i] >= '0' && digits[i] <= '7'; i++) {
        if (*number >> 60) return false;
        *number = *number * 8 + (uint64_t)(digits[i] - '0');
    }
    return i == size || !digits[i] || digits[i] == ' ';
}

static bool read_size(const Header *header, uint64_t *size) {
    const unsigned char *bytes = (const unsigned char *)header->size;
    if (!(bytes[0] & 0x80)) return read_octal(header->size, sizeof header->size, size);
    *size = 0;
    for (size_t i = 4; i < sizeof header->size; i++) *size = *size << 8 | bytes[i];
    return bytes[0] == 0x80 && !bytes[1] && !bytes[2] && !bytes[3] && !(*size >> 62);
}

/* The sum counts its own field as spaces. */
static bool has_sum(const Header *header) {
    const unsigned char *bytes = (const unsigned char *)header;
    uint64_t stated, sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        bool own = i >= offsetof(Header, sum) && i < offsetof(Header, kind);
        sum += own ? ' ' : bytes[i];
    }
    return read_octal(header->sum, sizeof header->sum, &stated) && stated == sum;
}

static bool is_zero(const Header *header) {
    static const Header zero;
    return !memcmp(header, &zero, BLOCK);
}

/* The header at `at` and where its contents end. False: the archive ends, or error is set. */
static bool read_header(Tar *tar, Header *header, uint64_t *size) {
    if (tar->at == tar->size) return fail(tar, "the archive has no end: it is truncated");
    if (tar->size - tar->at < BLOCK) return fail(tar, "the archive ends within a header");
    memcpy(header, tar->bytes + tar->at, BLOCK);
    if (is_zero(header)) return false;
    if (!has_sum(header)) return fail(tar, "this is no tar header");
    if (!read_size(header, size)) return fail(tar, "a size is no number");
    if (*size > tar->size - tar->at - BLOCK) return fail(tar, "the archive ends within a member");
    return true;
}

static void skip(Tar *tar, uint64_t size) {
    uint64_t blocks = BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    tar->at = blocks > tar->size - tar->at ? tar->size : tar->at + blocks;
}

static bool set_name(Tar *tar, char *name, const char *text, size_t size) {
    size_t length = strnlen(text, size);
    if (length >= TAR_NAME_SIZE) return fail(tar, "a name has more than 1023 bytes");
    memcpy(name, text, length);
    name[length] = 0;
    return true;
}

static bool own_name(Tar *tar, const Header *header, char *name) {
    bool ustar = !memcmp(header->magic, "ustar", 5) && header->magic[5] == 0;
    int prefix = ustar ? (int)strnlen(header->prefix, sizeof header->prefix) : 0;
    int length = (int)strnlen(header->name, sizeof header->name);
    snprintf(name, TAR_NAME_SIZE, "%.*s%s%.*s", prefix, header->prefix, prefix ? "/" : "", length,
             header->name);
    return length || fail(tar, "a member has no name");
}

/* A decimal number that ends in `end`; *at goes behind it. */
static bool read_decimal(const char *text, size_t size, size_t *at, char end, uint64_t *number) {
    *number = 0;
    while (*at < size && text[*at] >= '0' && text[*at] <= '9' && !(*number >> 58))
        *number = *number * 10 + (uint64_t)(text[(*at)++] - '0');
    return *at < size && text[(*at)++] == end;
}

typedef struct Extension {
    char name[TAR_NAME_SIZE]; /* empty: there is none */
    bool has_size;
    uint64_t size;
} Extension;

/* One "length key=value\n" of a pax header; false when it is none. */
static bool read_pax(Tar *tar, const char *text, size_t size, Extension *extension) {
    for (size_t begin = 0; begin < size;) {
        uint64_t length;
        size_t at = begin;
        if (!read_decimal(text, size, &at, ' ', &length) || length > size - begin ||
            begin + length <= at || text[begin + length - 1] != '\n')
            return fail(tar, "a pax header is damaged");
        size_t left = begin + length - 1 - at, value = 0;
        if (left > 5 && !memcmp(text + at, "path=", 5) &&
            !set_name(tar, extension->name, text + at + 5, left - 5))
            return false;
        if (left > 5 && !memcmp(text + at, "size=", 5)) {
            value = at + 5;
            extension->has_size = true;
            if (!read_decimal(text, begin + length, &value, '\n', &extension->size))
                return fail(tar, "a pax header is damaged");
        }
        begin += length;
    }
    return true;
}

static bool read_extension(Tar *tar, const Header *header, uint64_t size, Extension *extension) {
    const char *text = tar->bytes + tar->at + BLOCK;
    if (header->kind == 'x') return read_pax(tar, text, size, extension);
    return header->kind != 'L' || set_name(tar, extension->name, text, size);
}

bool tar_next(Tar *tar, TarMember *member) {
    Extension extension = {0};
    Header header;
    for (uint64_t size; read_header(tar, &header, &size); skip(tar, size)) {
        bool extends =
            header.kind == 'x' || header.kind == 'L' || header.kind == 'g' || header.kind == 'K';
        bool file = header.kind == '0' || header.kind == 0 || header.kind == '7';
        if (extends && !read_extension(tar, &header, size, &extension)) return false;
        if (extends) continue;
        if (extension.has_size) size = extension.size;
        if (size > tar->size - tar->at - BLOCK)
            return fail(tar, "the archive ends within a member");
        if (file) {
            if (*extension.name) memcpy(member->name, extension.name, sizeof member->name);
            else if (!own_name(tar, &header, member->name)) return false;
            member->begin = tar->at + BLOCK;
            member->size = size;
            skip(tar, size);
            return true;
        }
        extension = (Extension){0};
    }
    return false;
}
