/* Fuzz: any bytes as a number. What is one by the grammar has the value that strtod and strtof say,
 * and that strtoll says if it is whole; nothing else is one. */
#include "runtime/format/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LIMIT = 300 };

static size_t digits(const char *text) {
    return strspn(text, "0123456789");
}

static bool is_number(const char *text) {
    text += *text == '-' || *text == '+';
    size_t whole = digits(text), part = 0;
    text += whole;
    if (*text == '.') part = digits(++text);
    text += part;
    if (!whole && !part) return false;
    if (*text != 'e' && *text != 'E') return !*text;
    text++;
    text += *text == '-' || *text == '+';
    return digits(text) && !text[digits(text)];
}

static bool is_word(const char *text) {
    text += *text == '-' || *text == '+';
    return !strcasecmp(text, "inf") || !strcasecmp(text, "infinity") || !strcasecmp(text, "nan");
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_whole(const char *text, size_t size) {
    int64_t integer;
    bool good = decimal_write(text, size, FLOW_i64, &integer);
    const char *number = text + (*text == '-' || *text == '+');
    if (good && !is_number(text)) abort();
    if (!*number || number[digits(number)]) return;
    errno = 0;
    int64_t expected = strtoll(text, NULL, 10);
    if (good != !errno || (good && integer != expected)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char text[LIMIT + DECIMAL_PADDING] = "";
    double wide;
    float single;
    if (size > LIMIT || memchr(bytes, 0, size)) return 0;
    memcpy(text, bytes, size);
    bool is = is_number(text) && isfinite(strtod(text, NULL));
    bool is_single = is_number(text) && isfinite(strtof(text, NULL));
    if (decimal_write(text, size, FLOW_f64, &wide) != (is || is_word(text))) abort();
    if (decimal_write(text, size, FLOW_f32, &single) != (is_single || is_word(text))) abort();
    if (is && !same(wide, strtod(text, NULL))) abort();
    if (is_single && !same(single, strtof(text, NULL))) abort();
    check_whole(text, size);
    return 0;
}
