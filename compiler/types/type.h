/* Type: an element type, a shape, and what is known of the values. */
#ifndef FLOW_TYPES_TYPE_H
#define FLOW_TYPES_TYPE_H

#include "compiler/types/dimension.h"

enum { RANK_LIMIT = 8 };
#define TENSOR_SIZE_LIMIT ((int64_t)1 << 47) /* bytes of one tensor */

typedef enum Element {
#define ELEMENT(name, bytes, c, computed, class, rank) TYPE_##name,
#include "compiler/types/elements.def"
#undef ELEMENT
    ELEMENT_COUNT
} Element;

typedef enum ElementClass { CLASS_boolean, CLASS_integer, CLASS_floating } ElementClass;

typedef struct ElementInfo {
    const char *name;
    int size;                 /* bytes */
    const char *c, *computed; /* in memory; in variables */
    ElementClass class;
    int rank;
} ElementInfo;

extern const ElementInfo element_info[ELEMENT_COUNT];

typedef struct Type {
    Element element;
    int rank;
    Dim dims[RANK_LIMIT];
} Type;

/* Is it computed in a wider type than it is stored in? */
static inline bool is_half(Element element) {
    return element == TYPE_f16 || element == TYPE_bf16;
}

static inline bool is_floating(Element element) {
    return element_info[element].class == CLASS_floating;
}

bool element_by_name(const char *name, Element *element);

Type type_scalar(Element element);
bool type_equal(const Type *a, const Type *b);
bool shape_equal(const Type *a, const Type *b);

/* The type with one more dimension at `axis`, and without the one that is there. It must have
 * room. */
Type type_with(Type type, int axis, Dim size);
Type type_without(Type type, int axis);

/* The first axis that counts records of a batch; -1: none does. */
int type_batch_axis(const Type *type);

/* The product of the dims [first, last); NULL past a limit. */
Dim type_count(Dimensions *table, const Type *type, int first, int last);

/* The number of all elements; NULL past a limit. */
Dim type_elements(Dimensions *table, const Type *type);

/* Bytes at the largest size of every dimension; -1 past TENSOR_SIZE_LIMIT or when unbounded. */
int64_t type_size_bound(const Type *type);

/* Why a tensor of that type is too large, as "is larger than 2^47 bytes"; NULL: it isn't, its
 * elements can be counted, or a dimension has no bound yet. */
const char *type_excess(Dimensions *table, const Type *type);

void type_print(const Type *type, Text *text); /* "f32[B, 784]", "i32" */
const char *type_text(Arena *arena, const Type *type);

#endif
