/* Number. Of floating point, as few digits are written as give the same number back. */
#include "runtime/sink/number.h"

#include "runtime/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 32 };

static bool reads_back(const char *text, double number, FlowElement element) {
    if (element == FLOW_f64) return strtod(text, NULL) == number;
    char bytes[8], again[8];
    number_write(element, number, bytes);
    number_write(element, strtod(text, NULL), again);
    return !memcmp(bytes, again, flow_element_size(element));
}

static void write_real(Output *output, double number, FlowElement element) {
    char text[NUMBER_SIZE];
    int digits = element == FLOW_f64 ? 15 : element == FLOW_f32 ? 6 : 2;
    if (!isfinite(number)) {
        output_text(output, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    do snprintf(text, sizeof text, "%.*g", digits, number);
    while (!reads_back(text, number, element) && ++digits <= 17);
    output_text(output, text);
}

static void write_whole(Output *output, int64_t number) {
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld", (long long)number);
    output_text(output, text);
}

void write_number(Output *output, FlowElement element, const char *value) {
    double number = number_read(element, value);
    int64_t whole;
    switch (element) {
    case FLOW_bool: output_text(output, number != 0 ? "true" : "false"); return;
    case FLOW_i64:
        memcpy(&whole, value, sizeof whole);
        write_whole(output, whole);
        return;
    case FLOW_u8:
    case FLOW_i8:
    case FLOW_i32: write_whole(output, (int64_t)number); return;
    default: write_real(output, number, element);
    }
}

int64_t element_count(const FlowType *type) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->sizes[i];
    return count;
}

/* The brackets that open before element i, or that close after it. */
static void write_brackets(Output *output, const FlowType *type, int64_t i, const char *bracket) {
    int64_t block = 1;
    for (int axis = type->rank; axis-- > 0;) {
        block *= type->sizes[axis];
        if (*bracket == '[' ? i % block == 0 : (i + 1) % block == 0) output_text(output, bracket);
    }
}

void write_tensor(Output *output, const FlowType *type, const char *value, const char *comma) {
    int64_t count = element_count(type);
    size_t size = flow_element_size(type->element);
    for (int64_t i = 0; i < count; i++) {
        if (i) output_text(output, comma);
        write_brackets(output, type, i, "[");
        write_number(output, type->element, value + (size_t)i * size);
        write_brackets(output, type, i, "]");
    }
}
