/* File: replacing a file as a whole or not at all, and keeping others from doing so
 * meanwhile. */
#ifndef FLOW_FILE_H
#define FLOW_FILE_H

#include "runtime/flow.h"

typedef struct FilePart {
    const void *bytes;
    size_t size;
} FilePart;

/* Writes the parts one after the other to `path`. Whatever happens, even a loss of power,
 * the path names either the complete old file or the complete new one. */
FlowStatus file_replace(const char *path, const FilePart *parts, int count);

/* Writes to `path` so that it names a whole file at any time; a loss of power may take it away. */
FlowStatus file_put(const char *path, FilePart part);

/* Makes a rename to `path` last, where the file system can. Returns 0 or an error number. */
int file_sync_folder(const char *path);

/* Makes room for a new `path`, x.y: the file there gets the name x.1.y besides, the one before
 * it x.2.y, and so on up to `count`; what was older is gone. `path` itself stays until it is
 * replaced. */
FlowStatus file_rotate(const char *path, int count);

/* Held from file_lock to file_unlock: "<path>.lock". */
typedef struct FileLock {
    char *path;
    int descriptor;
} FileLock;

/* Fails when another process holds the lock, or the folder cannot be written to. */
FlowStatus file_lock(const char *path, FileLock *lock);
void file_unlock(FileLock *lock);

#endif
