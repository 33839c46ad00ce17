/* Tokenizer: text becomes numbers, and what a field of the program makes of them. What is opened is
 * read by many threads at the same time. */
#ifndef FLOW_TEXT_TOKENIZER_H
#define FLOW_TEXT_TOKENIZER_H

#include "runtime/flow.h"
#include "runtime/places.h"

typedef struct Tokenizer Tokenizer;

/* What a FLOW_TOKENS_span is, as i64[2]: valid until the thread makes another. */
typedef struct TokenSpan {
    int64_t address; /* of int32_t */
    int64_t count;
} TokenSpan;

/* Reads the files that it needs. On failure *tokenizer is NULL. */
FlowStatus tokenizer_open(const FlowTokens *tokens, const Places *places, PathOwner owner,
                          Tokenizer **tokenizer);
void tokenizer_close(Tokenizer *tokenizer);

/* Do both make the same tokens of a text? */
bool tokenizers_equal(const FlowTokens *a, const FlowTokens *b);

/* Every token is smaller. */
int64_t tokenizer_limit(const Tokenizer *tokenizer);

/* Makes the value of a field with tokens. What is wrong is said without the place. */
FlowStatus tokenizer_value(const char *text, uint64_t size, const FlowField *field, void *value);

#endif
