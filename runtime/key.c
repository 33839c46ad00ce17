#include "runtime/key.h"

static _Thread_local uint64_t key;

void key_set(uint64_t value) {
    key = value;
}

uint64_t key_now(void) {
    return key;
}
