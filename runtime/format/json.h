/* JSON: a cursor over a text in memory, for headers. Nothing is built; the caller asks for
 * what it expects. Strings are decoded in place, so the text has to be writable and outlive
 * them.
 *
 * After any failure `error` is set, all functions return false, and `at` is where it
 * happened. */
#ifndef FLOW_JSON_H
#define FLOW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH_LIMIT = 64 };

typedef struct Json {
    char *at, *end;
    const char *error;
    int depth;
    bool first; /* nothing was read yet in the object or array */
} Json;

Json json_new(char *text, size_t size);

bool json_open(Json *json, char bracket); /* '{' or '[' */

/* Goes to the next member of the object, or leaves it: false. */
bool json_member(Json *json, const char **name);

/* Goes to the next element of the array, or leaves it: false. */
bool json_element(Json *json);

bool json_string(Json *json, const char **string); /* UTF-8 without NUL */
bool json_natural(Json *json, uint64_t *number);
bool json_skip(Json *json); /* any value */

/* Only space is left. */
bool json_end(Json *json);

#endif
