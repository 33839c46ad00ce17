/* Fuzz: any bytes as an archive, and any bytes as an image: every member of every record is
 * made. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "runtime/format/tar.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void open_as(FlowField field) {
    static unsigned char value[1 << 12];
    FlowReader *reader;
    FlowStatus failure;
    if (flow_source_tar.open(&field, 1, NULL, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_tar.records(reader); i++)
        flow_source_tar.make(reader, i, (void *const[]){value}, &failure);
    flow_source_tar.close(reader);
}

/* The sums of headers are hard to guess: they are made right. */
static void mend_sums(uint8_t *bytes, size_t size) {
    for (size_t at = 0; at + 512 <= size; at += 512) {
        unsigned sum = 0;
        for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? ' ' : bytes[at + i];
        char text[8];
        snprintf(text, sizeof text, "%06o", sum & 0777777);
        for (size_t i = 0; i < 7 && bytes[at]; i++) bytes[at + 148 + i] = (uint8_t)text[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    static uint8_t copy[1 << 16];
    if (size > sizeof copy) return 0;
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    for (size_t i = 0; i < size; i++) copy[i] = bytes[i];
    mend_sums(copy, size);
    if (ftruncate(descriptor, 0) || pwrite(descriptor, copy, size, 0) != (ssize_t)size) return 0;
    FlowField field = {.name = "a", .path = path, .type = {FLOW_u8, 1, {4}}};
    open_as(field);
    field.digits = true;
    field.type = (FlowType){.element = FLOW_i32};
    open_as(field);
    field = (FlowField){.name = "a",
                        .path = path,
                        .type = {FLOW_u8, 3, {4, 4, 3}},
                        .decoder = &flow_decoder_jpeg,
                        .image = {.fit = FLOW_FIT_whole}};
    open_as(field);
    return 0;
}
