/* BPE: byte pair encoding as GPT-2 has it: words of bytes, of which pairs are merged. */
#ifndef FLOW_TEXT_BPE_H
#define FLOW_TEXT_BPE_H

#include "runtime/flow.h"
#include "runtime/text/workplace.h"

typedef struct Bpe Bpe;

/* vocabulary: a JSON object of texts and numbers; merges: a line a pair. In both each byte is
 * written as the character that GPT-2 writes for it. On failure *bpe is NULL. */
FlowStatus bpe_open(const char *vocabulary, const char *merges, Bpe **bpe);
void bpe_close(Bpe *bpe);

int64_t bpe_limit(const Bpe *bpe); /* every token is smaller */

/* Adds the text's tokens. number: tells it from all others that the place was used for. What is
 * wrong is said without the place. Thread-safe. */
FlowStatus bpe_encode(const Bpe *bpe, uint64_t number, const char *text, size_t size,
                      Workplace *place, TokenList *tokens);

#endif
