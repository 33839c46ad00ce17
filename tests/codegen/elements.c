/* Elements. */
#include "tests/codegen/elements.h"

#include "compiler/graph/build.h"

#include <math.h>

/* Sign, exponent and fraction as IEEE 754 lays them out: f16 has 10 bits of fraction, bf16 7. */
static double half_value(Element element, uint16_t bits) {
    int fraction_bits = element == TYPE_f16 ? 10 : 7, last = (1 << (15 - fraction_bits)) - 1;
    int exponent = bits >> fraction_bits & last, fraction = bits & ((1 << fraction_bits) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == last) return fraction ? NAN : sign * INFINITY;
    if (exponent) fraction += 1 << fraction_bits;
    else exponent = 1;
    return sign * ldexp(fraction, exponent - last / 2 - fraction_bits);
}

/* The bits whose value is the number's, rounded. */
static uint16_t half_bits(Element element, double number) {
    int fraction_bits = element == TYPE_f16 ? 10 : 7, last = (1 << (15 - fraction_bits)) - 1;
    double rounded = element_round(element, number), size = fabs(rounded);
    int sign = signbit(rounded) ? 0x8000 : 0, least = 1 - last / 2, exponent;
    if (isnan(rounded)) return 0x7fff;
    if (isinf(rounded)) return (uint16_t)(sign | last << fraction_bits);
    frexp(size, &exponent);
    if (size == 0 || exponent - 1 < least) exponent = least + 1;
    int fraction = (int)ldexp(size, fraction_bits + 1 - exponent);
    bool normal = fraction >> fraction_bits;
    int biased = normal ? exponent - 1 + last / 2 : 0;
    return (uint16_t)(sign | biased << fraction_bits | (fraction & ((1 << fraction_bits) - 1)));
}

void elements_encode(Element element, const double *from, int64_t count, void *to) {
    for (int64_t i = 0; i < count; i++) switch (element) {
        case TYPE_bool:
        case TYPE_u8: ((uint8_t *)to)[i] = (uint8_t)from[i]; break;
        case TYPE_i8: ((int8_t *)to)[i] = (int8_t)from[i]; break;
        case TYPE_i32: ((int32_t *)to)[i] = (int32_t)from[i]; break;
        case TYPE_i64: ((int64_t *)to)[i] = (int64_t)from[i]; break;
        case TYPE_f16: ((uint16_t *)to)[i] = half_bits(element, from[i]); break;
        case TYPE_bf16: ((uint16_t *)to)[i] = half_bits(element, from[i]); break;
        case TYPE_f32: ((float *)to)[i] = (float)from[i]; break;
        default: ((double *)to)[i] = from[i];
        }
}

double element_decode(Element element, const void *from, int64_t i) {
    switch (element) {
    case TYPE_bool:
    case TYPE_u8: return ((const uint8_t *)from)[i];
    case TYPE_i8: return ((const int8_t *)from)[i];
    case TYPE_i32: return ((const int32_t *)from)[i];
    case TYPE_i64: return (double)((const int64_t *)from)[i];
    case TYPE_f16: return half_value(element, ((const uint16_t *)from)[i]);
    case TYPE_bf16: return half_value(element, ((const uint16_t *)from)[i]);
    case TYPE_f32: return ((const float *)from)[i];
    default: return ((const double *)from)[i];
    }
}
