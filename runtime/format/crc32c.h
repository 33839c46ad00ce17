/* CRC-32C (Castagnoli), as storage and TFRecord files use it. */
#ifndef FLOW_CRC32C_H
#define FLOW_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t size);

/* Of bytes whose sum is known, 0 of none, with others behind them. */
uint32_t crc32c_add(uint32_t sum, const void *bytes, size_t size);

/* The same without the processor's instruction for it. */
uint32_t crc32c_by_table(uint32_t sum, const void *bytes, size_t size);

#endif
