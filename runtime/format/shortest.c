/* Shortest, by Raffaello Giulietti's "The Schubfach way to render doubles" (2020): of the numbers
 * with few digits, the one that lies between the two halfway points to the neighbours. With the
 * power of ten that makes that interval about as wide as 10 units, the number and both points are
 * whole parts of products with 128 bits of the power, whose last bit says whether anything was cut
 * off; that is enough to compare exactly. Halves are only narrower cases of the same. */
#include "runtime/format/shortest.h"

#include <pthread.h>
#include <string.h>

/* Powers of ten. */

enum { LEAST_POWER = -324, MOST_POWER = 324, WORDS = 20, TOP = 64 * WORDS };

/* 10^k = (high, low) / 2^127 of some power of two: the first 128 bits, plus one. */
typedef struct Power {
    uint64_t high, low;
} Power;

static Power powers[MOST_POWER - LEAST_POWER + 1];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static Power first_bits(const uint64_t *words) {
    int top = WORDS - 1;
    while (!words[top]) top--;
    int shift = __builtin_clzll(words[top]);
    uint64_t bits[3] = {words[top], top > 0 ? words[top - 1] : 0, top > 1 ? words[top - 2] : 0};
    Power power = {bits[0], bits[1]};
    if (shift) {
        power.high = bits[0] << shift | bits[1] >> (64 - shift);
        power.low = bits[1] << shift | bits[2] >> (64 - shift);
    }
    power.high += ++power.low == 0;
    return power;
}

static void multiply_by_ten(uint64_t *words) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (unsigned __int128)words[i] * 10;
        words[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void divide_by_ten(uint64_t *words) {
    uint64_t rest = 0;
    for (int i = WORDS; i-- > 0;) {
        unsigned __int128 part = (unsigned __int128)rest << 64 | words[i];
        words[i] = (uint64_t)(part / 10);
        rest = (uint64_t)(part % 10);
    }
}

/* Dividing step by step loses nothing that dividing at once would not. */
static void make_powers(void) {
    uint64_t up[WORDS] = {1}, down[WORDS] = {[WORDS - 1] = UINT64_C(1) << 63};
    for (int k = 0; k <= MOST_POWER; k++, multiply_by_ten(up))
        powers[k - LEAST_POWER] = first_bits(up);
    for (int k = 0; k >= LEAST_POWER; k--, divide_by_ten(down))
        if (k) powers[k - LEAST_POWER] = first_bits(down);
}

/* Shortest digits. */

/* digits * 10^exponent */
typedef struct Digits {
    uint64_t digits;
    int exponent;
} Digits;

/* significand * 2^exponent */
typedef struct Binary {
    uint64_t significand;
    int exponent;
    bool narrow; /* below it numbers lie twice as close: the first after a power of two */
    bool negative;
} Binary;

static int floor_log10_of_power_of_2(int exponent) {
    return exponent * 1262611 >> 22;
}

static int floor_log10_of_three_quarters(int exponent) {
    return (exponent * 1262611 - 524031) >> 22;
}

static int floor_log2_of_power_of_10(int exponent) {
    return exponent * 1741647 >> 19;
}

/* The whole part of power * factor / 2^128, with the last bit set if anything was cut off. */
static uint64_t scaled(Power power, uint64_t factor) {
    unsigned __int128 low = (unsigned __int128)power.low * factor;
    unsigned __int128 high = (unsigned __int128)power.high * factor + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static Digits shortest(Binary number) {
    uint64_t quarters = 4 * number.significand, outside = number.significand & 1;
    int k = number.narrow ? floor_log10_of_three_quarters(number.exponent)
                          : floor_log10_of_power_of_2(number.exponent);
    int shift = number.exponent + floor_log2_of_power_of_10(-k) + 1;
    Power power = powers[-k - LEAST_POWER];
    uint64_t least = scaled(power, (quarters - 2 + number.narrow) << shift) + outside;
    uint64_t here = scaled(power, quarters << shift);
    uint64_t most = scaled(power, (quarters + 2) << shift) - outside;
    uint64_t whole = here / 4, tens = whole / 10;
    bool down = least <= 40 * tens, up = 40 * (tens + 1) <= most;
    if (whole >= 10 && down != up) return (Digits){tens + up, k + 1};
    down = least <= 4 * whole;
    up = 4 * (whole + 1) <= most;
    if (down != up) return (Digits){whole + up, k};
    uint64_t middle = 4 * whole + 2;
    return (Digits){whole + (here > middle || (here == middle && whole & 1)), k};
}

/* Text. */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

static int count_digits(uint64_t number) {
    static const uint64_t tens[] = {0,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    int guess = (64 - __builtin_clzll(number | 1)) * 1233 >> 12;
    return guess + (number >= tens[guess]);
}

/* `count` digits. */
static void write_digits(uint64_t number, int count, char *text) {
    for (; count >= 2; count -= 2, number /= 100)
        memcpy(text + count - 2, pairs + number % 100 * 2, 2);
    if (count) *text = (char)('0' + number);
}

static char *write_natural(uint64_t number, char *text) {
    int count = count_digits(number);
    write_digits(number, count, text);
    return text + count;
}

char *shortest_whole(int64_t number, char *text) {
    if (number < 0) *text++ = '-';
    return write_natural(number < 0 ? -(uint64_t)number : (uint64_t)number, text);
}

/* Places the point behind `before` of the digits, 0 or less: so many zeros in front of them. */
static char *write_point(uint64_t digits, int count, int before, char *text) {
    if (before > 0) {
        write_digits(digits, count, text + 1);
        memmove(text, text + 1, (size_t)before);
        text[before] = '.';
        return text + count + 1;
    }
    memset(text, '0', (size_t)(2 - before));
    text[1] = '.';
    write_digits(digits, count, text + 2 - before);
    return text + 2 - before + count;
}

static char *write_decimal(Digits number, char *text) {
    enum { LONGEST = 17, SMALLEST = -4 }; /* 0.0001 */
    while (number.digits % 10 == 0) number.digits /= 10, number.exponent++;
    int count = count_digits(number.digits), before = count + number.exponent;
    if (number.exponent >= 0 && before <= LONGEST) {
        write_digits(number.digits, count, text);
        memset(text + count, '0', (size_t)number.exponent);
        return text + before;
    }
    if (before > SMALLEST && number.exponent < 0)
        return write_point(number.digits, count, before, text);
    char *end =
        count > 1 ? write_point(number.digits, count, 1, text) : write_natural(number.digits, text);
    *end++ = 'e';
    return shortest_whole(before - 1, end);
}

/* Elements. */

/* Of bits with so many of the significand and of the exponent. */
static Binary take_apart(uint64_t bits, int significand, int exponent) {
    uint64_t fraction = bits & ((UINT64_C(1) << significand) - 1);
    int biased = (int)(bits >> significand) & ((1 << exponent) - 1);
    int offset = (1 << (exponent - 1)) - 2 + significand;
    bool normal = biased > 0;
    return (Binary){.significand = normal ? fraction | UINT64_C(1) << significand : fraction,
                    .exponent = (normal ? biased - 1 : 0) - offset,
                    .narrow = !fraction && biased > 1,
                    .negative = bits >> (significand + exponent) & 1};
}

static bool is_special(uint64_t bits, int significand, int exponent) {
    uint64_t all = (UINT64_C(1) << exponent) - 1;
    return (bits >> significand & all) == all;
}

static char *write_special(uint64_t bits, int significand, int exponent, char *text) {
    uint64_t fraction = bits & ((UINT64_C(1) << significand) - 1);
    bool negative = !fraction && bits >> (significand + exponent) & 1;
    if (negative) *text++ = '-';
    memcpy(text, fraction ? "nan" : "inf", 3);
    return text + 3;
}

static bool is_whole(Binary number) {
    return number.exponent <= 0 && number.exponent > -53 &&
           !(number.significand & ((UINT64_C(1) << -number.exponent) - 1));
}

static char *write_real(uint64_t bits, int significand, int exponent, char *text) {
    if (is_special(bits, significand, exponent))
        return write_special(bits, significand, exponent, text);
    Binary number = take_apart(bits, significand, exponent);
    if (number.negative) *text++ = '-';
    if (!number.significand) *text = '0';
    if (!number.significand) return text + 1;
    if (is_whole(number)) return write_natural(number.significand >> -number.exponent, text);
    return write_decimal(shortest(number), text);
}

static const struct {
    int significand, exponent;
} layouts[] = {
    [FLOW_f16] = {10, 5}, [FLOW_bf16] = {7, 8}, [FLOW_f32] = {23, 8}, [FLOW_f64] = {52, 11}};

static uint64_t read_bits(FlowElement element, const void *value) {
    uint64_t bits = 0;
    memcpy(&bits, value, flow_element_size(element));
    return bits;
}

bool shortest_is_finite(FlowElement element, const void *value) {
    return element < FLOW_f16 ||
           !is_special(read_bits(element, value), layouts[element].significand,
                       layouts[element].exponent);
}

char *shortest_write(FlowElement element, const void *value, char *text) {
    uint64_t bits = 0;
    switch (element) {
    case FLOW_bool:
        memcpy(text, *(const char *)value ? "true" : "false", 5);
        return text + (*(const char *)value ? 4 : 5);
    case FLOW_u8: return shortest_whole(*(const uint8_t *)value, text);
    case FLOW_i8: return shortest_whole(*(const int8_t *)value, text);
    case FLOW_i32: memcpy(&bits, value, 4); return shortest_whole((int32_t)bits, text);
    case FLOW_i64: memcpy(&bits, value, 8); return shortest_whole((int64_t)bits, text);
    case FLOW_f16: memcpy(&bits, value, 2); break;
    case FLOW_bf16: memcpy(&bits, value, 2); break;
    case FLOW_f32: memcpy(&bits, value, 4); break;
    case FLOW_f64: memcpy(&bits, value, 8); break;
    }
    pthread_once(&made, make_powers);
    return write_real(bits, layouts[element].significand, layouts[element].exponent, text);
}
