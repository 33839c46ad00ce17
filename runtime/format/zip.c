/* Zip (PKWARE's APPNOTE). A member has two headers, one before its bytes and one in the directory;
 * what they say in common has to agree. */
#include "runtime/format/zip.h"

#include <string.h>

enum {
    END_SIZE = 22,
    COMMENT_LIMIT = 0xffff,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20, /* of the 64-bit end, before the other one */
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    ENCRYPTED = 1, /* a flag */
    EXTRA_64 = 1,  /* the extra field with 64-bit sizes */
};

static bool fail(Zip *zip, const char *error) {
    if (!zip->error) zip->error = error;
    return false;
}

static uint64_t number_at(const Zip *zip, uint64_t at, int size) {
    uint64_t number = 0;
    for (int i = size; i-- > 0;) number = number << 8 | (unsigned char)zip->bytes[at + (uint64_t)i];
    return number;
}

static bool has_sign(const Zip *zip, uint64_t at, uint64_t size, const char *sign) {
    return at <= zip->size && size <= zip->size - at && !memcmp(zip->bytes + at, sign, 4);
}

/* The directory. */

static bool find_end(const Zip *zip, uint64_t *end) {
    uint64_t most = END_SIZE + COMMENT_LIMIT;
    for (uint64_t back = END_SIZE; back <= zip->size && back <= most; back++) {
        *end = zip->size - back;
        if (has_sign(zip, *end, END_SIZE, "PK\5\6") &&
            number_at(zip, *end + 20, 2) == back - END_SIZE)
            return true;
    }
    return false;
}

/* Reads the 64-bit end where there is one. */
static bool read_end64(Zip *zip, uint64_t end, uint64_t *length) {
    uint64_t locator = end - LOCATOR_SIZE;
    if (end < LOCATOR_SIZE || !has_sign(zip, locator, LOCATOR_SIZE, "PK\6\7")) return true;
    uint64_t end64 = number_at(zip, locator + 8, 8);
    if (!has_sign(zip, end64, END64_SIZE, "PK\6\6")) return false;
    zip->left = number_at(zip, end64 + 32, 8);
    *length = number_at(zip, end64 + 40, 8);
    zip->at = number_at(zip, end64 + 48, 8);
    return true;
}

Zip zip_new(const char *bytes, uint64_t size) {
    Zip zip = {.bytes = bytes, .size = size};
    uint64_t end, length;
    if (!find_end(&zip, &end)) {
        fail(&zip, "it is no zip archive, or it is truncated: it has no directory at its end");
        return zip;
    }
    zip.left = number_at(&zip, end + 10, 2);
    length = number_at(&zip, end + 12, 4);
    zip.at = number_at(&zip, end + 16, 4);
    bool good = read_end64(&zip, end, &length) && zip.at <= end && length <= end - zip.at;
    zip.end = zip.at + length;
    if (!good) fail(&zip, "its directory lies outside of it: it is damaged");
    return zip;
}

/* Entries. */

/* A number of the entry that may stand in its 64-bit field, in order. */
static bool read_wide(Zip *zip, uint64_t *number, uint64_t *at, uint64_t end) {
    if (*number != UINT32_MAX) return true;
    if (end - *at < 8) return fail(zip, "a 64-bit size is missing in its directory");
    *number = number_at(zip, *at, 8);
    *at += 8;
    return true;
}

/* extra: where the entry's extra fields begin. */
static bool read_extra(Zip *zip, ZipMember *member, uint64_t extra, uint64_t end) {
    while (end - extra >= 4) {
        uint64_t id = number_at(zip, extra, 2), length = number_at(zip, extra + 2, 2);
        extra += 4;
        if (length > end - extra) break;
        uint64_t at = extra;
        extra += length;
        if (id == EXTRA_64)
            return read_wide(zip, &member->size, &at, extra) &&
                   read_wide(zip, &member->packed, &at, extra) &&
                   read_wide(zip, &member->begin, &at, extra);
    }
    return true;
}

/* From the member's header to its bytes. */
static bool find_bytes(Zip *zip, ZipMember *member) {
    uint64_t local = member->begin;
    if (!has_sign(zip, local, LOCAL_SIZE, "PK\3\4"))
        return fail(zip, "a member is not where its directory says");
    uint64_t name = number_at(zip, local + 26, 2), extra = number_at(zip, local + 28, 2);
    if (name != member->name_size || name + extra > zip->size - local - LOCAL_SIZE ||
        memcmp(zip->bytes + local + LOCAL_SIZE, member->name, name))
        return fail(zip, "a member has another name than its directory says");
    if (number_at(zip, local + 8, 2) != member->method)
        return fail(zip, "a member is packed in another way than its directory says");
    member->begin = local + LOCAL_SIZE + name + extra;
    if (member->packed > zip->size - member->begin)
        return fail(zip, "a member lies outside of it: it is truncated or damaged");
    return true;
}

static bool check_member(Zip *zip, const ZipMember *member, uint64_t flags) {
    if (flags & ENCRYPTED) return fail(zip, "a member is encrypted");
    if (member->method != ZIP_stored && member->method != ZIP_deflated)
        return fail(zip, "a member is packed by another method than deflate");
    if (member->method == ZIP_stored && member->packed != member->size)
        return fail(zip, "a stored member has two sizes");
    return true;
}

bool zip_next(Zip *zip, ZipMember *member) {
    uint64_t entry = zip->at;
    if (zip->error || !zip->left) return false;
    if (zip->end - entry < ENTRY_SIZE || !has_sign(zip, entry, ENTRY_SIZE, "PK\1\2"))
        return fail(zip, "its directory is damaged");
    uint64_t extra = entry + ENTRY_SIZE + number_at(zip, entry + 28, 2);
    uint64_t comment = extra + number_at(zip, entry + 30, 2);
    uint64_t next = comment + number_at(zip, entry + 32, 2);
    if (next > zip->end) return fail(zip, "its directory is damaged");
    *member = (ZipMember){
        .name = zip->bytes + entry + ENTRY_SIZE,
        .name_size = (uint16_t)number_at(zip, entry + 28, 2),
        .method = (ZipMethod)number_at(zip, entry + 10, 2),
        .crc = (uint32_t)number_at(zip, entry + 16, 4),
        .packed = number_at(zip, entry + 20, 4),
        .size = number_at(zip, entry + 24, 4),
        .begin = number_at(zip, entry + 42, 4),
    };
    zip->at = next;
    zip->left--;
    return read_extra(zip, member, extra, comment) &&
           check_member(zip, member, number_at(zip, entry + 8, 2)) && find_bytes(zip, member);
}
