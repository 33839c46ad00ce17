/* Processors: loops over numbers, which newer ones do for more of them at a time. */
#ifndef FLOW_PROCESSORS_H
#define FLOW_PROCESSORS_H

/* Of a function: it is compiled for several processors, one of which is chosen when the program
 * starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define FOR_EACH_PROCESSOR
#endif

#endif
