/* shuffles.h: lanes of vectors in another order, where the compiler has a builtin for that. */
#ifndef FLOW_SHUFFLES_H
#define FLOW_SHUFFLES_H

/* Lanes of two vectors in turn, from lane i on. */
#define FLOW_TURNS_2(a, b, i) __builtin_shufflevector(a, b, i, 2 + i)
#define FLOW_TURNS_4(a, b, i) __builtin_shufflevector(a, b, i, 4 + i, 1 + i, 5 + i)
#define FLOW_TURNS_8(a, b, i) \
    __builtin_shufflevector(a, b, i, 8 + i, 1 + i, 9 + i, 2 + i, 10 + i, 3 + i, 11 + i)
#define FLOW_TURNS_16(a, b, i)                                                                   \
    __builtin_shufflevector(a, b, i, 16 + i, 1 + i, 17 + i, 2 + i, 18 + i, 3 + i, 19 + i, 4 + i, \
                            20 + i, 5 + i, 21 + i, 6 + i, 22 + i, 7 + i, 23 + i)
#if defined __clang__ || __GNUC__ >= 12
#define FLOW_SHUFFLES 1
#else
#define FLOW_SHUFFLES 0
#endif
#endif
