/* Types: sizes, text, and conversion of single numbers; one table row for each element. */
#include "runtime/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    double least, most; /* of an integer element; most = 0 says floating point */
} elements[] = {
    [FLOW_bool] = {"bool", 1, 0, 1},
    [FLOW_u8] = {"u8", 1, 0, UINT8_MAX},
    [FLOW_i8] = {"i8", 1, INT8_MIN, INT8_MAX},
    [FLOW_i32] = {"i32", 4, INT32_MIN, INT32_MAX},
    [FLOW_i64] = {"i64", 8, -0x1p63, 0x1.fffffffffffffp62},
    [FLOW_f16] = {"f16", 2, 0, 0},
    [FLOW_bf16] = {"bf16", 2, 0, 0},
    [FLOW_f32] = {"f32", 4, 0, 0},
    [FLOW_f64] = {"f64", 8, 0, 0},
};

size_t flow_element_size(FlowElement element) {
    return elements[element].size;
}

size_t flow_type_size(const FlowType *type) {
    size_t size = elements[type->element].size;
    for (int i = 0; i < type->rank; i++) size *= (size_t)type->sizes[i];
    return size;
}

int64_t size_at(int64_t size, Sizes sizes) {
    return size < 0 ? sizes.program->sizes[~size](1, sizes.values) : size;
}

FlowType type_at(const FlowType *type, Sizes sizes) {
    FlowType known = *type;
    for (int i = 0; i < type->rank; i++) known.sizes[i] = size_at(type->sizes[i], sizes);
    return known;
}

FlowStatus sizes_check(Sizes sizes) {
    const FlowProgram *program = sizes.program;
    for (int i = 0; i < program->bound_count; i++) {
        const FlowBound *bound = &program->bounds[i];
        if (sizes.values[i] < 1 || sizes.values[i] > bound->most)
            return flow_failure(FLOW_EXIT_usage, "%s is %lld; it must lie in 1..%lld", bound->name,
                                (long long)sizes.values[i], (long long)bound->most);
    }
    const char *misfit = program->misfit ? program->misfit(sizes.values) : NULL;
    if (!misfit) return flow_ok;
    return flow_failure(FLOW_EXIT_usage, "with these sizes %s does not come out whole", misfit);
}

TypeText type_name(const FlowType *type) {
    TypeText out;
    size_t room = sizeof out.text;
    size_t used = (size_t)snprintf(out.text, room, "%s", elements[type->element].name);
    for (int i = 0; i < type->rank && used < room; i++)
        used += (size_t)snprintf(out.text + used, room - used, "%s%lld", i ? ", " : "[",
                                 (long long)type->sizes[i]);
    if (type->rank && used < room) snprintf(out.text + used, room - used, "]");
    return out;
}

bool types_equal(const FlowType *a, const FlowType *b) {
    return a->element == b->element && a->rank == b->rank &&
           !memcmp(a->sizes, b->sizes, sizeof a->sizes[0] * (size_t)a->rank);
}

static double read_f16(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* Rounds to the nearest, ties to even, as rint does. */
static uint16_t write_f16(double number) {
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    double size = fabs(number);
    if (isnan(size)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | (uint16_t)rint(ldexp(size, 24));
    int exponent;
    double fraction = frexp(size, &exponent);
    return sign | (uint16_t)((uint32_t)(exponent + 13) * 1024 + (uint32_t)rint(fraction * 2048));
}

static float read_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &wide, sizeof number);
    return number;
}

static uint16_t write_bf16(double number) {
    float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (isnan(single)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define READ(type, convert)                  \
    {                                        \
        type value;                          \
        memcpy(&value, bytes, sizeof value); \
        return (double)convert(value);       \
    }

double number_read(FlowElement element, const void *bytes) {
    switch (element) {
    case FLOW_bool:
    case FLOW_u8: READ(uint8_t, );
    case FLOW_i8: READ(int8_t, );
    case FLOW_i32: READ(int32_t, );
    case FLOW_i64: READ(int64_t, );
    case FLOW_f16: READ(uint16_t, read_f16);
    case FLOW_bf16: READ(uint16_t, read_bf16);
    case FLOW_f32: READ(float, );
    case FLOW_f64: READ(double, );
    }
    return NAN;
}

#define WRITE(type, convert)                 \
    {                                        \
        type value = (type)convert(number);  \
        memcpy(bytes, &value, sizeof value); \
        return true;                         \
    }

static bool fits(FlowElement element, double number) {
    if (elements[element].most == 0) return true;
    return number == floor(number) && number >= elements[element].least &&
           number <= elements[element].most;
}

bool number_write(FlowElement element, double number, void *bytes) {
    if (!fits(element, number)) return false;
    switch (element) {
    case FLOW_bool:
    case FLOW_u8: WRITE(uint8_t, );
    case FLOW_i8: WRITE(int8_t, );
    case FLOW_i32: WRITE(int32_t, );
    case FLOW_i64: WRITE(int64_t, );
    case FLOW_f16: WRITE(uint16_t, write_f16);
    case FLOW_bf16: WRITE(uint16_t, write_bf16);
    case FLOW_f32: WRITE(float, );
    case FLOW_f64: WRITE(double, );
    }
    return false;
}
