/* Formula: the formulas of ops.def, over doubles. */
#include "compiler/graph/build.h"

#include <assert.h>
#include <math.h>

static double max(double a, double b) {
    return a < b ? b : a;
}

static double min(double a, double b) {
    return b < a ? b : a;
}

static double modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double quotient(double a, double b) {
    return b == 0 ? 0 : floor(a / b);
}

static double rsqrt(double a) {
    return 1 / sqrt(a);
}

static double keep(bool good, double b, double c) {
    return good && (isfinite(b) || b == c) ? b : c;
}

static double no_formula(void) {
    assert(!"this op has no formula");
    return NAN;
}

double formula_evaluate(Op op, const Scalars *scalars) {
    const double a = scalars->a, b = scalars->b, c = scalars->c, y = scalars->y;
    const int64_t stream = scalars->stream, index = scalars->index;
#define none no_formula()
    switch (op) {
#define OP(name, formula, ...) \
    case OP_##name:            \
        return (double)(formula);
#include "compiler/ops/ops.def"
#undef OP
    case OP_COUNT: break;
    }
#undef none
    return no_formula();
}

static double wrap(Element element, int64_t value) {
    switch (element) {
    case TYPE_u8: return (double)(uint8_t)value;
    case TYPE_i8: return (double)(int8_t)value;
    case TYPE_i32: return (double)(int32_t)value;
    default: return (double)value;
    }
}

static int64_t whole(double value) {
    if (isnan(value)) return 0;
    if (value >= 0x1p63) return INT64_MAX;
    if (value < -0x1p63) return INT64_MIN;
    return (int64_t)value;
}

/* To the nearest number of so many binary digits, the even one of two; `least` is the exponent of
 * the smallest normal numbers, as frexp counts. */
static double round_half(double value, int digits, int least, double largest) {
    int exponent;
    if (!isfinite(value)) return value;
    frexp(value, &exponent);
    if (exponent < least) exponent = least;
    double unit = ldexp(1, exponent - digits), rounded = rint(value / unit) * unit;
    return fabs(rounded) > largest ? copysign(INFINITY, value) : rounded;
}

static double round_floating(Element element, double value) {
    switch (element) {
    case TYPE_f16: return round_half(value, 11, -13, 65504);
    case TYPE_bf16: return round_half(value, 8, -125, 0x1.fep127);
    case TYPE_f32: return (double)(float)value;
    default: return value;
    }
}

double element_round(Element element, double value) {
    switch (element_info[element].class) {
    case CLASS_boolean: return value != 0;
    case CLASS_integer: return wrap(element, whole(value));
    case CLASS_floating: return round_floating(element, value);
    }
    return value;
}

/* A double can't hold every product of integers. */
static double multiply_whole(Element element, double a, double b) {
    return wrap(element, (int64_t)((uint64_t)whole(a) * (uint64_t)whole(b)));
}

double op_evaluate(const Node *node, const double *operands, bool exact) {
    Element element = node->type.element;
    ElementClass class = element_info[element].class;
    if (node->op == OP_multiply && class == CLASS_integer)
        return multiply_whole(element, operands[0], operands[1]);
    Scalars scalars = {operands[0], operands[1], operands[2], 0, node->stream, 0};
    double value = formula_evaluate(node->op, &scalars);
    return exact && class == CLASS_floating ? value : element_round(element, value);
}
