/* NPY. The header is {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }. */
#include "runtime/format/npy.h"

#include <string.h>

typedef struct Cursor {
    const char *at, *end;
    Npy *npy;
} Cursor;

static bool fail(Npy *npy, const char *error) {
    if (!npy->error) npy->error = error;
    return false;
}

static uint32_t little_endian(const char *bytes, int size) {
    uint32_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

/* The literal. */

static void skip_space(Cursor *cursor) {
    while (cursor->at < cursor->end && *cursor->at && strchr(" \t\r\n", *cursor->at)) cursor->at++;
}

static bool take(Cursor *cursor, char wanted) {
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted) return false;
    cursor->at++;
    return true;
}

static bool take_word(Cursor *cursor, const char *word) {
    size_t length = strlen(word);
    skip_space(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length))
        return false;
    cursor->at += length;
    return true;
}

/* A string without escapes, as `text` of `size` bytes with its NUL. */
static bool take_string(Cursor *cursor, char *text, size_t size) {
    char quote = take(cursor, '\'') ? '\'' : '"';
    if (quote == '"' && !take(cursor, '"')) return fail(cursor->npy, "its header is damaged");
    const char *end = memchr(cursor->at, quote, (size_t)(cursor->end - cursor->at));
    size_t length = end ? (size_t)(end - cursor->at) : size;
    if (length >= size) return fail(cursor->npy, "its header is damaged");
    memcpy(text, cursor->at, length);
    text[length] = 0;
    cursor->at = end + 1;
    return true;
}

static bool at_digit(const Cursor *cursor) {
    return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

/* Python 2 wrote an L behind some. */
static bool take_natural(Cursor *cursor, int64_t *number) {
    *number = 0;
    skip_space(cursor);
    if (!at_digit(cursor)) return fail(cursor->npy, "its shape is damaged");
    for (; at_digit(cursor); cursor->at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, *cursor->at - '0', number))
            return fail(cursor->npy, "a size of its shape is too large");
    if (cursor->at < cursor->end && *cursor->at == 'L') cursor->at++;
    return true;
}

/* What the entries mean. */

static bool is_swapped(char order) {
    bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return (order == '<' && big) || (order == '>' && !big);
}

/* Why elements of that kind are refused. */
static const char *kind_error(char kind) {
    switch (kind) {
    case 'O': return "its elements are Python objects, which are not read; save numbers";
    case 'U':
    case 'S': return "its elements are texts; save numbers that stand for them";
    case 'c': return "its elements are complex; save x.real and x.imag";
    case 'M':
    case 'm': return "its elements are times; save x.astype(numpy.int64)";
    default: return "its elements are of a type that is not known here";
    }
}

static bool check_type(Npy *npy) {
    static const char *const types[] = {"b1", "i1", "u1", "i2", "u2", "f2", "V2",
                                        "i4", "u4", "f4", "i8", "u8", "f8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (npy->kind == types[i][0] && npy->size == types[i][1] - '0') return true;
    return fail(npy, kind_error(npy->kind));
}

static bool read_type(Cursor *cursor) {
    Npy *npy = cursor->npy;
    skip_space(cursor);
    if (cursor->at < cursor->end && strchr("[({", *cursor->at))
        return fail(npy, "its elements are records (a structured dtype); save each field as an "
                         "array of its own");
    if (!take_string(cursor, npy->type, sizeof npy->type)) return false;
    const char *at = npy->type;
    if (*at && strchr("<>|=", *at)) npy->swapped = is_swapped(*at++);
    npy->kind = *at ? *at++ : 0;
    for (; *at >= '0' && *at <= '9' && npy->size < 1 << 20; at++)
        npy->size = npy->size * 10 + (*at - '0');
    if (npy->size == 1) npy->swapped = false;
    return *at ? fail(npy, kind_error(npy->kind)) : check_type(npy);
}

static bool read_order(Cursor *cursor) {
    cursor->npy->by_columns = take_word(cursor, "True");
    return cursor->npy->by_columns || take_word(cursor, "False") ||
           fail(cursor->npy, "its header is damaged");
}

/* (3,), (3, 4), () */
static bool read_shape(Cursor *cursor) {
    Npy *npy = cursor->npy;
    if (!take(cursor, '(')) return fail(npy, "its shape is damaged");
    while (!take(cursor, ')')) {
        if (npy->rank == NPY_RANK_LIMIT) return fail(npy, "it has more than 9 axes");
        if (!take_natural(cursor, &npy->sizes[npy->rank++])) return false;
        if (take(cursor, ',')) continue;
        return take(cursor, ')') || fail(npy, "its shape is damaged");
    }
    return true;
}

static const struct {
    const char *name;
    bool (*read)(Cursor *cursor);
} entries[] = {{"descr", read_type}, {"fortran_order", read_order}, {"shape", read_shape}};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

/* seen: a bit for each entry. */
static bool read_entry(Cursor *cursor, unsigned *seen) {
    char name[16];
    if (!take_string(cursor, name, sizeof name)) return false;
    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) || *seen >> i & 1) continue;
        *seen |= 1u << i;
        return take(cursor, ':') ? entries[i].read(cursor) : false;
    }
    return false;
}

static bool read_literal(Cursor *cursor) {
    unsigned seen = 0;
    bool good = take(cursor, '{');
    while (good && !take(cursor, '}')) {
        good = read_entry(cursor, &seen);
        if (good && !take(cursor, ',')) {
            good = take(cursor, '}');
            break;
        }
    }
    skip_space(cursor);
    good = good && cursor->at == cursor->end && seen == (1u << ENTRY_COUNT) - 1;
    return good || fail(cursor->npy, "its header is damaged");
}

/* Does the file hold what the header declares? */
static bool check_size(Npy *npy, uint64_t size) {
    uint64_t bytes;
    bool overflow = false;
    npy->elements = 1;
    for (int i = 0; i < npy->rank; i++)
        overflow |= __builtin_mul_overflow(npy->elements, (uint64_t)npy->sizes[i], &npy->elements);
    overflow |= __builtin_mul_overflow(npy->elements, (uint64_t)npy->size, &bytes);
    if (overflow || bytes > size - npy->begin)
        return fail(npy, "it declares more data than it holds: it is truncated or damaged");
    return bytes == size - npy->begin || fail(npy, "it holds more data than its header declares");
}

bool npy_read(const char *bytes, uint64_t size, Npy *npy) {
    *npy = (Npy){0};
    int version = size >= 8 ? bytes[6] : 0, length_size = version == 1 ? 2 : 4;
    if (size < 6 || memcmp(bytes, "\x93NUMPY", 6))
        return fail(npy, "it is no .npy file: it does not begin with \\x93NUMPY");
    if (size < 12) return fail(npy, "it ends within its header");
    if (version < 1 || version > 3) return fail(npy, "its version is none of 1, 2 and 3");
    uint64_t start = 8 + (uint64_t)length_size, length = little_endian(bytes + 8, length_size);
    if (length > NPY_HEADER_LIMIT - start) return fail(npy, "its header has more than 64 KiB");
    if (length > size - start) return fail(npy, "it ends within its header");
    npy->begin = start + length;
    Cursor cursor = {bytes + start, bytes + npy->begin, npy};
    return read_literal(&cursor) && check_size(npy, size);
}
