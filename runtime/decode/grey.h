/* Grey: of colours, as ITU-R 601 weighs them, in 16 bits. */
#ifndef FLOW_GREY_H
#define FLOW_GREY_H

#include <stdint.h>

static inline uint8_t grey_of(int red, int green, int blue) {
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

#endif
