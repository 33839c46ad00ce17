/* Whole file: a record's file, read into memory that counts as its thread's. */
#ifndef FLOW_WHOLE_FILE_H
#define FLOW_WHOLE_FILE_H

#include "runtime/flow.h"

enum { WHOLE_FILE_LIMIT = 64 << 20 /* bytes */ };

typedef struct WholeFile {
    char *bytes;
    size_t size;
} WholeFile;

/* Reads it through the descriptor if it is a regular file that is not too large; -1: it could not
 * be opened, as errno says. A failure says what is wrong without the file's name: "is not a regular
 * file". The descriptor is closed. Thread-safe. */
FlowStatus whole_file_read(int descriptor, WholeFile *file);

/* Also of one that could not be read. */
void whole_file_free(WholeFile *file);

#endif
