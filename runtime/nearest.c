/* Nearest. */
#include "runtime/nearest.h"

static int smallest(int a, int b, int c) {
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Row by row of the table of edits between beginnings. */
int name_distance(const char *a, const char *b, size_t b_length) {
    int row[NAME_SIZE];
    if (b_length >= NAME_SIZE) return NAME_SIZE;
    for (size_t j = 0; j <= b_length; j++) row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 1; j <= b_length; j++) {
            int above = row[j];
            row[j] = smallest(row[j] + 1, row[j - 1] + 1, diagonal + (a[i] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

int name_distance_limit(size_t length) {
    return (int)(length / 2 < 3 ? length / 2 + 1 : 4);
}
