#include "runtime/blob.h"

#include "runtime/cost.h"
#include "runtime/decode/image.h"
#include "runtime/named.h"
#include "runtime/text/tokenizer.h"
#include "runtime/type.h"
#include "runtime/vocabulary.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 80 /* bytes of a text */ };

static FlowStatus make_integer(const char *bytes, uint64_t size, const FlowType *type,
                               void *value) {
    char text[32], *end;
    while (size && isspace((unsigned char)bytes[size - 1])) size--;
    if (size >= sizeof text) return flow_failure(FLOW_EXIT_data, "has too many digits");
    memcpy(text, bytes, size);
    text[size] = 0;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!size || *end || errno || isspace((unsigned char)text[0]))
        return flow_failure(FLOW_EXIT_data, "`%s` is no whole number", text);
    if (type->element == FLOW_i64) memcpy(value, &number, sizeof number);
    else if (!number_write(type->element, (double)number, value))
        return flow_failure(FLOW_EXIT_data, "`%s` is no %s", text, type_name(type).text);
    return flow_ok;
}

static FlowStatus make_elements(const char *bytes, uint64_t size, const FlowType *type,
                                void *value) {
    if (size != flow_type_size(type))
        return flow_failure(FLOW_EXIT_data, "has %llu bytes, the program expects %s",
                            (unsigned long long)size, type_name(type).text);
    for (uint64_t i = 0; type->element == FLOW_bool && i < size; i++)
        if ((unsigned char)bytes[i] > 1)
            return flow_failure(FLOW_EXIT_data, "a byte is %d, the program expects bool",
                                (unsigned char)bytes[i]);
    memcpy(value, bytes, size);
    return flow_ok;
}

static FlowStatus make_category(const char *bytes, uint64_t size, const FlowField *field,
                                void *value) {
    int place = vocabulary_find(field->texts, bytes, size);
    if (place < 0) place = field->unknown - 1;
    if (place >= 0 && number_write(field->type.element, place, value)) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "is `%.*s`, %s", size < SHOWN ? (int)size : SHOWN, bytes,
                        vocabulary_fault(field).text);
}

static FlowStatus decode(const char *bytes, uint64_t size, const FlowField *field, void *value) {
    CostPart before = cost_enter(COST_decode);
    FlowStatus status = field->decoder ? image_make(bytes, size, field, value)
                                       : tokenizer_value(bytes, size, field, value);
    cost_enter(before);
    return status;
}

static FlowStatus value_of(const char *bytes, uint64_t size, const FlowField *field, void *value) {
    if (field->decoder || field->tokens) return decode(bytes, size, field, value);
    if (field->digits) return make_integer(bytes, size, &field->type, value);
    if (field->texts) return make_category(bytes, size, field, value);
    return make_elements(bytes, size, &field->type, value);
}

/* What the file has that the bytes name. */
static FlowStatus value_of_file(const char *bytes, uint64_t size, const FlowField *field,
                                void *value) {
    WholeFile file;
    FlowStatus status = named_read(bytes, size, &file);
    if (!status.exit) {
        status = value_of(file.bytes, file.size, field, value);
        if (status.exit)
            status = flow_failure(status.exit, "names %.*s, which %s", named_shown(size), bytes,
                                  status.text);
    }
    whole_file_free(&file);
    return status;
}

FlowStatus blob_value(const char *bytes, uint64_t size, const FlowField *field, void *value) {
    bool decodes = field->decoder || field->tokens;
    if (decodes && field->skims && *field->skims) return flow_ok;
    return field->reads ? value_of_file(bytes, size, field, value)
                        : value_of(bytes, size, field, value);
}

static FlowStatus copy_text(const char *bytes, uint64_t size, const FlowType *type, void *value) {
    size_t room = flow_type_size(type);
    if (size > room)
        return flow_failure(FLOW_EXIT_data, "has %llu bytes, the program expects %s at most",
                            (unsigned long long)size, type_name(type).text);
    memcpy(value, bytes, size);
    memset((char *)value + size, 0, room - size);
    return flow_ok;
}

FlowStatus blob_text(const char *bytes, uint64_t size, const FlowField *field, void *value) {
    bool plain =
        !field->decoder && !field->digits && !field->texts && !field->tokens && !field->reads;
    return plain ? copy_text(bytes, size, &field->type, value)
                 : blob_value(bytes, size, field, value);
}
