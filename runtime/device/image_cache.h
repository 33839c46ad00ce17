/* Image cache: code for GPUs that was compiled before, in XDG_CACHE_HOME/flowc/gpu or
 * ~/.cache/flowc/gpu, which nobody else can write. Without such a folder nothing is kept. */
#ifndef FLOW_IMAGE_CACHE_H
#define FLOW_IMAGE_CACHE_H

#include "runtime/device/nvrtc.h"

/* key: what the image depends on beside the text. False: there is none that is whole. The caller
 * frees the bytes. */
bool image_cache_take(const char *key, const char *text, GpuImage *image);

/* When it can't be kept, it is not. */
void image_cache_keep(const char *key, const char *text, const GpuImage *image);

#endif
