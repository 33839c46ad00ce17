/* cuda_box.h: words for what GPUs of compute capability 9.0 do beside their threads: boxes of a
 * tensor come to shared memory, and gates tell when they are there. The PTX ISA says how: "Tensors"
 * (boxes, coordinates, swizzling modes), "mbarrier" (phases, expect-tx, parity),
 * "cp.async.bulk.tensor". The stand-in follows the same rules.
 *
 * FLOW_RING_GLOBAL(name, blocks) { … }   a kernel of products: on GPUs that have warpgroups
 *                           name_ring, of FLOW_RING_THREADS, so many blocks of which share a
 *                           multiprocessor; else `name`, of 256
 * FLOW_SHARED_MORE(type, name, count)   the array that a launch has beside all others, at a
 *                           multiple of 1024 bytes
 * FLOW_GATE(gates, i, arrivals)   makes a gate, which opens each time that so many have arrived and
 *                           all expected bytes have landed; seen by who passes the barrier after
 *                           FLOW_SHOW_WRITES
 * FLOW_ARRIVE(gates, i), FLOW_EXPECT(gates, i, bytes)   arrives; so many bytes more are expected
 * FLOW_AWAIT(gates, i, odd)   waits until the gate has opened 1, 3, 5 … times; odd: 2, 4, 6 …, or
 *                           never
 * FLOW_BRING_2 … 5(to, gates, i, map, x, y, …)   begins to bring the box at those coordinates, of
 *                           arguments.maps[map]; elements outside of the tensor are zeros
 * FLOW_SYNC_FIRST(threads)  as FLOW_SYNC, of the first so many threads */
#ifndef FLOW_CUDA_BOX_H
#define FLOW_CUDA_BOX_H

#if FLOW_WARPGROUPS
#define FLOW_RING_GLOBAL(name, blocks) FLOW_GLOBAL_OF(name##_ring, FLOW_RING_THREADS, blocks)
#else
#define FLOW_RING_GLOBAL(name, blocks) FLOW_GLOBAL(name, 256)
#endif

#ifdef FLOW_SIMULATED
#define FLOW_GATE(gates, i, arrivals) flow_simulated->gate(&(gates)[i], arrivals, __LINE__)
#define FLOW_ARRIVE(gates, i) flow_simulated->arrive(&(gates)[i], 0, __LINE__)
#define FLOW_EXPECT(gates, i, bytes) flow_simulated->arrive(&(gates)[i], bytes, __LINE__)
#define FLOW_AWAIT(gates, i, odd) flow_simulated->await(&(gates)[i], odd, __LINE__)
#define FLOW_BRING_BOX(to, gates, i, map, ...)                                                   \
    flow_simulated->bring(to, &(gates)[i], &arguments.maps[map], (const int32_t[]){__VA_ARGS__}, \
                          sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t), __LINE__)
#define FLOW_BRING_2 FLOW_BRING_BOX
#define FLOW_BRING_3 FLOW_BRING_BOX
#define FLOW_BRING_4 FLOW_BRING_BOX
#define FLOW_BRING_5 FLOW_BRING_BOX
#define FLOW_SYNC_FIRST(threads) flow_simulated->barrier_of(threads, __LINE__)

#elif FLOW_WARPGROUPS
#define FLOW_SHARED_MORE(type, name, count) extern __shared__ FLOW_ALIGNED(1024) type name[]

static inline void flow_gate(uint32_t gate, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(arrivals) : "memory");
}
static inline void flow_arrive(uint32_t gate) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gate) : "memory");
}
static inline void flow_expect(uint32_t gate, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gate), "r"(bytes)
                 : "memory");
}
static inline void flow_await(uint32_t gate, int odd) {
    uint32_t open = 0;
    while (!open)
        asm volatile("{\n.reg .pred open;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 open, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, open;\n}\n"
                     : "=r"(open)
                     : "r"(gate), "r"(odd)
                     : "memory");
}
#define FLOW_GATE(gates, i, arrivals) flow_gate(FLOW_SHARED_ADDRESS((gates) + (i)), arrivals)
#define FLOW_ARRIVE(gates, i) flow_arrive(FLOW_SHARED_ADDRESS((gates) + (i)))
#define FLOW_EXPECT(gates, i, bytes) flow_expect(FLOW_SHARED_ADDRESS((gates) + (i)), bytes)
#define FLOW_AWAIT(gates, i, odd) flow_await(FLOW_SHARED_ADDRESS((gates) + (i)), odd)

#define FLOW_BRING_BOX(rank, places, to, gates, i, map, ...)                                     \
    asm volatile("cp.async.bulk.tensor." #rank                                                   \
                 "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" places     \
                 "}], [%2];" ::"r"(FLOW_SHARED_ADDRESS(to)),                                     \
                 "l"(&arguments.maps[map]), "r"(FLOW_SHARED_ADDRESS((gates) + (i))), __VA_ARGS__ \
                 : "memory")
#define FLOW_BRING_2(to, gates, i, map, x, y) \
    FLOW_BRING_BOX(2, "%3, %4", to, gates, i, map, "r"(x), "r"(y))
#define FLOW_BRING_3(to, gates, i, map, x, y, z) \
    FLOW_BRING_BOX(3, "%3, %4, %5", to, gates, i, map, "r"(x), "r"(y), "r"(z))
#define FLOW_BRING_4(to, gates, i, map, x, y, z, u) \
    FLOW_BRING_BOX(4, "%3, %4, %5, %6", to, gates, i, map, "r"(x), "r"(y), "r"(z), "r"(u))
#define FLOW_BRING_5(to, gates, i, map, x, y, z, u, v)                                         \
    FLOW_BRING_BOX(5, "%3, %4, %5, %6, %7", to, gates, i, map, "r"(x), "r"(y), "r"(z), "r"(u), \
                   "r"(v))
#define FLOW_SYNC_FIRST(threads) asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory")
#endif
#endif
