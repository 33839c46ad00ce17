/* Format: what vsnprintf does, in a fraction of its time for the directives that most text needs:
 * %s %.*s %*s %c %d %u %zu %lld %llu %%. A format with any other one is left to vsnprintf. */
#ifndef FLOW_BASE_FORMAT_H
#define FLOW_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most size bytes, the last of them NUL; returns the length of all, without it. A string
 * may not be NULL. */
int format_bytes(char *bytes, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
