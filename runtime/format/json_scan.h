/* JSON scan: a cursor over a text that stays as it is, as fast as can be, for data of one line a
 * value. A text ends at a newline or a NUL, one of which has to follow it, and JSON_SCAN_PADDING
 * more bytes that can be read. Strict RFC 8259, but whether strings are UTF-8 is not looked at.
 *
 * After a failure `error` is set and all functions return false; `at` is where it happened. */
#ifndef FLOW_JSON_SCAN_H
#define FLOW_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_SCAN_PADDING = 16 };

typedef struct JsonScan {
    const char *at;
    const char *error;
    int depth;
    bool first; /* nothing was read yet in the object or array */
} JsonScan;

/* A string between its quotes, or a number, as it is written. */
typedef struct JsonToken {
    const char *text;
    size_t size;
    bool escaped; /* it has a backslash */
} JsonToken;

JsonScan json_scan_new(const char *text);

/* The next character after space; 0 at the end and after a failure. */
char json_scan_peek(JsonScan *scan);

bool json_scan_fail(JsonScan *scan, const char *error);

bool json_scan_open(JsonScan *scan, char bracket); /* '{' or '[' */

/* Goes to the next member of the object, or leaves it: false. */
bool json_scan_member(JsonScan *scan, JsonToken *name);

/* Goes to the next element of the array, or leaves it: false. */
bool json_scan_element(JsonScan *scan);

bool json_scan_string(JsonScan *scan, JsonToken *string);
bool json_scan_number(JsonScan *scan, JsonToken *number);
bool json_scan_word(JsonScan *scan, const char *word); /* true, false, null; false: it is none */
bool json_scan_skip(JsonScan *scan);                   /* any value */
bool json_scan_end(JsonScan *scan);                    /* only space is left */

/* Decodes the string into `text`, which has `room` bytes, with a NUL; *size: of what it means.
 * False: there is not enough room, it is no UTF-8, or an escape in it stands for nothing. */
bool json_token_decode(const JsonToken *string, char *text, size_t room, size_t *size);

#endif
