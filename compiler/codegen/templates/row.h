/* row.h: the functions of whole rows that generated code calls: y from a, both `count` long.
 * Comes after kernel.h. */
#ifndef FLOW_ROW_H
#define FLOW_ROW_H

#ifndef FLOW_LOAD /* cuda.h has others */
#define FLOW_LOAD(pointer, index) (pointer)[index]
#define FLOW_STORE(pointer, index, value) ((pointer)[index] = (value))
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
#define FLOW_SORT(suffix, stored)                                                                  \
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
    static inline void flow_order_##suffix(const stored *a, int32_t *y, int64_t count,             \
                                           int descends) {                                         \
        for (int64_t i = 0; i < count; i++) FLOW_STORE(y, i, (int32_t)i);                          \
        for (int64_t i = count / 2; i-- > 0;) flow_sink_##suffix(a, y, i, count, descends);        \
        for (int64_t last = count; last-- > 1;) {                                                  \
            const int32_t top = FLOW_LOAD(y, 0);                                                   \
            FLOW_STORE(y, 0, FLOW_LOAD(y, last));                                                  \
            FLOW_STORE(y, last, top);                                                              \
            flow_sink_##suffix(a, y, 0, last, descends);                                           \
        }                                                                                          \
    }                                                                                              \
    static inline void flow_argsort_##suffix(const stored *restrict a, int32_t *restrict y,        \
                                             int64_t count) {                                      \
        flow_order_##suffix(a, y, count, 0);                                                       \
    }                                                                                              \
    static inline void flow_argsort_descending_##suffix(const stored *restrict a,                  \
                                                        int32_t *restrict y, int64_t count) {      \
        flow_order_##suffix(a, y, count, 1);                                                       \
    }

#define FLOW_ROW_FUNCTIONS(suffix, stored, type, wide, load, store) \
    FLOW_CUMULATIVE(suffix, stored, wide, load, store)              \
    FLOW_BEFORE(suffix, stored, type, load)                         \
    FLOW_SORT(suffix, stored)

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
