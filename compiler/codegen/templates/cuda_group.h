/* cuda_group.h: words for products by a warpgroup, four warps together, as GPUs of compute
 * capability 9.0 alone have them. The PTX ISA says how: "Asynchronous Warpgroup Level Matrix
 * Instructions", there "Matrix Descriptor Format", "Strides", "Register Fragments for
 * wgmma.mma_async.m64nNk16" and "Async proxy". The stand-in follows the same tables.
 *
 * FLOW_SHARED_TILES(type, name, count)   FLOW_SHARED at a multiple of 1024 bytes, at which the
 *                           patterns of all swizzles begin
 * FLOW_MATRIX(place, leading, stride, swizzle)   names 64 or 128 lines of 16 halves in shared
 *                           memory, with the bytes between groups of lines and of depths
 * FLOW_SHOW_WRITES()        what this thread wrote to shared memory, products see: before the
 *                           barrier that is before them
 * FLOW_HOLD(sums, count)    the compiler takes nothing that it does with sums past this: before the
 *                           first product, and after the last was waited for, as no other word
 *                           there names them (with each product ptxas 13.0 needs half a minute)
 * FLOW_BEGIN_PRODUCTS()     the sums are as they shall be, before the first product after others
 * FLOW_GROUP_bf16_256, _bf16_128, _bf16_64, _f16_…(sums, a, b, a_by_depth, b_by_depth)
 *                           begins sums += a times b: 64 rows of so many floats, half as many a
 *                           thread; until it is waited for, nobody looks at the sums, nor writes
 *                           what it reads
 * FLOW_END_PRODUCTS(), FLOW_AWAIT_PRODUCTS(groups)   as of copies */
#ifndef FLOW_CUDA_GROUP_H
#define FLOW_CUDA_GROUP_H

/* Swizzles, by the bytes whose order they change, as descriptors have them. */
enum { FLOW_SWIZZLE_128 = 1, FLOW_SWIZZLE_64 = 2 };

static inline uint64_t flow_matrix(uint32_t address, uint32_t leading, uint32_t stride,
                                   uint32_t swizzle) {
    return (address & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(stride >> 4) << 32 | (uint64_t)swizzle << 62;
}
#define FLOW_MATRIX(place, leading, stride, swizzle) \
    flow_matrix(FLOW_SHARED_ADDRESS(place), leading, stride, swizzle)

#ifdef FLOW_SIMULATED
#ifndef FLOW_WARPGROUPS /* the stand-in's NVRTC says it */
#define FLOW_WARPGROUPS 0
#endif

#define FLOW_SHARED_ADDRESS(place) flow_simulated->shared_address(place, __LINE__)
#define FLOW_SHOW_WRITES() flow_simulated->show_writes()
#define FLOW_HOLD(sums, count) (void)(sums)
#define FLOW_BEGIN_PRODUCTS() flow_simulated->begin_products()
#define FLOW_END_PRODUCTS() flow_simulated->end_products()
#define FLOW_AWAIT_PRODUCTS(groups) flow_simulated->await_products(groups, __LINE__)
#define FLOW_GROUP(name, columns, sums, a, b, a_by_depth, b_by_depth)                       \
    flow_simulated->multiply(sums, columns, a, b, a_by_depth, b_by_depth, flow_load_##name, \
                             __LINE__)
#define FLOW_GROUP_64 FLOW_GROUP
#define FLOW_GROUP_128 FLOW_GROUP
#define FLOW_GROUP_256 FLOW_GROUP

#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FLOW_WARPGROUPS 1

#define FLOW_SHARED_TILES(type, name, count) __shared__ FLOW_ALIGNED(1024) type name[count]
#define FLOW_SHOW_WRITES() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FLOW_HOLD(sums, count)                   \
    FLOW_UNROLL for (int sum = 0; sum < (count); \
                     sum++) asm volatile("" : "+f"((sums)[sum])::"memory")
#define FLOW_BEGIN_PRODUCTS() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define FLOW_END_PRODUCTS() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define FLOW_AWAIT_PRODUCTS(groups) \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory")

#define FLOW_8_OF(sums, n)                                                          \
    "+f"((sums)[n]), "+f"((sums)[n + 1]), "+f"((sums)[n + 2]), "+f"((sums)[n + 3]), \
        "+f"((sums)[n + 4]), "+f"((sums)[n + 5]), "+f"((sums)[n + 6]), "+f"((sums)[n + 7])
#define FLOW_32_OF(sums, n) \
    FLOW_8_OF(sums, n), FLOW_8_OF(sums, n + 8), FLOW_8_OF(sums, n + 16), FLOW_8_OF(sums, n + 24)
#define FLOW_FIRST_32                                                        \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define FLOW_LAST_32                                                                   \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define FLOW_SECOND_64                                                                       \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "       \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "       \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "   \
    "%125, %126, %127"
#define FLOW_GROUP(name, shape, named, operands, a, b, a_by_depth, b_by_depth, ...)       \
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"                           \
                 "wgmma.mma_async.sync.aligned." shape ".f32." #name "." #name " {" named \
                 "}, " operands ";\n}\n"                                                  \
                 : __VA_ARGS__                                                            \
                 : "l"(a), "l"(b), "n"(!(a_by_depth)), "n"(!(b_by_depth))                 \
                 : "memory")
#define FLOW_GROUP_64(name, columns, sums, a, b, a_by_depth, b_by_depth)                \
    FLOW_GROUP(name, "m64n64k16", FLOW_FIRST_32, "%32, %33, add, 1, 1, %34, %35", a, b, \
               a_by_depth, b_by_depth, FLOW_32_OF(sums, 0))
#define FLOW_GROUP_128(name, columns, sums, a, b, a_by_depth, b_by_depth)                          \
    FLOW_GROUP(name, "m64n128k16", FLOW_FIRST_32 ", " FLOW_LAST_32,                                \
               "%64, %65, add, 1, 1, %66, %67", a, b, a_by_depth, b_by_depth, FLOW_32_OF(sums, 0), \
               FLOW_32_OF(sums, 32))
#define FLOW_GROUP_256(name, columns, sums, a, b, a_by_depth, b_by_depth)               \
    FLOW_GROUP(name, "m64n256k16", FLOW_FIRST_32 ", " FLOW_LAST_32 ", " FLOW_SECOND_64, \
               "%128, %129, add, 1, 1, %130, %131", a, b, a_by_depth, b_by_depth,       \
               FLOW_32_OF(sums, 0), FLOW_32_OF(sums, 32), FLOW_32_OF(sums, 64),         \
               FLOW_32_OF(sums, 96))
#else
#define FLOW_WARPGROUPS 0
#endif

#define FLOW_GROUP_bf16_64(...) FLOW_GROUP_64(bf16, 64, __VA_ARGS__)
#define FLOW_GROUP_bf16_128(...) FLOW_GROUP_128(bf16, 128, __VA_ARGS__)
#define FLOW_GROUP_bf16_256(...) FLOW_GROUP_256(bf16, 256, __VA_ARGS__)
#define FLOW_GROUP_f16_64(...) FLOW_GROUP_64(f16, 64, __VA_ARGS__)
#define FLOW_GROUP_f16_128(...) FLOW_GROUP_128(f16, 128, __VA_ARGS__)
#define FLOW_GROUP_f16_256(...) FLOW_GROUP_256(f16, 256, __VA_ARGS__)
#endif
