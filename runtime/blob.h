/* Blob: bytes that lie in some file, as a member of an archive or a value of a record, become what
 * a field is to be: an image, tokens, a number in digits, the index of a text, elements as they
 * are. */
#ifndef FLOW_BLOB_H
#define FLOW_BLOB_H

#include "runtime/flow.h"

/* Makes the field's value of the bytes. What is wrong is said without the place. Thread-safe. */
FlowStatus blob_value(const char *bytes, uint64_t size, const FlowField *field, void *value);

/* The same of a text: where the field is bytes as they are, zeros stand behind them. */
FlowStatus blob_text(const char *bytes, uint64_t size, const FlowField *field, void *value);

#endif
