/* Device text: what a program compiles for its GPUs when it starts. */
#ifndef FLOW_DRIVER_DEVICE_TEXT_H
#define FLOW_DRIVER_DEVICE_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/home.h"

/* Where there is a program.cu, adds the unit device_text.c: the text with all that it includes of
 * flowc's own, as `const char flow_device_text[]`. False after printing what is missing. */
bool add_device_text(Arena *arena, const Home *home, Generated *generated);

#endif
