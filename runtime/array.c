/* Array. What is not of the field's type is converted, record by record or all at once. Integers
 * become any integer type that holds their value, which is looked at, and any floating-point type
 * that holds all of theirs; floating-point numbers become wider ones. No value changes. */
#include "runtime/array.h"

#include "runtime/holdings.h"
#include "runtime/plural.h"
#include "runtime/shards.h"
#include "runtime/type.h"

#include <byteswap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(element) (1u << FLOW_##element)
#define WHOLE (BIT(bool) | BIT(u8) | BIT(i8) | BIT(i32) | BIT(i64))

/* An element type of the format. */
typedef struct Kind {
    char kind;
    int size;
    const char *name;    /* as programs call it */
    unsigned becomes;    /* a bit for each FlowElement */
    FlowElement nearest; /* what a program can ask for to get every value */
} Kind;

static const Kind kinds[] = {
    {'b', 1, "bool", WHOLE | BIT(f16) | BIT(bf16) | BIT(f32) | BIT(f64), FLOW_bool},
    {'u', 1, "u8", WHOLE | BIT(f16) | BIT(bf16) | BIT(f32) | BIT(f64), FLOW_u8},
    {'i', 1, "i8", WHOLE | BIT(f16) | BIT(bf16) | BIT(f32) | BIT(f64), FLOW_i8},
    {'u', 2, "u16", WHOLE | BIT(f32) | BIT(f64), FLOW_i32},
    {'i', 2, "i16", WHOLE | BIT(f32) | BIT(f64), FLOW_i32},
    {'u', 4, "u32", WHOLE | BIT(f64), FLOW_i64},
    {'i', 4, "i32", WHOLE | BIT(f64), FLOW_i32},
    {'u', 8, "u64", WHOLE, FLOW_i64},
    {'i', 8, "i64", WHOLE, FLOW_i64},
    {'f', 2, "f16", BIT(f16) | BIT(f32) | BIT(f64), FLOW_f16},
    {'f', 4, "f32", BIT(f32) | BIT(f64), FLOW_f32},
    {'f', 8, "f64", BIT(f64), FLOW_f64},
    {'V', 2, "bf16", BIT(bf16), FLOW_bf16}, /* as ml_dtypes saves it */
};

static const Kind *kind_of(const Npy *npy) {
    const Kind *kind = kinds;
    while (kind->kind != npy->kind || kind->size != npy->size) kind++;
    return kind;
}

/* "data.npz: x" */
static TypeText place_text(ArrayPlace place) {
    TypeText text;
    snprintf(text.text, sizeof text.text, "%s%s%s", place.path, place.name ? ": " : "",
             place.name ? place.name : "");
    return text;
}

/* "f32[28, 28]", of one record of the file. */
static TypeText record_text(const Npy *npy, const char *element) {
    FlowType shape = {.element = FLOW_u8, .rank = npy->rank - 1};
    memcpy(shape.sizes, npy->sizes + 1, sizeof shape.sizes[0] * (size_t)shape.rank);
    TypeText whole = type_name(&shape), text;
    snprintf(text.text, sizeof text.text, "%s%.200s", element, whole.text + strlen("u8"));
    return text;
}

/* Checks. */

static bool has_shape(const Npy *npy, const FlowType *type) {
    return npy->rank == type->rank + 1 &&
           !memcmp(npy->sizes + 1, type->sizes, sizeof type->sizes[0] * (size_t)type->rank);
}

static FlowStatus type_failure(const Array *array, const Kind *kind) {
    const Npy *npy = &array->npy;
    FlowType element = {.element = kind->nearest}, wanted = {.element = array->field->type.element};
    TypeText place = place_text(array->place), found = record_text(npy, kind->name);
    TypeText expected = type_name(&array->field->type);
    if (!has_shape(npy, &array->field->type))
        return flow_failure(FLOW_EXIT_data, "%s: records are %s, the program expects %s",
                            place.text, found.text, expected.text);
    return flow_failure(FLOW_EXIT_data,
                        "%s: records are %s, the program expects %s; "
                        "`%s |> : %s |> cast(%s)` makes them so",
                        place.text, found.text, expected.text, array->field->name,
                        record_text(npy, type_name(&element).text).text, type_name(&wanted).text);
}

static FlowStatus check(const Array *array) {
    const Npy *npy = &array->npy;
    TypeText place = place_text(array->place);
    const Kind *kind = kind_of(npy);
    if (!npy->rank)
        return flow_failure(FLOW_EXIT_data,
                            "%s: is one number; its first axis has to count the "
                            "records",
                            place.text);
    if (!(kind->becomes >> array->field->type.element & 1) || !has_shape(npy, &array->field->type))
        return type_failure(array, kind);
    if (!npy->sizes[0]) return flow_failure(FLOW_EXIT_data, "%s: has no records", place.text);
    if (npy->by_columns && npy->rank > 1)
        return flow_failure(FLOW_EXIT_data,
                            "%s: is stored by columns (fortran_order), so that no record lies in "
                            "one piece; save numpy.ascontiguousarray(%s)",
                            place.text, array->field->name);
    return flow_ok;
}

FlowStatus array_open(ArrayPlace place, const FlowField *field, const char *bytes, uint64_t size,
                      Array *array) {
    *array = (Array){.place = place, .field = field};
    if (!npy_read(bytes, size, &array->npy))
        return flow_failure(FLOW_EXIT_data, "%s: %s", place_text(place).text, array->npy.error);
    FlowStatus status = check(array);
    if (status.exit) return status;
    array->record_elements = array->npy.elements / (uint64_t)array->npy.sizes[0];
    array->record_size = array->record_elements * (size_t)array->npy.size;
    return flow_ok;
}

void array_fill(Array *array, const char *bytes) {
    const Npy *npy = &array->npy;
    const Kind *kind = kind_of(npy);
    array->values = bytes + npy->begin;
    array->own = kind->nearest == array->field->type.element &&
                 flow_element_size(kind->nearest) == (size_t)npy->size;
    array->same = array->own && !npy->swapped && kind->kind != 'b';
    array->aligned = (uintptr_t)array->values % (size_t)npy->size == 0;
}

FlowStatus arrays_check(const Array *arrays, int count) {
    for (int i = 1; i < count; i++)
        if (array_records(&arrays[i]) != array_records(&arrays[0]))
            return flow_failure(FLOW_EXIT_data, "%s has %lld record%s, but %s has %lld",
                                place_text(arrays[0].place).text,
                                (long long)array_records(&arrays[0]),
                                plural(array_records(&arrays[0])), place_text(arrays[i].place).text,
                                (long long)array_records(&arrays[i]));
    return flow_ok;
}

int64_t array_records(const Array *array) {
    return array->npy.sizes[0];
}

const void *array_at(const Array *array, int64_t record) {
    return array->values + (size_t)record * array->record_size;
}

void array_prefetch(const Array *array, int64_t record) {
    shard_prefetch(array_at(array, record), array->record_size);
}

/* Elements to elements. */

/* In this machine's byte order, in the low bits. */
static uint64_t read_bits(const Npy *npy, const char *from) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (npy->size) {
    case 1: memcpy(&one, from, sizeof one); return one;
    case 2: memcpy(&two, from, sizeof two); return npy->swapped ? bswap_16(two) : two;
    case 4: memcpy(&four, from, sizeof four); return npy->swapped ? bswap_32(four) : four;
    default: memcpy(&eight, from, sizeof eight); return npy->swapped ? bswap_64(eight) : eight;
    }
}

static void write_bits(uint64_t bits, int size, char *to) {
    switch (size) {
    case 1: memcpy(to, &(uint8_t){(uint8_t)bits}, 1); break;
    case 2: memcpy(to, &(uint16_t){(uint16_t)bits}, 2); break;
    case 4: memcpy(to, &(uint32_t){(uint32_t)bits}, 4); break;
    default: memcpy(to, &bits, 8);
    }
}

/* A floating-point number becomes a wider one. */
static void widen(const Npy *npy, uint64_t bits, FlowElement element, char *to) {
    char same[8];
    FlowElement from = npy->size == 2 ? FLOW_f16 : npy->size == 4 ? FLOW_f32 : FLOW_f64;
    write_bits(bits, npy->size, same);
    number_write(element, number_read(from, same), to);
}

/* What a double can't tell apart lies outside of all types but i64. */
static bool write_whole(const Npy *npy, uint64_t bits, FlowElement element, char *to) {
    int unused = 64 - 8 * npy->size;
    int64_t number = npy->kind == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    if (npy->kind != 'i' && number < 0) return false;
    if (element != FLOW_i64) return number_write(element, (double)number, to);
    memcpy(to, &number, sizeof number);
    return true;
}

static bool convert(const Array *array, const char *from, char *to) {
    const Npy *npy = &array->npy;
    FlowElement element = array->field->type.element;
    uint64_t bits = read_bits(npy, from);
    if (npy->kind == 'b') return write_whole(npy, bits != 0, element, to);
    if (npy->kind == 'i' || npy->kind == 'u') return write_whole(npy, bits, element, to);
    if (array->own) write_bits(bits, npy->size, to);
    else widen(npy, bits, element, to);
    return true;
}

static FlowStatus value_failure(const Array *array, int64_t record, const char *from) {
    const Npy *npy = &array->npy;
    uint64_t bits = read_bits(npy, from);
    FlowType wanted = {.element = array->field->type.element};
    char number[32];
    int unused = 64 - 8 * npy->size;
    if (npy->kind == 'i')
        snprintf(number, sizeof number, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    else snprintf(number, sizeof number, "%llu", (unsigned long long)bits);
    return flow_failure(FLOW_EXIT_data, "%s: record %lld: %s is no %s",
                        place_text(array->place).text, (long long)record, number,
                        type_name(&wanted).text);
}

bool array_make(const Array *array, int64_t record, void *value, FlowStatus *failure) {
    const char *from = array_at(array, record);
    size_t size = flow_element_size(array->field->type.element);
    if (array->same) {
        memcpy(value, from, array->record_size);
        return true;
    }
    for (size_t i = 0; i < array->record_elements; i++, from += array->npy.size) {
        if (convert(array, from, (char *)value + i * size)) continue;
        if (failure) *failure = value_failure(array, record, from);
        return false;
    }
    return true;
}

/* What can be pointed at. */

static bool is_pointed(const Array *array) {
    return array->same && array->aligned;
}

/* Bytes of all values of the field. */
static size_t field_size(const Array *array) {
    return (size_t)array->npy.elements * flow_element_size(array->field->type.element);
}

static bool may_be_held(const Array *array) {
    enum { MOST = 1 << 24 /* bytes */, SHARE = 16 /* of what the limit of memory leaves */ };
    return array->record_elements == 1 && field_size(array) <= MOST &&
           field_size(array) <= holdings_room() / SHARE;
}

/* False: there is no memory, or a number is none of the field's, which its record says when it is
 * made. */
static bool hold(Array *array) {
    size_t size = flow_element_size(array->field->type.element);
    char *values = held_new(field_size(array));
    bool made = values != NULL;
    for (int64_t i = 0; made && i < array_records(array); i++)
        made = array_make(array, i, values + (size_t)i * size, NULL);
    if (!made) {
        if (values) held_give(field_size(array));
        free(values);
        return false;
    }
    array->values = array->held = values;
    array->record_size = size;
    array->same = array->aligned = true;
    return true;
}

bool arrays_point(Array *arrays, int count) {
    for (int i = 0; i < count; i++)
        if (!is_pointed(&arrays[i]) && !may_be_held(&arrays[i])) return false;
    for (int i = 0; i < count; i++)
        if (!is_pointed(&arrays[i]) && !hold(&arrays[i])) return false;
    return true;
}

void array_close(Array *array) {
    free(array->held);
    array->held = NULL;
}
