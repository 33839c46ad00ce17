#include "runtime/text/utf8.h"

#include <stdbool.h>

static size_t length_of(unsigned char first) {
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

/* Two bytes can be nothing but shortest; is it so of three and four, and no surrogate? */
static bool is_proper(size_t length, uint32_t code) {
    static const uint32_t least[] = {0, 0, 0, 0x800, 0x10000};
    return code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

size_t utf8_first(const unsigned char *at, const unsigned char *end, uint32_t *code) {
    size_t length = length_of(*at);
    uint32_t found = length > 1 ? *at & (0x7fu >> length) : *at;
    *code = UTF8_NONE;
    if (!length || length > (size_t)(end - at)) return 1;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 1;
        found = found << 6 | (at[i] & 63);
    }
    if (!is_proper(length, found)) return 1;
    *code = found;
    return length;
}

size_t utf8_write(uint32_t code, char *out) {
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 63));
    out[0] = (char)(marks[length] | code);
    return length;
}
