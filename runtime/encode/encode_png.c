/* png: by libpng. The pixels come back as they are. */
#include "runtime/flow.h"

#include <png.h>
#include <stdlib.h>

static FlowStatus png_encode(const FlowType *type, const void *pixels, int quality,
                             FlowEncoded *encoded) {
    (void)quality;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .height = (png_uint_32)type->sizes[0],
                       .width = (png_uint_32)type->sizes[1],
                       .format = type->sizes[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    encoded->bytes = malloc(size);
    if (!encoded->bytes) return flow_failure(FLOW_EXIT_resource, "no memory to encode it");
    bool good = png_image_write_to_memory(&image, encoded->bytes, &size, 0, pixels, 0, NULL);
    encoded->size = size;
    if (good) return flow_ok;
    free(encoded->bytes);
    encoded->bytes = NULL;
    return flow_failure(FLOW_EXIT_resource, "can't be encoded: %.60s", image.message);
}

const FlowEncoder flow_encoder_png = {"png", png_encode};
