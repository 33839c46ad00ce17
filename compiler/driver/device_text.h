/* Device text: what a program compiles for its GPUs when it starts. */
#ifndef FLOW_DRIVER_DEVICE_TEXT_H
#define FLOW_DRIVER_DEVICE_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/home.h"
#include "runtime/device/nvrtc.h"

/* Is there a program.cu? */
bool has_device_text(const Generated *generated);

/* Its text, with all that it includes of flowc's own. NULL after printing what is missing. */
const char *device_text(Arena *arena, const Home *home, const Generated *generated);

/* What it was compiled to. */
typedef struct DeviceImages {
    const NvrtcWish *items;
    int count;
} DeviceImages;

/* Adds the unit device_text.c, which has the text as `const char flow_device_text[]`, and the
 * images as flow_device_images. */
void add_device_text(Arena *arena, Generated *generated, const char *text, DeviceImages images);

#endif
