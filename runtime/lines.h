/* Lines: where the lines of a text begin, those that hold more than space. */
#ifndef FLOW_LINES_H
#define FLOW_LINES_H

#include "runtime/flow.h"

typedef struct Lines {
    const char *text;
    size_t size;
    int64_t count, capacity;
    bool gaps;    /* there are lines of nothing but space */
    bool wide;    /* the text has 4 GiB or more */
    void *starts; /* uint32_t, or uint64_t when wide */
} Lines;

/* Goes through the text of the file once. Whatever it returns, lines_close has to follow. */
FlowStatus lines_open(const char *path, const char *text, size_t size, Lines *lines);
void lines_close(Lines *lines);

const char *lines_at(const Lines *lines, int64_t line);

/* Of the line among all, empty ones too, from 1; takes time where there are gaps. */
int64_t lines_number(const Lines *lines, int64_t line);

#endif
