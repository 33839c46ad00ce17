/* Field: what the files share that lower functions of a source's fields. */
#ifndef FLOW_LOWER_FIELD_H
#define FLOW_LOWER_FIELD_H

#include "compiler/lower/lowering.h"

typedef struct FieldCall {
    const Context *context;
    const Expression *call;
    Value field;
    ArgumentList rest; /* arguments after the field */
} FieldCall;

/* Has nothing been said of what is missing? False after reporting. */
bool expect_unfilled(const FieldCall *call);

/* A copy of the field's description that may be changed. */
Field *describe(const FieldCall *call);

/* The field, described anew. */
Value become(const FieldCall *call, const Field *field, FieldForm form);

/* Is the field of one of these forms? False after reporting; `what` says what would be. */
bool expect(const FieldCall *call, FieldForm least, FieldForm most, const char *what);

/* tokens.c: texts. */
Value lower_bytes(const FieldCall *call);
Value lower_characters(const FieldCall *call);
Value lower_bpe(const FieldCall *call);
Value lower_pad(const FieldCall *call);
Value lower_length(const FieldCall *call);
bool is_same_tokens(const TextTokens *a, const TextTokens *b);

/* The value with what is known of its range: that of the tokens, and `more`. */
Value with_tokens_range(const Context *context, const TextTokens *tokens, double more, Value value);

/* category.c */
Value lower_category(const FieldCall *call);

/* picture.c: images. */
Value lower_decode(const FieldCall *call);
Value lower_resize(const FieldCall *call);
Value lower_resize_short(const FieldCall *call);
Value lower_center_crop(const FieldCall *call);
Value lower_crop(const FieldCall *call);
Value lower_random_resized_crop(const FieldCall *call);
bool is_channels(int64_t channels);
bool is_random(const Picture *picture);
bool is_same_picture(const Picture *a, const Picture *b);

#endif
