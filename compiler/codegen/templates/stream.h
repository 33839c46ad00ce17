/* stream.h: what generated loops over more than the caches hold share. */
#ifndef FLOW_STREAM_H
#define FLOW_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum { FLOW_LINE = 64, FLOW_AHEAD = 8192 /* bytes */ };

/* What a loop has read, and reads on behind it. */
typedef struct FlowAhead {
    const void *from;
    size_t size;
    size_t lines; /* of it beside each that is stored */
} FlowAhead;

/* Asks for what lies FLOW_AHEAD behind the lines that were read beside the `stored`th: into the
 * second cache, since lines on their way to the nearest one take the buffers of those that leave
 * past it. */
static inline void flow_ask(const FlowAhead *ahead, size_t stored) {
    for (size_t line = 0; line < ahead->lines; line++) {
        const size_t at = (stored * ahead->lines + line) * FLOW_LINE;
        if (at < ahead->size) __builtin_prefetch((const char *)ahead->from + FLOW_AHEAD + at, 0, 2);
    }
}

/* Asks for the row about half of FLOW_AHEAD behind that row of `size` bytes, into the second
 * cache. */
static inline void flow_ask_row(const void *rows, int64_t row, size_t size) {
    const size_t later = (size_t)row + FLOW_AHEAD / 2 / size + 1;
    for (size_t at = 0; at < size; at += FLOW_LINE)
        __builtin_prefetch((const char *)rows + later * size + at, 0, 2);
}

#if defined __AVX512F__
enum { FLOW_STORE = 64 };
#define FLOW_STORE_PAST __builtin_ia32_movntps512
#elif defined __AVX__
enum { FLOW_STORE = 32 };
#define FLOW_STORE_PAST __builtin_ia32_movntps256
#else
enum { FLOW_STORE = 16 };
#define FLOW_STORE_PAST __builtin_ia32_movntps
#endif
typedef float FlowLine __attribute__((vector_size(FLOW_STORE), may_alias));
typedef FlowLine FlowUnalignedLine __attribute__((aligned(4)));

static inline void flow_stream_line(char *to, const char *from) {
    for (int at = 0; at < FLOW_LINE; at += FLOW_STORE)
#if defined __clang__
        __builtin_nontemporal_store(*(const FlowUnalignedLine *)(from + at), (FlowLine *)(to + at));
#elif defined __SSE__
        FLOW_STORE_PAST((float *)(to + at), *(const FlowUnalignedLine *)(from + at));
#else
        *(FlowLine *)(to + at) = *(const FlowUnalignedLine *)(from + at);
#endif
}

/* Copies, whole lines past the caches, and between them asks for what comes. Others may read them
 * after flow_stream_end and a barrier. */
static inline void flow_stream(void *restrict to, const void *restrict from, size_t size,
                               const FlowAhead *ahead, int count) {
    size_t at = -(uintptr_t)to % FLOW_LINE;
    if (at > size) at = size;
    __builtin_memcpy(to, from, at);
    for (size_t stored = 0; at + FLOW_LINE <= size; at += FLOW_LINE, stored++) {
        for (int i = 0; i < count; i++) flow_ask(&ahead[i], stored);
        flow_stream_line((char *)to + at, (const char *)from + at);
    }
    __builtin_memcpy((char *)to + at, (const char *)from + at, size - at);
}

static inline void flow_stream_end(void) {
#if defined __SSE__
    __builtin_ia32_sfence();
#endif
}

#endif
