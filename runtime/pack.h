/* Pack: the tokens of all records of a section, laid end to end, in memory: one, two or four bytes
 * each, as the largest of them takes. Reading is thread-safe. */
#ifndef FLOW_PACK_H
#define FLOW_PACK_H

#include "runtime/flow.h"

typedef struct Pack Pack;
struct Records;

/* Has several threads make the `count` records of the section before, whose only output is a span.
 * On failure *pack is NULL. */
FlowStatus pack_open(const struct Records *records, int index, int64_t count, Pack **pack);
void pack_close(Pack *pack);

int64_t pack_tokens(const Pack *pack);

/* So many tokens from that one on; they are there. */
void pack_read(const Pack *pack, int64_t first, int64_t count, int32_t *tokens);

#endif
