/* dispatch.c: picks, when the process starts, the program compiled for this processor. program.c
 * is compiled once for each level, with FLOW_PROGRAM_NAME (flow_program_v4, _v3, _v1; elsewhere
 * than on x86-64 flow_program) and FLOW_NO_MAIN defined; HAVE_<that name> says which there are. */
#include "flow.h"

const FlowProgram *flow_dispatch(void);

#if !defined HAVE_flow_program_v4 && !defined HAVE_flow_program_v3 && !defined HAVE_flow_program_v1
#define HAVE_flow_program
#endif

extern const FlowProgram flow_program_v4, flow_program_v3, flow_program_v1, flow_program;

const FlowProgram *flow_dispatch(void) {
#if defined __x86_64__ && !defined HAVE_flow_program
    __builtin_cpu_init();
#endif
#ifdef HAVE_flow_program_v4
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &flow_program_v4;
#endif
#ifdef HAVE_flow_program_v3
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &flow_program_v3;
#endif
#if defined HAVE_flow_program_v1
    return &flow_program_v1;
#elif defined HAVE_flow_program_v3
    return &flow_program_v3;
#elif defined HAVE_flow_program_v4
    return &flow_program_v4;
#else
    return &flow_program;
#endif
}

#ifndef FLOW_NO_MAIN
int main(int argc, char **argv) {
    return flow_main(argc, argv, flow_dispatch());
}
#endif
