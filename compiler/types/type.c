/* Type: element types and shapes. */
#include "compiler/types/type.h"

#include <assert.h>
#include <string.h>

const ElementInfo element_info[ELEMENT_COUNT] = {
#define ELEMENT(name, bytes, c, computed, class, rank) {#name, bytes, #c, #computed, class, rank},
#include "compiler/types/elements.def"
#undef ELEMENT
};

bool element_by_name(const char *name, Element *element) {
    for (int i = 0; i < ELEMENT_COUNT; i++)
        if (!strcmp(element_info[i].name, name)) {
            *element = (Element)i;
            return true;
        }
    return false;
}

Type type_scalar(Element element) {
    return (Type){.element = element};
}

bool shape_equal(const Type *a, const Type *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

bool type_equal(const Type *a, const Type *b) {
    return a->element == b->element && shape_equal(a, b);
}

Type type_with(Type type, int axis, Dim size) {
    assert(type.rank < RANK_LIMIT);
    memmove(type.dims + axis + 1, type.dims + axis, sizeof(Dim) * (size_t)(type.rank++ - axis));
    type.dims[axis] = size;
    return type;
}

Type type_without(Type type, int axis) {
    memmove(type.dims + axis, type.dims + axis + 1, sizeof(Dim) * (size_t)(--type.rank - axis));
    type.dims[type.rank] = NULL;
    return type;
}

int type_batch_axis(const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (dim_counts_records(type->dims[i])) return i;
    return -1;
}

Dim type_count(Dimensions *table, const Type *type, int first, int last) {
    int64_t numbers = 1, number;
    Dim others = NULL; /* the product of those that are no numbers */
    for (int i = first; i < last; i++) {
        if (!dim_is_constant(type->dims[i], &number)) {
            others = others ? dim_multiply(table, others, type->dims[i]) : type->dims[i];
            if (!others) return NULL;
        } else if (__builtin_mul_overflow(numbers, number, &numbers) || numbers > DIMENSION_LIMIT)
            return NULL;
    }
    Dim count = dim_constant(table, numbers);
    return others ? dim_multiply(table, count, others) : count;
}

Dim type_elements(Dimensions *table, const Type *type) {
    return type_count(table, type, 0, type->rank);
}

int64_t type_size_bound(const Type *type) {
    int64_t size = element_info[type->element].size;
    for (int i = 0; i < type->rank; i++) {
        int64_t bound = dim_bound(type->dims[i]);
        if (bound < 0 || __builtin_mul_overflow(size, bound, &size) || size > TENSOR_SIZE_LIMIT)
            return -1;
    }
    return size;
}

/* Is it of numbers whose product is within all limits? Most are. */
static bool is_within_limits(const Type *type) {
    int64_t count = 1, size;
    for (int i = 0; i < type->rank; i++)
        if (!dim_is_constant(type->dims[i], &size) || size < 0 ||
            __builtin_mul_overflow(count, size, &count) || count > DIMENSION_LIMIT)
            return false;
    return count <= TENSOR_SIZE_LIMIT / element_info[type->element].size;
}

const char *type_excess(Dimensions *table, const Type *type) {
    if (is_within_limits(type)) return NULL;
    for (int i = 0; i < type->rank; i++)
        if (dim_bound(type->dims[i]) == SIZE_UNKNOWN) return NULL;
    const int64_t size = type_size_bound(type), most = DIMENSION_LIMIT;
    if (size < 0) return "is larger than 2^47 bytes";
    if (size / element_info[type->element].size > most) return "has more than 2^40 values";
    return type_elements(table, type) ? NULL
                                      : "has sizes whose product passes 32 terms or 8 factors";
}

void type_print(const Type *type, Text *text) {
    text_add(text, element_info[type->element].name);
    for (int i = 0; i < type->rank; i++) {
        text_add(text, i ? ", " : "[");
        dim_print(type->dims[i], text);
    }
    if (type->rank) text_add(text, "]");
}

const char *type_text(Arena *arena, const Type *type) {
    Text text = text_new(arena);
    type_print(type, &text);
    return text_string(&text);
}
