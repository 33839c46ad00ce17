/* Decimal: what has up to 19 digits, and a power of ten between 10^-19 and 10^19, is an exact
 * product or quotient of integers; the rest is left to strtod. */
#include "runtime/format/decimal_short.h"

#include "runtime/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS = 19 /* that any u64 can hold */ };

static const int64_t exponent_limit = INT64_MAX / 100; /* no text has so many digits */

__extension__ typedef unsigned __int128 Wide;

/* (-1)^negative * whole * 10^exponent */
typedef struct Decimal {
    uint64_t whole;
    int64_t exponent;
    bool negative;
    bool cut; /* more digits follow, not all of them 0 */
} Decimal;

static const uint64_t powers[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    10000000000000000000u,
};

/* Any number. */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Digits from *at on. places: what each of them takes from the exponent. */
static size_t read_digits(const char *text, size_t size, size_t *at, int places, int *known,
                          Decimal *decimal) {
    size_t start = *at;
    for (; *at < size && is_digit(text[*at]); ++*at) {
        uint64_t digit = (uint64_t)(text[*at] - '0');
        bool kept = *known < DIGITS;
        if (kept) decimal->whole = decimal->whole * 10 + digit;
        else decimal->cut |= digit != 0;
        *known += kept && decimal->whole;
        decimal->exponent += !kept - places;
    }
    return *at - start;
}

static bool read_exponent(const char *text, size_t size, size_t *at, Decimal *decimal) {
    int64_t exponent = 0;
    bool negative = *at < size && text[*at] == '-';
    *at += *at < size && (text[*at] == '-' || text[*at] == '+');
    size_t start = *at;
    for (; *at < size && is_digit(text[*at]); ++*at)
        if (exponent < exponent_limit) exponent = exponent * 10 + text[*at] - '0';
    decimal->exponent += negative ? -exponent : exponent;
    return *at > start;
}

static bool read_any(const char *text, size_t size, Decimal *decimal) {
    size_t at = size && (*text == '-' || *text == '+'), digits;
    int known = 0;
    *decimal = (Decimal){.negative = size && *text == '-'};
    digits = read_digits(text, size, &at, 0, &known, decimal);
    if (at < size && text[at] == '.') {
        at++;
        digits += read_digits(text, size, &at, 1, &known, decimal);
    }
    bool good = digits > 0;
    if (good && at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        good = read_exponent(text, size, &at, decimal);
    }
    return good && at == size;
}

/* Rounding. */

/* The 64 highest bits of a value, `rest`: more follow that are not 0. */
typedef struct Binary {
    uint64_t bits;
    int exponent; /* of the lowest */
    bool rest;
} Binary;

static Binary multiply(uint64_t whole, int power) {
    Wide product = (Wide)whole * powers[power];
    int above = product >> 64 ? __builtin_clzll((uint64_t)(product >> 64))
                              : 64 + __builtin_clzll((uint64_t)product);
    product <<= above;
    return (Binary){(uint64_t)(product >> 64), 64 - above, (uint64_t)product != 0};
}

static Binary divide(uint64_t whole, int power) {
    int above = __builtin_clzll(whole), free = __builtin_clzll(powers[power]);
    uint64_t dividend = whole << above, divisor = powers[power] << free;
    int shift = dividend < divisor ? 64 : 63;
    Wide wide = (Wide)dividend << shift;
    uint64_t quotient = (uint64_t)(wide / divisor);
    return (Binary){quotient, free - above - shift, (Wide)quotient * divisor != wide};
}

/* The nearest double; or, so that it can be rounded once more, the one next to the value whose last
 * bit is 1 unless it is the value. */
static double round_bits(const Binary *binary, bool to_nearest) {
    uint64_t bits = binary->bits >> 11, below = binary->bits & 0x7ff, half = 0x400;
    if (to_nearest) bits += below > half || (below == half && (binary->rest || bits & 1));
    else bits |= below || binary->rest;
    uint64_t scale = (uint64_t)(1023 + 11 + binary->exponent) << 52;
    double power;
    memcpy(&power, &scale, sizeof power);
    return (double)bits * power;
}

static double round_decimal(const Decimal *decimal, bool to_nearest) {
    if (!decimal->whole) return 0;
    Binary binary = decimal->exponent < 0 ? divide(decimal->whole, (int)-decimal->exponent)
                                          : multiply(decimal->whole, (int)decimal->exponent);
    return round_bits(&binary, to_nearest);
}

static bool has_exact_form(const Decimal *decimal) {
    return !decimal->cut && (!decimal->whole || llabs(decimal->exponent) <= DIGITS);
}

static bool write_float(const Decimal *decimal, const char *text, FlowElement element,
                        void *value) {
    double number;
    if (!has_exact_form(decimal))
        number = element == FLOW_f32 ? (double)strtof(text, NULL) : strtod(text, NULL);
    else {
        number = round_decimal(decimal, element == FLOW_f64);
        if (decimal->negative) number = -number;
    }
    return number_write(element, number, value) && isfinite(number_read(element, value));
}

/* The value as an integer; false: it is none, or too large. */
static bool to_integer(const Decimal *decimal, int64_t *integer) {
    uint64_t whole = decimal->whole;
    int64_t exponent = whole ? decimal->exponent : 0;
    if (decimal->cut || exponent > DIGITS || exponent < -DIGITS) return false;
    if (exponent < 0 && whole % powers[-exponent]) return false;
    if (exponent < 0) whole /= powers[-exponent];
    if (exponent > 0 && __builtin_mul_overflow(whole, powers[exponent], &whole)) return false;
    *integer = decimal->negative ? (int64_t)(0 - whole) : (int64_t)whole;
    return whole <= (uint64_t)INT64_MAX + decimal->negative;
}

static bool write_integer(const Decimal *decimal, FlowElement element, void *value) {
    int64_t integer;
    if (!to_integer(decimal, &integer)) return false;
    if (element != FLOW_i64) return number_write(element, (double)integer, value);
    memcpy(value, &integer, sizeof integer);
    return true;
}

/* Words. */

static bool is_word(const char *text, size_t size, const char *word) {
    return size == strlen(word) && !strncasecmp(text, word, size);
}

static bool write_word(const char *text, size_t size, FlowElement element, void *value) {
    bool truth = is_word(text, size, "true");
    if (element == FLOW_bool)
        return (truth || is_word(text, size, "false")) && number_write(element, truth, value);
    if (element < FLOW_f16) return false;
    bool negative = size && *text == '-';
    size_t sign = size && (negative || *text == '+');
    bool infinite =
        is_word(text + sign, size - sign, "inf") || is_word(text + sign, size - sign, "infinity");
    if (!infinite && !is_word(text + sign, size - sign, "nan")) return false;
    double number = infinite ? INFINITY : NAN;
    return number_write(element, negative ? -number : number, value);
}

/* Not inlined: what it needs would cost short numbers more than they do. */
static __attribute__((noinline)) bool write_any(const char *text, size_t size, FlowElement element,
                                                void *value) {
    Decimal decimal;
    if (!read_any(text, size, &decimal)) return write_word(text, size, element, value);
    return element < FLOW_f16 ? write_integer(&decimal, element, value)
                              : write_float(&decimal, text, element, value);
}

bool decimal_write(const char *text, size_t size, FlowElement element, void *value) {
    return decimal_write_short(text, size, element, value) || write_any(text, size, element, value);
}
