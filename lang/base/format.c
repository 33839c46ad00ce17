/* Format: the usual directives are put here; the first other one has vsnprintf do all. */
#include "lang/base/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum Directive {
    DIRECTIVE_other,
    DIRECTIVE_string,
    DIRECTIVE_part,   /* of a string, at most so many */
    DIRECTIVE_padded, /* a string behind so many characters, itself included */
    DIRECTIVE_character,
    DIRECTIVE_percent,
    DIRECTIVE_int,
    DIRECTIVE_unsigned,
    DIRECTIVE_size,
    DIRECTIVE_long,
    DIRECTIVE_unsigned_long,
} Directive;

typedef struct Output {
    char *bytes;
    size_t size, length; /* of bytes; of all that was put */
} Output;

static void put(Output *output, const char *bytes, size_t count) {
    const size_t room = output->length < output->size ? output->size - output->length : 0;
    if (room) memcpy(output->bytes + output->length, bytes, count < room ? count : room);
    output->length += count;
}

static void put_number(Output *output, uint64_t magnitude, bool negative) {
    char digits[21], *first = digits + sizeof digits;
    do *--first = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (negative) *--first = '-';
    put(output, first, (size_t)(digits + sizeof digits - first));
}

static void put_signed(Output *output, int64_t number) {
    put_number(output, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
}

static void put_string(Output *output, const char *string) {
    put(output, string, strlen(string));
}

/* A negative width pads behind. */
static void put_padded(Output *output, int width, const char *string) {
    const int length = (int)strlen(string), wide = width < 0 ? -width : width;
    if (width < 0) put(output, string, (size_t)length);
    for (int i = length; i < wide; i++) put(output, " ", 1);
    if (width >= 0) put(output, string, (size_t)length);
}

/* What stands behind a %; *at goes past it. */
static inline Directive directive(const char **at) {
    const char *from = (*at)++;
    switch (*from) {
    case 's': return DIRECTIVE_string;
    case 'c': return DIRECTIVE_character;
    case '%': return DIRECTIVE_percent;
    case 'd': return DIRECTIVE_int;
    case 'u': return DIRECTIVE_unsigned;
    case 'z': return from[1] == 'u' ? (*at)++, DIRECTIVE_size : DIRECTIVE_other;
    case '*': return from[1] == 's' ? (*at)++, DIRECTIVE_padded : DIRECTIVE_other;
    case '.': return from[1] == '*' && from[2] == 's' ? *at += 2, DIRECTIVE_part : DIRECTIVE_other;
    case 'l':
        if (from[1] != 'l') return DIRECTIVE_other;
        *at += 2;
        return from[2] == 'd'   ? DIRECTIVE_long
               : from[2] == 'u' ? DIRECTIVE_unsigned_long
                                : DIRECTIVE_other;
    default: return DIRECTIVE_other;
    }
}

/* False: there is another directive. */
static bool put_all(Output *output, const char *format, va_list *arguments) {
    for (;;) {
        const char *at = format;
        while (*at && *at != '%') at++;
        put(output, format, (size_t)(at - format));
        if (!*at++) return true;
        switch (directive(&at)) {
        case DIRECTIVE_string: put_string(output, va_arg(*arguments, const char *)); break;
        case DIRECTIVE_part: {
            const int most = va_arg(*arguments, int);
            const char *string = va_arg(*arguments, const char *);
            put(output, string, strnlen(string, (size_t)most));
            break;
        }
        case DIRECTIVE_padded: {
            const int width = va_arg(*arguments, int);
            put_padded(output, width, va_arg(*arguments, const char *));
            break;
        }
        case DIRECTIVE_character: put(output, &(char){(char)va_arg(*arguments, int)}, 1); break;
        case DIRECTIVE_percent: put(output, "%", 1); break;
        case DIRECTIVE_int: put_signed(output, va_arg(*arguments, int)); break;
        case DIRECTIVE_unsigned: put_number(output, va_arg(*arguments, unsigned), false); break;
        case DIRECTIVE_size: put_number(output, va_arg(*arguments, size_t), false); break;
        case DIRECTIVE_long: put_signed(output, va_arg(*arguments, long long)); break;
        case DIRECTIVE_unsigned_long:
            put_number(output, va_arg(*arguments, unsigned long long), false);
            break;
        case DIRECTIVE_other: return false;
        }
        format = at;
    }
}

int format_bytes(char *bytes, size_t size, const char *format, va_list arguments) {
    Output output = {bytes, size, 0};
    va_list own;
    va_copy(own, arguments);
    const bool plain = put_all(&output, format, &own);
    va_end(own);
    if (!plain) return vsnprintf(bytes, size, format, arguments);
    if (size) bytes[output.length < size ? output.length : size - 1] = 0;
    return (int)output.length;
}
