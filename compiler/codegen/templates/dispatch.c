/* dispatch.c: picks, when the process starts, the program compiled for this processor. program.c
 * is compiled once for each HAVE_ name that is defined, with FLOW_PROGRAM_NAME set to it. */
#include "flow.h"

#include <stdio.h>
#include <stdlib.h>

#define CHOICE(name, condition) \
    extern const FlowProgram name; \
    if (condition) return &name

const FlowProgram *flow_dispatch(void) {
#if defined __x86_64__
    __builtin_cpu_init();
#endif
#ifdef HAVE_flow_program_v4
    CHOICE(flow_program_v4,
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl"));
#endif
#ifdef HAVE_flow_program_v3
    CHOICE(flow_program_v3, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                __builtin_cpu_supports("bmi2"));
#endif
#ifdef HAVE_flow_program_v1
    CHOICE(flow_program_v1, true);
#endif
#ifdef HAVE_flow_program
    CHOICE(flow_program, true);
#endif
    fprintf(stderr, "this program was built for another processor; build it with --target=all\n");
    exit(FLOW_EXIT_usage);
}

#ifndef FLOW_NO_MAIN
int main(int argc, char **argv) { return flow_main(argc, argv, flow_dispatch()); }
#endif
