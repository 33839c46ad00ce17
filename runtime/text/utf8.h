/* UTF-8: one character after the other, of any bytes. */
#ifndef FLOW_TEXT_UTF8_H
#define FLOW_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_NONE UINT32_MAX

/* How many bytes the first character takes; *code: which it is. A byte that begins none (shortest
 * forms, no surrogates: RFC 3629) is taken alone and is UTF8_NONE. There has to be a byte. */
size_t utf8_first(const unsigned char *at, const unsigned char *end, uint32_t *code);

/* Writes the character: 1 to 4 bytes. */
size_t utf8_write(uint32_t code, char *out);

#endif
