/* jsonl values: what a value in JSON becomes, as its field says: a number, numbers of a shape, or
 * the place of a text among categories. */
#ifndef FLOW_JSONL_VALUE_H
#define FLOW_JSONL_VALUE_H

#include "runtime/flow.h"
#include "runtime/format/json_scan.h"

enum {
    JSON_SHOWN = 80,       /* bytes of a text in a message */
    JSON_TEXT_SIZE = 1024, /* of names and categories with escapes; longer ones match nothing */
};

static inline int json_shown(size_t size) {
    return size < JSON_SHOWN ? (int)size : JSON_SHOWN;
}

/* A field of the program, and the member of each object that has it. */
typedef struct JsonMember {
    const FlowField *field;
    size_t name_size;
    size_t element_size;
} JsonMember;

/* A value that is being read, and what is wrong with it. */
typedef struct JsonValue {
    const JsonMember *member;
    JsonScan *scan;
    const char *at; /* where it is wrong */
    FlowExit exit;  /* of which kind that is: FLOW_EXIT_data, or there was no memory */
    char text[384]; /* what is wrong, unless scan->error says it */
} JsonValue;

/* Takes the value from the scan. */
bool json_value_read(JsonValue *value, void *out);

/* The same without a value. */
bool json_value_fill(JsonValue *value, void *out);

#endif
