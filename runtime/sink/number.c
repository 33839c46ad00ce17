/* Number. */
#include "runtime/sink/number.h"

#include "runtime/format/shortest.h"

#include <string.h>

enum { PIECE = 1024 }; /* numbers for which there is room at once */

int64_t element_count(const FlowType *type) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->sizes[i];
    return count;
}

static char *append(char *text, const char *string) {
    while (*string) *text++ = *string++;
    return text;
}

static void write_piece(Output *output, FlowElement element, const char *values, int64_t count,
                        NumberStyle style) {
    size_t size = flow_element_size(element);
    char *text = output_room(output, (size_t)count * SHORTEST_SIZE);
    if (!text) return;
    for (int64_t i = 0; i < count; i++) {
        const char *value = values + (size_t)i * size;
        if (i) text = append(text, style.comma);
        bool named = style.special && !shortest_is_finite(element, value);
        text = named ? append(text, style.special) : shortest_write(element, value, text);
    }
    output_used(output, text);
}

void write_numbers(Output *output, FlowElement element, const char *values, int64_t count,
                   NumberStyle style) {
    for (int64_t i = 0; i < count; i += PIECE) {
        int64_t left = count - i;
        if (i) output_text(output, style.comma);
        write_piece(output, element, values + (size_t)i * flow_element_size(element),
                    left < PIECE ? left : PIECE, style);
    }
}

/* The tensor's axes from `axis` on. Returns the end of its values. */
static const char *write_axes(Output *output, const FlowType *type, int axis, const char *values,
                              NumberStyle style) {
    int64_t count = axis < type->rank ? type->sizes[axis] : 1;
    if (axis < type->rank) output_add(output, "[", 1);
    if (axis + 1 >= type->rank) {
        write_numbers(output, type->element, values, count, style);
        values += (size_t)count * flow_element_size(type->element);
    } else
        for (int64_t i = 0; i < count; i++) {
            if (i) output_text(output, style.comma);
            values = write_axes(output, type, axis + 1, values, style);
        }
    if (axis < type->rank) output_add(output, "]", 1);
    return values;
}

void write_tensor(Output *output, const FlowType *type, const char *values, NumberStyle style) {
    write_axes(output, type, 0, values, style);
}
