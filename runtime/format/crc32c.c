/* The table has the sum of each byte, and of each byte with one to seven zeros behind it, so that
 * eight bytes are taken at a time ("slicing by 8", Kounavis & Berry, 2005). */
#define _GNU_SOURCE
#include "runtime/format/crc32c.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[8][256];

static void fill_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        table[0][byte] = sum;
    }
    for (int zeros = 1; zeros < 8; zeros++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = table[zeros - 1][byte];
            table[zeros][byte] = before >> 8 ^ table[0][before & 255];
        }
}

static uint64_t read_eight(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

uint32_t crc32c_by_table(uint32_t sum, const void *from, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *bytes = from;
    pthread_once(&once, fill_table);
    sum = ~sum;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word = read_eight(bytes) ^ sum;
        sum = 0;
        for (int i = 0; i < 8; i++) sum ^= table[7 - i][word >> 8 * i & 255];
    }
    for (; size; size--) sum = sum >> 8 ^ table[0][(sum ^ *bytes++) & 255];
    return ~sum;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, const void *from,
                                                                 size_t size) {
    const unsigned char *bytes = from;
    uint64_t sum = ~before;
    for (; size >= 8; size -= 8, bytes += 8) sum = __builtin_ia32_crc32di(sum, read_eight(bytes));
    for (; size; size--) sum = __builtin_ia32_crc32qi((uint32_t)sum, *bytes++);
    return ~(uint32_t)sum;
}

static bool has_instruction(void) {
    return __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t by_instruction(uint32_t before, const void *from, size_t size) {
    return crc32c_by_table(before, from, size);
}

static bool has_instruction(void) {
    return false;
}
#endif

uint32_t crc32c_add(uint32_t sum, const void *bytes, size_t size) {
    return has_instruction() ? by_instruction(sum, bytes, size) : crc32c_by_table(sum, bytes, size);
}

uint32_t crc32c(const void *bytes, size_t size) {
    return crc32c_add(0, bytes, size);
}
