#include "runtime/spans.h"

#include <stdlib.h>

bool spans_new(int count, Spans *spans) {
    *spans = (Spans){.firsts = calloc((size_t)count + 1, sizeof *spans->firsts)};
    return spans->firsts != NULL;
}

void spans_close(Spans *spans) {
    free(spans->firsts);
    free(spans->near);
    *spans = (Spans){0};
}

bool spans_index(Spans *spans, int count) {
    int64_t records = spans->firsts[count];
    while (records >> spans->shift > count) spans->shift++;
    int64_t stretches = (records >> spans->shift) + 1;
    spans->near = malloc(((size_t)stretches + 1) * sizeof *spans->near);
    if (!spans->near) return false;
    for (int64_t i = 0, file = 0; i <= stretches; i++) {
        while (file + 1 < count && spans->firsts[file + 1] <= i << spans->shift) file++;
        spans->near[i] = (int)file;
    }
    return true;
}
