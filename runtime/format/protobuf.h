/* Protobuf: the wire format of messages, one field after the other. Nothing is copied: a field of
 * bytes (a text, a message, packed numbers) is a range of them. */
#ifndef FLOW_PROTOBUF_H
#define FLOW_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of a message, or of packed numbers. */
typedef struct Wire {
    const unsigned char *at, *end;
    bool broken; /* what was read is no message */
} Wire;

typedef enum WireKind {
    WIRE_varint = 0,
    WIRE_fixed64 = 1,
    WIRE_bytes = 2,
    WIRE_fixed32 = 5
} WireKind;

typedef struct WireField {
    uint32_t number;
    WireKind kind;
    uint64_t value; /* of all kinds but bytes */
    Wire bytes;
} WireField;

static inline Wire wire_new(const void *bytes, size_t size) {
    return (Wire){bytes, (const unsigned char *)bytes + size, false};
}

static inline size_t wire_left(const Wire *wire) {
    return (size_t)(wire->end - wire->at);
}

/* The next field. False: there is none, or the wire is broken. */
bool wire_next(Wire *wire, WireField *field);

/* Of packed numbers, the next one. */
bool wire_varint(Wire *wire, uint64_t *value);

#endif
