/* Classes: what kind of character a code point is. */
#ifndef FLOW_TEXT_CLASSES_H
#define FLOW_TEXT_CLASSES_H

#include <stdint.h>

typedef enum Class { CLASS_other, CLASS_letter, CLASS_number, CLASS_space } Class;

enum { CODE_LIMIT = 0x110000 };

/* The table that class_of takes. Thread-safe. */
const uint8_t *classes(void);

static inline Class class_of(const uint8_t *classes, uint32_t code) {
    return (Class)(classes[code / 4] >> code % 4 * 2 & 3);
}

#endif
