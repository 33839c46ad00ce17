#include "runtime/numbers.h"

#include "runtime/type.h"

#include <string.h>

/* Elements that C has as types: as fast as it can be. */
#define STORE_EXACTLY(type)                                  \
    for (; i < count && (type)numbers[i] == numbers[i]; i++) \
        ((type *)values)[i] = (type)numbers[i];              \
    return i;

#define STORE_ROUNDED(type)                                        \
    for (; i < count; i++) ((type *)values)[i] = (type)numbers[i]; \
    return i;

size_t store_integers(const int64_t *numbers, size_t count, FlowElement element, void *values) {
    size_t i = 0, size = flow_element_size(element);
    switch (element) {
    case FLOW_bool: STORE_EXACTLY(bool)
    case FLOW_u8: STORE_EXACTLY(uint8_t)
    case FLOW_i8: STORE_EXACTLY(int8_t)
    case FLOW_i32: STORE_EXACTLY(int32_t)
    case FLOW_i64: STORE_EXACTLY(int64_t)
    case FLOW_f32: STORE_ROUNDED(float)
    case FLOW_f64: STORE_ROUNDED(double)
    case FLOW_f16:
    case FLOW_bf16: break;
    }
    while (i < count && number_write(element, (double)numbers[i], (char *)values + i * size)) i++;
    return i;
}

size_t store_floats(const float *numbers, size_t count, FlowElement element, void *values) {
    size_t i = 0, size = flow_element_size(element);
    if (element == FLOW_f32) {
        memcpy(values, numbers, count * size);
        return count;
    }
    if (element == FLOW_f64) {
        STORE_ROUNDED(double)
    }
    while (i < count && number_write(element, numbers[i], (char *)values + i * size)) i++;
    return i;
}

FlowStatus store_filling(const FlowField *field, void *values) {
    size_t size = flow_element_size(field->type.element), whole = flow_type_size(&field->type);
    for (size_t at = 0; at < whole; at += size)
        if (!number_write(field->type.element, field->filling, (char *)values + at))
            return flow_failure(FLOW_EXIT_data, "is missing, and %.10g is no %s", field->filling,
                                type_name(&field->type).text);
    return flow_ok;
}
