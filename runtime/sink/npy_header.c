/* NPY header. */
#include "runtime/sink/npy_header.h"

#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64, BEFORE = 10 /* bytes: magic, version, length */ };

/* bf16 as ml_dtypes saves it. */
static const char *const types[] = {
    [FLOW_bool] = "|b1", [FLOW_u8] = "|u1",   [FLOW_i8] = "|i1",
    [FLOW_i32] = "<i4",  [FLOW_i64] = "<i8",  [FLOW_f16] = "<f2",
    [FLOW_f32] = "<f4",  [FLOW_bf16] = "<V2", [FLOW_f64] = "<f8",
};

/* (100,) or (100, 2, 3). Returns its length. */
static int write_shape(char *text, const FlowType *type, int64_t records) {
    int used = sprintf(text, "("), axes = type->rank + (records >= 0);
    if (records >= 0) used += sprintf(text + used, "%lld", (long long)records);
    for (int i = 0; i < type->rank; i++)
        used += sprintf(text + used, used > 1 ? ", %lld" : "%lld", (long long)type->sizes[i]);
    return used + sprintf(text + used, axes == 1 ? ",)" : ")");
}

/* Returns its length. */
static int write_literal(char *text, const FlowType *type, int64_t records) {
    int used =
        sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': ", types[type->element]);
    used += write_shape(text + used, type, records);
    return used + sprintf(text + used, ", }");
}

int npy_header_write(char *header, const FlowType *type, int64_t records) {
    int longest = write_literal(header, type, records < 0 ? records : INT64_MAX);
    int length = (BEFORE + longest + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - BEFORE;
    memset(header, ' ', (size_t)(BEFORE + length));
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (char)length;
    header[9] = (char)(length >> 8);
    header[BEFORE + write_literal(header + BEFORE, type, records)] = ' ';
    header[BEFORE + length - 1] = '\n';
    return BEFORE + length;
}
