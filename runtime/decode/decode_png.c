/* png: by libpng. What is transparent is seen on black. */
#include "runtime/flow.h"

#include <png.h>
#include <string.h>

static FlowStatus failure(const png_image *image) {
    return flow_failure(FLOW_EXIT_data, "can't be decoded: %.60s", image->message);
}

static FlowStatus png_measure(const void *bytes, size_t size, int64_t *height, int64_t *width) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    bool good = png_image_begin_read_from_memory(&image, bytes, size);
    *height = image.height;
    *width = image.width;
    png_image_free(&image);
    return good ? flow_ok : failure(&image);
}

static FlowStatus png_decode(const void *bytes, size_t size, const FlowType *type, void *pixels) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, bytes, size)) return failure(&image);
    image.format = type->sizes[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    memset(pixels, 0, flow_type_size(type));
    bool good = png_image_finish_read(&image, NULL, pixels, 0, NULL);
    return good ? flow_ok : failure(&image);
}

const FlowDecoder flow_decoder_png = {"png", png_measure, png_decode};
