#include "runtime/format/protobuf.h"

static bool fail(Wire *wire) {
    wire->broken = true;
    wire->at = wire->end;
    return false;
}

/* Seven bits a byte, least first; the last byte has no top bit. At most ten bytes. */
static bool long_varint(Wire *wire, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 70 && wire->at < wire->end; shift += 7) {
        uint64_t byte = *wire->at++;
        if (shift == 63 && byte > 1) return fail(wire);
        *value |= (byte & 127) << shift;
        if (byte < 128) return true;
    }
    return fail(wire);
}

bool wire_varint(Wire *wire, uint64_t *value) {
    if (wire->at == wire->end) return false;
    if (*wire->at >= 128) return long_varint(wire, value);
    *value = *wire->at++;
    return true;
}

static bool read_fixed(Wire *wire, size_t size, uint64_t *value) {
    if (wire_left(wire) < size) return fail(wire);
    *value = 0;
    for (size_t i = size; i-- > 0;) *value = *value << 8 | wire->at[i];
    wire->at += size;
    return true;
}

static bool read_bytes(Wire *wire, Wire *bytes) {
    uint64_t size;
    if (!long_varint(wire, &size) || size > wire_left(wire)) return fail(wire);
    *bytes = wire_new(wire->at, size);
    wire->at += size;
    return true;
}

bool wire_next(Wire *wire, WireField *field) {
    uint64_t tag;
    *field = (WireField){0};
    if (!wire_varint(wire, &tag)) return false;
    field->number = (uint32_t)(tag >> 3);
    field->kind = (WireKind)(tag & 7);
    if (!field->number || tag >> 32) return fail(wire);
    switch (field->kind) {
    case WIRE_varint: return long_varint(wire, &field->value);
    case WIRE_fixed64: return read_fixed(wire, 8, &field->value);
    case WIRE_fixed32: return read_fixed(wire, 4, &field->value);
    case WIRE_bytes: return read_bytes(wire, &field->bytes);
    }
    return fail(wire);
}
