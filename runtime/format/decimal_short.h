/* Short decimals: most numbers have up to 16 characters, no exponent, and digits that fit in 53
 * bits. Those are read as one or two words, without a loop or a branch over their digits; one
 * division, of two doubles that are exact, rounds correctly. */
#ifndef FLOW_DECIMAL_SHORT_H
#define FLOW_DECIMAL_SHORT_H

#include "runtime/format/block.h"
#include "runtime/format/decimal.h"

#include <string.h>

static const double exact_powers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                      1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};

/* Words: the last character lies in the highest byte. */

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* What the digits of a short number say, and how many of them stand behind the point. */
typedef struct Short {
    uint64_t whole;
    uint64_t places;
    bool good;
} Short;

/* Eight characters; digits become 0 to 9. */
INLINED uint64_t load_word(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word ^ EACH_BYTE('0');
}

/* The highest bit of the first byte that is a point; 0: there is none. */
INLINED uint64_t find_point(uint64_t word) {
    uint64_t zero = word ^ EACH_BYTE('.' ^ '0');
    zero = (zero - EACH_BYTE(1)) & ~zero & EACH_BYTE(0x80);
    return zero & -zero;
}

INLINED bool are_digits(uint64_t word) {
    return !(((word + EACH_BYTE(0x76)) | word) & EACH_BYTE(0x80));
}

/* Eight digits: neighbours are put together three times. */
INLINED uint64_t join_digits(uint64_t digits) {
    const uint64_t every_fourth = 0x000000ff000000ff;
    digits = digits * 10 + (digits >> 8);
    return ((digits & every_fourth) * (100 + (UINT64_C(1000000) << 32)) +
            (digits >> 16 & every_fourth) * (1 + (UINT64_C(10000) << 32))) >>
           32;
}

/* Takes the point out: what stands before it moves up by a byte. */
INLINED uint64_t close_gap(uint64_t word, uint64_t point) {
    uint64_t lowest = point >> 7, without = word ^ lowest * ('.' ^ '0');
    uint64_t before = without & (lowest - 1);
    return without + (before << 8) - before;
}

/* 1 to 8 characters. */
INLINED Short read_word(const char *text, size_t size) {
    uint64_t word = load_word(text) << (64 - 8 * size), point = find_point(word), places = 0;
    if (point) {
        places = 7 - (uint64_t)__builtin_ctzll(point) / 8;
        word = close_gap(word, point);
    }
    return (Short){join_digits(word), places, are_digits(word) && (size > 1 || !point)};
}

/* 9 to 16 characters. */
INLINED Short read_words(const char *text, size_t size) {
    uint64_t high = load_word(text + size - 8), low = load_word(text) << (128 - 8 * size);
    uint64_t point = find_point(low), places = 0;
    if (point) {
        places = 15 - (uint64_t)__builtin_ctzll(point) / 8;
        low = close_gap(low, point);
    } else if ((point = find_point(high))) {
        places = 7 - (uint64_t)__builtin_ctzll(point) / 8;
        high = close_gap(high, point) | low >> 56;
        low <<= 8;
    }
    return (Short){join_digits(low) * 100000000 + join_digits(high), places,
                   are_digits(low) && are_digits(high)};
}

INLINED Short read_short(const char *text, size_t size) {
    if (size - 1 < 8) return read_word(text, size);
    return size - 1 < 16 ? read_words(text, size) : (Short){0};
}

/* Both a value and its power of ten fit in 53 bits: their quotient is rounded once. As an f32 it is
 * rounded again; that is wrong only where the first one ended half way between two f32. False: it
 * is no short number, or one of those, or no f32 or f64 is wanted. Reads as decimal_write does. */
INLINED bool decimal_write_short(const char *text, size_t size, FlowElement element, void *value) {
    if (!size || element < FLOW_f32) return false;
    uint64_t negative = *text == '-', bits;
    Short number = read_short(text + negative, size - negative);
    if (!number.good || number.whole >> 53) return false;
    double quotient = (double)(int64_t)number.whole / exact_powers[number.places];
    memcpy(&bits, &quotient, sizeof bits);
    bits |= negative << 63;
    if (element == FLOW_f64) memcpy(value, &bits, sizeof bits);
    if (element == FLOW_f64) return true;
    if ((bits & 0x1fffffff) == 0x10000000) return false;
    memcpy(&quotient, &bits, sizeof bits);
    float single = (float)quotient;
    memcpy(value, &single, sizeof single);
    return true;
}

#undef EACH_BYTE

#endif
