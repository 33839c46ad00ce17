/* Split: a text becomes words, as GPT-2 does it before it merges bytes: by the regular expression
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * A byte that is no UTF-8 is neither letter nor number nor space. */
#ifndef FLOW_TEXT_SPLIT_H
#define FLOW_TEXT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

/* The size of the first word; there has to be a byte. classes: those of classes.h. */
size_t split_first(const uint8_t *classes, const unsigned char *at, const unsigned char *end);

#endif
