#define _GNU_SOURCE
#include "runtime/device/kernel_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The line that defines it; NULL. */
static const char *find_line(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        bool called = at > text && at[-1] == '(' && at[length] == ',';
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        if (called && line) return line;
    }
    return NULL;
}

KernelLine kernel_line(const char *device_text, const char *name) {
    KernelLine line = {""};
    const char *end = device_text ? find_line(device_text, name) : NULL;
    const char *before = end ? memrchr(device_text, '\n', (size_t)(end - device_text)) : NULL;
    if (!before || strncmp(before, "\n/* ", 4)) return line;
    const char *begin = before + 4, *colon = strstr(begin, ": ");
    if (colon && colon < end)
        snprintf(line.text, sizeof line.text, " (%.*s)", (int)(colon - begin), begin);
    return line;
}
