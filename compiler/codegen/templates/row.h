/* row.h: the functions of whole rows that generated code calls: y from a, both `count` long.
 * Those of orders find the first `wanted` places alone. Comes after kernel.h. */
#ifndef FLOW_ROW_H
#define FLOW_ROW_H

#ifndef FLOW_LOAD /* cuda.h has others */
#define FLOW_LOAD(pointer, index) (pointer)[index]
#define FLOW_STORE(pointer, index, value) ((pointer)[index] = (value))
#define FLOW_SORT_BY_BYTES 1
#else
#define FLOW_SORT_BY_BYTES 0 /* a GPU's threads have no memory for that */
#endif

#ifndef FLOW_NO_ROW_FUNCTIONS /* which a file says that calls none */
/* Totals are kept in a wider type: the rounding of a long row's every step would add up. */
#define FLOW_CUMULATIVE(suffix, stored, wide, load, store)                                        \
    static inline void flow_cumsum_##suffix(const stored *restrict a, stored *restrict y,         \
                                            int64_t count) {                                      \
        wide total = 0;                                                                           \
        for (int64_t i = 0; i < count; i++)                                                       \
            FLOW_STORE(y, i, store(total = (wide)(total + load(FLOW_LOAD(a, i)))));               \
    }                                                                                             \
    static inline void flow_cumsum_back_##suffix(const stored *restrict a, stored *restrict y,    \
                                                 int64_t count) {                                 \
        wide total = 0;                                                                           \
        for (int64_t i = count; i-- > 0;)                                                         \
            FLOW_STORE(y, i, store(total = (wide)(total + load(FLOW_LOAD(a, i)))));               \
    }                                                                                             \
    static inline void flow_cumprod_##suffix(const stored *restrict a, stored *restrict y,        \
                                             int64_t count) {                                     \
        wide total = 1;                                                                           \
        for (int64_t i = 0; i < count; i++)                                                       \
            FLOW_STORE(y, i, store(total = (wide)(total * load(FLOW_LOAD(a, i)))));               \
    }                                                                                             \
    static inline void flow_cumargmax_##suffix(const stored *restrict a, int32_t *restrict y,     \
                                               int64_t count) {                                   \
        int32_t best = 0;                                                                         \
        for (int64_t i = 0; i < count; i++)                                                       \
            FLOW_STORE(y, i,                                                                      \
                       best =                                                                     \
                           load(FLOW_LOAD(a, best)) < load(FLOW_LOAD(a, i)) ? (int32_t)i : best); \
    }

/* Does a[i] come before a[j]? The index decides between equals, so that any sort is stable. */
#define FLOW_BEFORE(suffix, stored, type, load)                                                   \
    static inline int flow_before_##suffix(const stored *a, int32_t i, int32_t j, int descends) { \
        const type x = load(FLOW_LOAD(a, i)), z = load(FLOW_LOAD(a, j));                          \
        const int x_last = x != x, z_last = z != z;                                               \
        if (x_last | z_last) return x_last == z_last ? i < j : z_last;                            \
        if (x == z) return i < j;                                                                 \
        return descends ? z < x : x < z;                                                          \
    }

/* Heapsort (Williams, 1964), which needs no memory beside y: a heap whose top comes last. */
#define FLOW_HEAPSORT(suffix, stored)                                                              \
    static inline void flow_sink_##suffix(const stored *a, int32_t *y, int64_t at, int64_t count,  \
                                          int descends) {                                          \
        const int32_t sinking = FLOW_LOAD(y, at);                                                  \
        for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {                      \
            child += child + 1 < count && flow_before_##suffix(a, FLOW_LOAD(y, child),             \
                                                               FLOW_LOAD(y, child + 1), descends); \
            if (flow_before_##suffix(a, FLOW_LOAD(y, child), sinking, descends)) break;            \
            FLOW_STORE(y, at, FLOW_LOAD(y, child));                                                \
            at = child;                                                                            \
        }                                                                                          \
        FLOW_STORE(y, at, sinking);                                                                \
    }                                                                                              \
    static inline void flow_heapsort_##suffix(const stored *a, int32_t *y, int64_t count,          \
                                              int descends) {                                      \
        for (int64_t i = 0; i < count; i++) FLOW_STORE(y, i, (int32_t)i);                          \
        for (int64_t i = count / 2; i-- > 0;) flow_sink_##suffix(a, y, i, count, descends);        \
        for (int64_t last = count; last-- > 1;) {                                                  \
            const int32_t top = FLOW_LOAD(y, 0);                                                   \
            FLOW_STORE(y, 0, FLOW_LOAD(y, last));                                                  \
            FLOW_STORE(y, last, top);                                                              \
            flow_sink_##suffix(a, y, 0, last, descends);                                           \
        }                                                                                          \
    }

/* So many places of an order at most are found by insertion. */
enum { FLOW_FEW = 32 };

/* Puts element i where it belongs among those at the places before `last`, or at that one. And the
 * first `wanted` of the order, at most FLOW_FEW: an element that comes before the last one
 * found so far takes that one's place. Most do not: they are passed over by vectors. 0: so many do
 * that it is quicker to sort all. */
#define FLOW_SELECT(suffix, stored, type, load)                                                   \
    static inline void flow_insert_##suffix(const stored *a, int32_t *y, int64_t i, int64_t last, \
                                            int descends) {                                       \
        int64_t at = last;                                                                        \
        for (; at > 0 && flow_before_##suffix(a, (int32_t)i, FLOW_LOAD(y, at - 1), descends);     \
             at--)                                                                                \
            FLOW_STORE(y, at, FLOW_LOAD(y, at - 1));                                              \
        FLOW_STORE(y, at, (int32_t)i);                                                            \
    }                                                                                             \
    static inline int flow_select_##suffix(const stored *restrict a, int32_t *restrict y,         \
                                           int64_t count, int64_t wanted, int descends) {         \
        enum { GROUP = 64 };                                                                      \
        int64_t i = 0, left = 16 + 4 * wanted + count / 32; /* of random values far fewer come */ \
        for (; i < wanted; i++) flow_insert_##suffix(a, y, i, i, descends);                       \
        for (; i < count && left > 0; i += GROUP) {                                               \
            const int64_t end = i + GROUP < count ? i + GROUP : count;                            \
            const type last = load(FLOW_LOAD(a, FLOW_LOAD(y, wanted - 1)));                       \
            int any = last != last;                                                               \
            if (descends)                                                                         \
                for (int64_t j = i; j < end; j++) any |= last < (type)load(FLOW_LOAD(a, j));      \
            else                                                                                  \
                for (int64_t j = i; j < end; j++) any |= (type)load(FLOW_LOAD(a, j)) < last;      \
            for (int64_t j = i; any && j < end; j++) {                                            \
                if (!flow_before_##suffix(a, (int32_t)j, FLOW_LOAD(y, wanted - 1), descends))     \
                    continue;                                                                     \
                flow_insert_##suffix(a, y, j, wanted - 1, descends);                              \
                left--;                                                                           \
            }                                                                                     \
        }                                                                                         \
        return i >= count;                                                                        \
    }

#if FLOW_SORT_BY_BYTES
enum {
    FLOW_NEAR_ROW = 1 << 12, /* the order of a row has a place on the stack up to this length */
};

/* Unsigned numbers that order as values do: equal zeros, and NaN last. */
static inline uint32_t flow_key_float(float value) {
    const uint32_t bits = flow_bits_f32(value + 0.0f);
    return value != value ? ~0u : bits ^ ((uint32_t) - (int32_t)(bits >> 31) | 0x80000000);
}

static inline uint64_t flow_key_double(double value) {
    const uint64_t bits = flow_bits_f64(value + 0.0);
    return value != value ? ~0ull : bits ^ ((uint64_t) - (int64_t)(bits >> 63) | 1ull << 63);
}

static inline uint64_t flow_key_int64_t(int64_t value) {
    return (uint64_t)value ^ 1ull << 63;
}

static inline uint32_t flow_key_int32_t(int32_t value) {
    return (uint32_t)value ^ 0x80000000;
}

static inline uint8_t flow_key_int8_t(int8_t value) {
    return (uint8_t)value ^ 0x80;
}

static inline uint8_t flow_key_uint8_t(uint8_t value) {
    return value;
}

/* Radix sort from the lowest byte on: each pass keeps the order of those before. A byte that all
 * values share takes none. `other` is as long as y. */
#define FLOW_SORTS(suffix, stored, type, load)                                                    \
    static inline uint64_t flow_key_of_##suffix(const stored *a, int64_t i, int descends) {       \
        const type value = load(a[i]);                                                            \
        const uint64_t key = flow_key_##type(value);                                              \
        return descends && value == value ? ~key : key;                                           \
    }                                                                                             \
    static inline void flow_radix_sort_##suffix(const stored *restrict a, int32_t *restrict y,    \
                                                int32_t *restrict other, int64_t count,           \
                                                int descends) {                                   \
        enum { BYTES = sizeof flow_key_##type(0) };                                               \
        int32_t places[BYTES][256] = {{0}}, *from = y, *to = other;                               \
        for (int64_t i = 0; i < count; i++) {                                                     \
            uint64_t key = flow_key_of_##suffix(a, i, descends);                                  \
            for (int byte = 0; byte < BYTES; byte++, key >>= 8) places[byte][key & 255]++;        \
            y[i] = (int32_t)i;                                                                    \
        }                                                                                         \
        for (int byte = 0; byte < BYTES; byte++) {                                                \
            int32_t *place = places[byte], before = 0;                                            \
            if (place[flow_key_of_##suffix(a, 0, descends) >> 8 * byte & 255] == count) continue; \
            for (int i = 0; i < 256; i++) before += place[i], place[i] = before - place[i];       \
            for (int64_t i = 0; i < count; i++)                                                   \
                to[place[flow_key_of_##suffix(a, from[i], descends) >> 8 * byte & 255]++] =       \
                    from[i];                                                                      \
            int32_t *const done = to;                                                             \
            to = from, from = done;                                                               \
        }                                                                                         \
        if (from != y) __builtin_memcpy(y, from, (size_t)count * sizeof *y);                      \
    }                                                                                             \
    static inline void flow_order_##suffix(const stored *restrict a, int32_t *restrict y,         \
                                           int64_t count, int descends) {                         \
        int32_t near[FLOW_NEAR_ROW];                                                              \
        const size_t size = (size_t)count * sizeof *y;                                            \
        int32_t *other = count <= FLOW_NEAR_ROW ? near : (int32_t *)__builtin_malloc(size);       \
        if (other) flow_radix_sort_##suffix(a, y, other, count, descends);                        \
        else flow_heapsort_##suffix(a, y, count, descends);                                       \
        if (other != near) __builtin_free(other);                                                 \
    }
#else
#define FLOW_SORTS(suffix, stored, type, load)                                         \
    static inline void flow_order_##suffix(const stored *a, int32_t *y, int64_t count, \
                                           int descends) {                             \
        flow_heapsort_##suffix(a, y, count, descends);                                 \
    }
#endif

/* Of the order, the first `wanted` places; what is behind them may be anything. */
#define FLOW_ARGSORT(suffix, stored)                                                              \
    static inline void flow_argsort_first_##suffix(const stored *restrict a, int32_t *restrict y, \
                                                   int64_t count, int64_t wanted, int descends) { \
        if (wanted > FLOW_FEW || !flow_select_##suffix(a, y, count, wanted, descends))            \
            flow_order_##suffix(a, y, count, descends);                                           \
    }                                                                                             \
    static inline void flow_argsort_##suffix(const stored *restrict a, int32_t *restrict y,       \
                                             int64_t count, int64_t wanted) {                     \
        flow_argsort_first_##suffix(a, y, count, wanted, 0);                                      \
    }                                                                                             \
    static inline void flow_argsort_descending_##suffix(                                          \
        const stored *restrict a, int32_t *restrict y, int64_t count, int64_t wanted) {           \
        flow_argsort_first_##suffix(a, y, count, wanted, 1);                                      \
    }

#define FLOW_ROW_FUNCTIONS(suffix, stored, type, wide, load, store) \
    FLOW_CUMULATIVE(suffix, stored, wide, load, store)              \
    FLOW_BEFORE(suffix, stored, type, load)                         \
    FLOW_HEAPSORT(suffix, stored)                                   \
    FLOW_SELECT(suffix, stored, type, load)                         \
    FLOW_SORTS(suffix, stored, type, load)                          \
    FLOW_ARGSORT(suffix, stored)

FLOW_ROW_FUNCTIONS(f32, float, float, double, , (float))
FLOW_ROW_FUNCTIONS(f16, uint16_t, float, float, flow_load_f16, flow_store_f16)
FLOW_ROW_FUNCTIONS(bf16, uint16_t, float, float, flow_load_bf16, flow_store_bf16)
FLOW_ROW_FUNCTIONS(f64, double, double, double, , )
FLOW_ROW_FUNCTIONS(i64, int64_t, int64_t, int64_t, , )
FLOW_ROW_FUNCTIONS(i32, int32_t, int32_t, int32_t, , )
FLOW_ROW_FUNCTIONS(i8, int8_t, int8_t, int8_t, , )
FLOW_ROW_FUNCTIONS(u8, uint8_t, uint8_t, uint8_t, , )
#endif

#endif
