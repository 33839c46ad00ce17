/* Images: the code of a program's kernels for a kind of GPU. What was built in for that kind is
 * tried first, then what was built in for drivers to compile further, then what NVRTC makes of the
 * program's text. Inside device/. */
#ifndef FLOW_IMAGES_H
#define FLOW_IMAGES_H

#include "runtime/device/gpus_state.h"

/* Loads it on all open GPUs of that compute capability. False after gpus_fail. When the driver does
 * not take what was built in, that is said on standard error. A guest has what was built in, and
 * fails without. */
bool images_load(GpusState *state, int capability);

/* "sm_80, sm_90, PTX of sm_90": what was built in; "": nothing. */
void images_list(const FlowProgram *program, char *text, size_t size);

#endif
