/* Device text: what a program compiles for its GPUs when it starts. */
#ifndef FLOW_DRIVER_DEVICE_TEXT_H
#define FLOW_DRIVER_DEVICE_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/home.h"

/* Is there a program.cu? */
bool has_device_text(const Generated *generated);

/* Its text, with all that it includes of flowc's own. NULL after printing what is missing. */
const char *device_text(Arena *arena, const Home *home, const Generated *generated);

/* Where there is one, adds the unit device_text.c, which has that text as `const char
 * flow_device_text[]`. False after printing what is missing. */
bool add_device_text(Arena *arena, const Home *home, Generated *generated);

#endif
