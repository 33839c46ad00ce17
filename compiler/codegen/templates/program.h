/* program.h: what a build may define about a generated program. */
#ifndef FLOW_GENERATED_PROGRAM_H
#define FLOW_GENERATED_PROGRAM_H

#include "device/launch.h"
#include "flow.h"
#include "kernel.h"
#include "loops.h"
#include "narrow.h"
#include "row.h"
#include "stream.h"
#include "product/across.h"
#include "product/tile.h"
#include "widen.h"

#ifndef FLOW_PROGRAM_NAME
#define FLOW_PROGRAM_NAME flow_program /* one for each processor, chosen by dispatch.c */
#endif
#ifndef FLOW_FOLDER
#define FLOW_FOLDER "."
#endif

/* A name with the program's in front: for what several files share. */
#define FLOW_JOINED_NAME(a, b) a##_##b
#define FLOW_NAME_OF(a, b) FLOW_JOINED_NAME(a, b)
#define FLOW_OF_PROGRAM(name) FLOW_NAME_OF(FLOW_PROGRAM_NAME, name)

/* Declares a kernel that several files name: only objects have the program's name in front of its
 * own, since a macro would be replaced in all that templates define. */
#define FLOW_TEXT(name) #name
#define FLOW_TEXT_OF(name) FLOW_TEXT(name)
#define FLOW_SHARED_KERNEL(name) FlowKernel name __asm__(FLOW_TEXT_OF(FLOW_PROGRAM_NAME) "_" #name)

#ifndef FLOW_KERNEL
#define FLOW_KERNEL static /* in one file; else empty */
#endif

/* Of a function: it is compiled once and called. Copies that know more of their arguments may round
 * otherwise, where a product is added in one operation or in two. */
#ifdef __clang__
#define FLOW_ONE_COPY __attribute__((noinline))
#else
#define FLOW_ONE_COPY __attribute__((noipa))
#endif

static inline void *flow_at(const FlowFrame *frame, int64_t place) {
    return place < 0 ? (void *)frame->inputs[~place] : frame->memory + place;
}

/* An operand that is a number. */
static inline double flow_number(int64_t bits) {
    double number;
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
}

/* Where row 0 of a value would lie that has row `first` at the start of a buffer. */
static inline void *flow_row_zero(char *buffer, int64_t first, int64_t row_size) {
    return (void *)((uintptr_t)buffer - (uintptr_t)(first * row_size));
}

/* What a keep of a kernel does with the frame's guard. */

static inline int64_t flow_is_open(const FlowGuard *guard) {
    return guard && guard->open;
}

static inline void flow_hold_back(FlowGuard *guard, int64_t faults, int64_t place) {
    if (!faults || !guard) return;
    int64_t known = __atomic_load_n(&guard->place, __ATOMIC_RELAXED);
    while (place < known && !__atomic_compare_exchange_n(&guard->place, &known, place, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Of loops that store new values first and log the old ones:
 * flow_worse: the size of the largest new value so far, as bits, which are in the order of sizes
 * flow_is_doubtful: may any have to be put back?
 * flow_put_back: puts back what keep would have kept; was any good value lost to one not finite?
 * flow_put_kept: stores new values as keep would; was any good one lost?
 * step: as keep takes it; good: is the step a good one? The last two are in put_back.c, once in a
 * program. */
#define FLOW_LOGGED(suffix, type, integer, infinity)                                         \
    static inline integer flow_worse_##suffix(integer worst, type value) {                   \
        integer bits;                                                                        \
        __builtin_memcpy(&bits, &value, sizeof bits);                                        \
        bits &= ~((integer)1 << (8 * sizeof bits - 1));                                      \
        return worst > bits ? worst : bits;                                                  \
    }                                                                                        \
    static inline bool flow_is_doubtful_##suffix(integer worst, int step) {                  \
        return !step || worst >= infinity;                                                   \
    }                                                                                        \
    __attribute__((cold)) integer flow_put_back_##suffix(type *values, const type *log,      \
                                                         int64_t count, int step, int good); \
    __attribute__((cold)) integer flow_put_kept_##suffix(type *values, const type *given,    \
                                                         int64_t count, int step, int good);

#define flow_put_back_f32 FLOW_OF_PROGRAM(flow_put_back_f32)
#define flow_put_kept_f32 FLOW_OF_PROGRAM(flow_put_kept_f32)
#define flow_put_back_f64 FLOW_OF_PROGRAM(flow_put_back_f64)
#define flow_put_kept_f64 FLOW_OF_PROGRAM(flow_put_kept_f64)
FLOW_LOGGED(f32, float, int32_t, 0x7f800000)
FLOW_LOGGED(f64, double, int64_t, 0x7ff0000000000000)

/* Asks for the next bytes, so many. */
static inline void flow_ask_next(FlowAsked *asked, int64_t bytes) {
    const char *end = asked->end - asked->next > bytes ? asked->next + bytes : asked->end;
    for (; asked->next < end; asked->next += FLOW_LINE) __builtin_prefetch(asked->next);
}

static inline void flow_run(const FlowFrame *frame, const FlowCall *calls, int count, int thread,
                            int threads) {
    FlowAsked *const asked = thread ? NULL : frame->asked;
    const int64_t share = asked && count ? (asked->end - asked->next) / count + 1 : 0;
    for (int i = 0; i < count; i++) {
        if (asked) flow_ask_next(asked, share);
        if (frame->observer) {
            frame->observer->make(frame->observer, frame, &calls[i], i, thread, threads);
            continue;
        }
        if (calls[i].barrier) flow_barrier(frame, thread, threads);
        calls[i].kernel(frame, calls[i].operands, thread, threads);
    }
}

/* Of a record; NULL: it is not known. */
static inline const void *const *flow_fields(const FlowRows *rows, int64_t row) {
    return row < rows->count + rows->ahead ? rows->fields + row * rows->stride : NULL;
}

/* Asks for half of a field, the first or the second, as long as it is short; the processor itself
 * goes on with a long one. */
static inline void flow_ask_field(const char *bytes, int64_t size, int half) {
    enum { MOST = 1024 };
    const int64_t asked = size < MOST ? size : MOST, middle = asked / 2 / FLOW_LINE * FLOW_LINE;
    const char *line = bytes - (uintptr_t)bytes % FLOW_LINE;
    const char *end = half ? bytes + asked : line + middle;
    for (line += half ? middle : 0; line < end; line += FLOW_LINE) __builtin_prefetch(line);
}

/* Of places and a size: a new weight that could not be written in place. */
static inline void flow_late_copy(const FlowFrame *frame, const int64_t *operands, int thread,
                                  int threads) {
    (void)threads;
    if (thread == 0)
        __builtin_memcpy(flow_at(frame, operands[0]), flow_at(frame, operands[1]),
                         (size_t)operands[2]);
}

#endif
