/* cuda_tensor.h: words for tensor cores, which GPUs from sm_80 on have as they are used here. How a
 * matrix lies in the registers of a warp is said by the PTX ISA: "Matrix Fragments for
 * mma.m16n8k16 with floating point type", the same for mma.m16n8k8, and "Warp-level matrix load
 * instruction: ldmatrix". The stand-in follows the same tables, element by element.
 *
 * FLOW_GET_MATRICES(y, rows, index, turned)   four matrices of 8 x 8 halves from shared memory,
 *                           each row an element of `rows`: lane i names row i % 8 of matrix i / 8.
 *                           Of matrix m, y[m] are two halves; turned: of the transposed one
 * FLOW_MULTIPLY_bf16, _f16(sums, a, b0, b1)   sums, 16 x 8 floats, four a lane, += a, 16 x 16,
 *                           times b, 16 x 8
 * FLOW_MULTIPLY_tf32(sums, a, b0, b1)         the same of 16 x 8 and 8 x 8 floats, rounded by
 * FLOW_ROUND_tf32(bits)     those of a float; to 10 bits behind the point, halves away from 0
 * FLOW_PACK_bf16, _f16(low, high)   two floats, rounded to halves, as a register has them
 * flow_as_made(n)           n, of which the compiler knows nothing: numbers that are added to it
 *                           become distances of loads */
#ifndef FLOW_CUDA_TENSOR_H
#define FLOW_CUDA_TENSOR_H

typedef struct FLOW_ALIGNED(16) FlowQuad {
    uint32_t words[4];
} FlowQuad;

static inline int flow_as_made(int n) {
#ifndef FLOW_SIMULATED
    asm("" : "+r"(n));
#endif
    return n;
}

#ifdef FLOW_SIMULATED
#define FLOW_TENSOR_CORES 1

static inline uint32_t flow_two_halves(const char *first, const char *second) {
    uint16_t halves[2];
    __builtin_memcpy(&halves[0], first, 2);
    __builtin_memcpy(&halves[1], second, 2);
    return halves[0] | (uint32_t)halves[1] << 16;
}

static inline void flow_get_matrices(uint32_t *y, FlowQuad row, bool turned, int line) {
    const int lane = (int)FLOW_THREAD % 32, group = lane / 4, pair = lane % 4 * 2;
    const char *met = flow_simulated->meet(&row, sizeof row, line);
    for (int matrix = 0; matrix < 4; matrix++) {
        const char *rows = met + matrix * 8 * FLOW_MEETING;
        const char *first = turned ? rows + pair * FLOW_MEETING + 2 * group
                                   : rows + group * FLOW_MEETING + 2 * pair;
        y[matrix] = flow_two_halves(first, first + (turned ? FLOW_MEETING : 2));
    }
}
#define FLOW_GET_MATRICES(y, rows, index, turned) \
    flow_get_matrices(y, FLOW_GET(rows, index), turned, __LINE__)

/* What a lane brings to a product. */
typedef struct FlowFragments {
    uint32_t a[4], b[2];
} FlowFragments;

/* Element (row, k) of a, and (k, column) of b. */
static inline uint16_t flow_element_of_a(const char *met, int row, int k) {
    FlowFragments of;
    __builtin_memcpy(&of, met + (row % 8 * 4 + k % 8 / 2) * FLOW_MEETING, sizeof of);
    return (uint16_t)(of.a[row / 8 + k / 8 * 2] >> k % 2 * 16);
}

static inline uint16_t flow_element_of_b(const char *met, int k, int column) {
    FlowFragments of;
    __builtin_memcpy(&of, met + (column * 4 + k % 8 / 2) * FLOW_MEETING, sizeof of);
    return (uint16_t)(of.b[k / 8] >> k % 2 * 16);
}

#define FLOW_MULTIPLY(name)                                                                    \
    static inline void flow_multiply_##name(float *sums, const uint32_t *a, uint32_t b0,       \
                                            uint32_t b1, int line) {                           \
        const int lane = (int)FLOW_THREAD % 32;                                                \
        const FlowFragments brought = {{a[0], a[1], a[2], a[3]}, {b0, b1}};                    \
        const char *met = flow_simulated->meet(&brought, sizeof brought, line);                \
        for (int i = 0; i < 4; i++)                                                            \
            for (int k = 0; k < 16; k++)                                                       \
                sums[i] += flow_load_##name(flow_element_of_a(met, lane / 4 + i / 2 * 8, k)) * \
                           flow_load_##name(flow_element_of_b(met, k, lane % 4 * 2 + i % 2));  \
    }
FLOW_MULTIPLY(bf16)
FLOW_MULTIPLY(f16)
#undef FLOW_MULTIPLY

static inline float flow_float_of(const char *met, int lane, int word) {
    float number;
    __builtin_memcpy(&number, met + lane * FLOW_MEETING + word * 4, sizeof number);
    return number;
}
static inline void flow_multiply_tf32(float *sums, const uint32_t *a, uint32_t b0, uint32_t b1,
                                      int line) {
    const int lane = (int)FLOW_THREAD % 32;
    const FlowFragments brought = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
    const char *met = flow_simulated->meet(&brought, sizeof brought, line);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++)
            sums[i] += flow_float_of(met, lane / 4 * 4 + k % 4, i / 2 + k / 4 * 2) *
                       flow_float_of(met, (lane % 4 * 2 + i % 2) * 4 + k % 4, 4 + k / 4);
}
static inline uint32_t FLOW_ROUND_tf32(uint32_t bits) {
    const bool is_none = (bits & 0x7fffffff) > 0x7f800000;
    return is_none ? 0x7fffffff : (bits + 0x1000) & ~UINT32_C(0x1fff);
}
#define FLOW_MULTIPLY_tf32(sums, a, b0, b1) flow_multiply_tf32(sums, a, b0, b1, __LINE__)
#define FLOW_PACK_bf16(low, high) \
    ((uint32_t)flow_store_bf16(low) | (uint32_t)flow_store_bf16(high) << 16)
#define FLOW_PACK_f16(low, high) \
    ((uint32_t)flow_store_f16(low) | (uint32_t)flow_store_f16(high) << 16)
#define FLOW_MULTIPLY_bf16(sums, a, b0, b1) flow_multiply_bf16(sums, a, b0, b1, __LINE__)
#define FLOW_MULTIPLY_f16(sums, a, b0, b1) flow_multiply_f16(sums, a, b0, b1, __LINE__)

#elif __CUDA_ARCH__ >= 800
#define FLOW_TENSOR_CORES 1

#define FLOW_SHARED_ADDRESS(place) ((uint32_t)__cvta_generic_to_shared(place))

/* Where no bytes are read, zeros are written. */
static inline void flow_copy(FlowQuad *to, const FlowQuad *from, bool is_inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(FLOW_SHARED_ADDRESS(to)),
                 "l"(from), "r"(is_inside ? 16 : 0)
                 : "memory");
}
#define FLOW_COPY(name, index, pointer, from, is_inside) \
    flow_copy((name) + (index), (pointer) + (from), is_inside)
#define FLOW_END_COPIES() asm volatile("cp.async.commit_group;" ::: "memory")
#define FLOW_AWAIT_COPIES(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

static inline void flow_get_matrices(uint32_t *y, uint32_t row, bool turned) {
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(row)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(row)
                     : "memory");
}
#define FLOW_GET_MATRICES(y, rows, index, turned) \
    flow_get_matrices(y, FLOW_SHARED_ADDRESS(rows) + (uint32_t)(index)*16, turned)

#define FLOW_MULTIPLY(name, shape)                                                          \
    static inline void FLOW_MULTIPLY_##name(float *sums, const uint32_t *a, uint32_t b0,    \
                                            uint32_t b1) {                                  \
        asm volatile("mma.sync.aligned." #shape ".row.col.f32." #name "." #name             \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));       \
    }
FLOW_MULTIPLY(bf16, m16n8k16)
FLOW_MULTIPLY(f16, m16n8k16)
FLOW_MULTIPLY(tf32, m16n8k8)
#undef FLOW_MULTIPLY

static inline uint32_t FLOW_ROUND_tf32(uint32_t bits) {
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

#define FLOW_PACK(name)                                                               \
    static inline uint32_t FLOW_PACK_##name(float low, float high) {                  \
        uint32_t both;                                                                \
        asm("cvt.rn." #name "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low)); \
        return both;                                                                  \
    }
FLOW_PACK(bf16)
FLOW_PACK(f16)
#undef FLOW_PACK
#else
#define FLOW_TENSOR_CORES 0
#endif
#endif
