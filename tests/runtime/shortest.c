/* shortest: every number of each element comes back, none is written with more digits than it
 * needs, and of the shortest it is the closest. */
#include "runtime/format/shortest.h"
#include "runtime/type.h"
#include "tests/runtime/test.h"

#include <math.h>
#include <string.h>

static const char *written(FlowElement element, const void *value) {
    static char text[SHORTEST_SIZE];
    *shortest_write(element, value, text) = 0;
    return text;
}

static void writes(double number, const char *expected) {
    const char *text = written(FLOW_f64, &number);
    CHECK(!strcmp(text, expected), "%s, not %s", text, expected);
}

static void writes_single(float number, const char *expected) {
    const char *text = written(FLOW_f32, &number);
    CHECK(!strcmp(text, expected), "%s, not %s", text, expected);
}

static void writes_known_numbers(void) {
    writes(0, "0");
    writes(-0.0, "-0");
    writes(1, "1");
    writes(-1.5, "-1.5");
    writes(0.1, "0.1");
    writes(0.3, "0.3");
    writes(0.1 + 0.2, "0.30000000000000004");
    writes(1e-4, "0.0001");
    writes(1e-5, "1e-5");
    writes(1.25e-5, "1.25e-5");
    writes(123456.789, "123456.789");
    writes(9007199254740992, "9007199254740992");
    writes(1e16, "10000000000000000");
    writes(1e17, "1e17");
    writes(1e23, "1e23");
    writes(9.5e-310, "9.5e-310");
    writes(5e-324, "5e-324");
    writes(2.2250738585072014e-308, "2.2250738585072014e-308");
    writes(1.7976931348623157e308, "1.7976931348623157e308");
    writes(NAN, "nan");
    writes(-NAN, "nan");
    writes(INFINITY, "inf");
    writes(-INFINITY, "-inf");
    writes_single(0.1f, "0.1");
    writes_single(16777216, "16777216");
    writes_single(3.4028235e38f, "3.4028235e38");
    writes_single(1e-45f, "1e-45");
    writes_single(1.17549435e-38f, "1.1754944e-38");
}

static void writes_whole_numbers(void) {
    char text[SHORTEST_SIZE];
    int64_t numbers[] = {0, 9, 10, 99, 100, -1, INT64_MAX, INT64_MIN, 1000000000000000000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char expected[SHORTEST_SIZE];
        snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
        CHECK(!strcmp(written(FLOW_i64, &numbers[i]), expected), "%s", expected);
    }
    for (uint64_t power = 1, i = 0; i < 19; i++, power *= 10) {
        *shortest_whole((int64_t)power, text) = 0;
        CHECK(strlen(text) == (size_t)i + 1 && strtoull(text, NULL, 10) == power, "%s", text);
        *shortest_whole((int64_t)power - 1, text) = 0;
        CHECK(strtoull(text, NULL, 10) == power - 1, "%s", text);
    }
}

static int digits_of(const char *text) {
    int digits = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && !digits)) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        digits++;
    }
    return digits - zeros;
}

static bool is_same(FlowElement element, double number, const void *value) {
    char bytes[8];
    number_write(element, number, bytes);
    return !memcmp(bytes, value, flow_element_size(element));
}

/* One digit less, rounded either way, is another number. */
static void expect_shortest(FlowElement element, const void *value, const char *text) {
    char fewer[64];
    double number = number_read(element, value);
    int digits = digits_of(text);
    if (digits > 1) {
        snprintf(fewer, sizeof fewer, "%.*e", digits - 2, number);
        CHECK(!is_same(element, strtod(fewer, NULL), value), "%s for %s", text, fewer);
    }
    snprintf(fewer, sizeof fewer, "%.*e", digits - 1, number);
    bool closest = strtod(fewer, NULL) == strtod(text, NULL);
    CHECK(closest || !is_same(element, strtod(fewer, NULL), value), "%s, %s is closer", text,
          fewer);
}

static void comes_back(FlowElement element, uint64_t bits, bool shortest) {
    char value[8];
    memcpy(value, &bits, sizeof value);
    double number = number_read(element, value);
    const char *text = written(element, value);
    CHECK(shortest_is_finite(element, value) == isfinite(number), "%s", text);
    if (!isfinite(number) || !number) return;
    bool same = element == FLOW_f32 ? is_same(element, strtof(text, NULL), value)
                                    : is_same(element, strtod(text, NULL), value);
    CHECK(same, "%s is not %.17g of %d", text, number, (int)element);
    bool whole = fabs(number) < 0x1p53 && number == floor(number);
    if (shortest && !whole) expect_shortest(element, value, text);
}

static uint64_t random_bits(void) {
    static uint64_t state = 1;
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

static void bring_back_all(void) {
    bool thorough = getenv("LONG") && *getenv("LONG");
    for (uint64_t bits = 0; bits < 1 << 16; bits++) {
        comes_back(FLOW_f16, bits, true);
        comes_back(FLOW_bf16, bits, true);
    }
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += thorough ? 7 : 20011)
        comes_back(FLOW_f32, bits, bits % 64 == 0 || !thorough);
    for (int i = 0; i < (thorough ? 100000000 : 200000); i++)
        comes_back(FLOW_f64, random_bits(), i % 16 == 0);
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (int i = -2; i <= 2; i++) comes_back(FLOW_f64, (exponent << 52) + (uint64_t)i, true);
    for (uint64_t exponent = 0; exponent < 255; exponent++)
        for (int i = -2; i <= 2; i++)
            comes_back(FLOW_f32, ((exponent << 23) + (uint64_t)i) & UINT32_MAX, true);
}

int main(void) {
    writes_known_numbers();
    writes_whole_numbers();
    bring_back_all();
    return test_result();
}
