#include "runtime/text/split.h"

#include "runtime/text/classes.h"
#include "runtime/text/utf8.h"

#include <stdbool.h>
#include <string.h>

typedef struct Text {
    const uint8_t *classes;
    const unsigned char *end;
} Text;

/* Of the character there; *size: its bytes. */
static inline Class class_at(const Text *text, const unsigned char *at, size_t *size) {
    uint32_t code = *at;
    *size = 1;
    if (code >= 0x80) *size = utf8_first(at, text->end, &code);
    return code == UTF8_NONE ? CLASS_other : class_of(text->classes, code);
}

/* Where characters of the class end. */
static const unsigned char *run_of(const Text *text, const unsigned char *at, Class class) {
    size_t size;
    while (at < text->end && class_at(text, at, &size) == class) at += size;
    return at;
}

/* 's, 't, 're, 've, 'm, 'll, 'd: how many bytes; 0: none of them. */
static size_t contraction(const unsigned char *at, const unsigned char *end) {
    size_t left = (size_t)(end - at);
    if (left >= 2 && at[1] && strchr("stmd", at[1])) return 2;
    if (left < 3) return 0;
    bool two = !memcmp(at + 1, "re", 2) || !memcmp(at + 1, "ve", 2) || !memcmp(at + 1, "ll", 2);
    return two ? 3 : 0;
}

/* All space, but its last character where that stands before a word; one at least. */
static size_t space(const Text *text, const unsigned char *at) {
    const unsigned char *next = at, *last = at;
    size_t size;
    while (next < text->end && class_at(text, next, &size) == CLASS_space)
        last = next, next += size;
    return (size_t)((next == text->end || last == at ? next : last) - at);
}

size_t split_first(const uint8_t *classes, const unsigned char *at, const unsigned char *end) {
    Text text = {classes, end};
    size_t size = *at == '\'' ? contraction(at, end) : 0;
    if (size) return size;
    const unsigned char *word = *at == ' ' && end - at > 1 ? at + 1 : at;
    Class class = class_at(&text, word, &size);
    if (class == CLASS_space) return space(&text, at);
    return (size_t)(run_of(&text, word + size, class) - at);
}
