/* jpeg: by libjpeg, whose errors jump. */
#include "runtime/flow.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

typedef struct Writing {
    struct jpeg_error_mgr errors;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
    struct jpeg_compress_struct image;
    unsigned char *bytes;
    unsigned long size;
} Writing;

static void jump_out(j_common_ptr image) {
    Writing *writing = (Writing *)image->err;
    image->err->format_message(image, writing->text);
    longjmp(writing->out, 1);
}

static void describe(Writing *writing, const FlowType *type, int quality) {
    struct jpeg_compress_struct *image = &writing->image;
    image->image_height = (JDIMENSION)type->sizes[0];
    image->image_width = (JDIMENSION)type->sizes[1];
    image->input_components = (int)type->sizes[2];
    image->in_color_space = type->sizes[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(image);
    jpeg_set_quality(image, quality, TRUE);
}

static void write_rows(Writing *writing, const FlowType *type, const unsigned char *pixels) {
    size_t row = (size_t)(type->sizes[1] * type->sizes[2]);
    jpeg_start_compress(&writing->image, TRUE);
    while (writing->image.next_scanline < writing->image.image_height) {
        JSAMPROW at = (JSAMPROW)pixels + writing->image.next_scanline * row;
        jpeg_write_scanlines(&writing->image, &at, 1);
    }
    jpeg_finish_compress(&writing->image);
}

static FlowStatus finish(Writing *writing, bool good, FlowEncoded *encoded) {
    bool memory = writing->errors.msg_code == JERR_OUT_OF_MEMORY;
    jpeg_destroy_compress(&writing->image);
    *encoded = (FlowEncoded){writing->bytes, writing->size};
    if (good) return flow_ok;
    free(writing->bytes);
    *encoded = (FlowEncoded){0};
    return flow_failure(memory ? FLOW_EXIT_resource : FLOW_EXIT_data, "can't be encoded: %.200s",
                        writing->text);
}

static FlowStatus jpeg_encode(const FlowType *type, const void *pixels, int quality,
                              FlowEncoded *encoded) {
    Writing writing = {.text = ""};
    writing.image.err = jpeg_std_error(&writing.errors);
    writing.errors.error_exit = jump_out;
    if (setjmp(writing.out)) return finish(&writing, false, encoded);
    jpeg_create_compress(&writing.image);
    jpeg_mem_dest(&writing.image, &writing.bytes, &writing.size);
    describe(&writing, type, quality);
    write_rows(&writing, type, pixels);
    return finish(&writing, true, encoded);
}

const FlowEncoder flow_encoder_jpeg = {"jpeg", jpeg_encode};
