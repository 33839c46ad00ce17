/* main.c: the end of a generated trainer. */
#ifndef FLOW_NO_MAIN
#include "flow.h"
#ifndef FLOW_PROGRAM_NAME
#define FLOW_PROGRAM_NAME flow_program
#endif
extern const FlowProgram FLOW_PROGRAM_NAME;
int main(int argc, char **argv) {
    return flow_main(argc, argv, &FLOW_PROGRAM_NAME);
}
#endif
