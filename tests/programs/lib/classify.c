/* Classifies the test images with the exported library and prints the share that is right. */
#include "digits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

int main(int argc, char **argv) {
    static unsigned char images[16 + 10000 * 784], labels[8 + 10000];
    char message[256];
    FILE *first = fopen(argv[1], "rb"), *second = fopen(argv[2], "rb");
    if (argc != 5 || !first || !second) return 2;
    int count = atoi(argv[4]), right = 0;
    if (fread(images, 784, (size_t)count, first) == 0 ||
        fread(labels, 1, sizeof labels, second) == 0)
        return 2;
    Digits *digits = digits_create(argv[3], message, sizeof message);
    if (!digits) return printf("%s\n", message), 1;
    size_t before = allocations;
    for (int i = 0; i < count - 1; i++) {
        int32_t label;
        float p[10];
        digits_classify(digits, images + 16 + 784 * i, &label, p);
        right += label == labels[8 + i];
    }
    printf("%d right, %zu allocations\n", right, allocations - before);
    digits_destroy(digits);
    fclose(first);
    fclose(second);
    return 0;
}
