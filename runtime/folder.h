/* Folder: the images below a folder, by name: .jpg, .jpeg and .png, in small letters or capitals.
 * The folders in it are classes; what lies in one, at any depth, belongs to it. Names that begin
 * with a dot are passed over, and files of other names. Links are not followed, neither when names
 * are collected nor when a file is read, so nothing outside of the folder is ever opened. */
#ifndef FLOW_FOLDER_H
#define FLOW_FOLDER_H

#include "runtime/whole_file.h"

/* Texts, by where in Folder.text they begin. */
typedef struct FolderNames {
    uint64_t *places;
    int64_t count, capacity;
} FolderNames;

typedef struct Folder {
    const char *path;
    int descriptor;
    char *text; /* each with its NUL */
    uint64_t text_size, text_capacity;
    FolderNames files;   /* paths below the folder, in order */
    FolderNames classes; /* names, in order */
    FolderNames empty;   /* those of classes that have no images, in order */
} Folder;

/* Collects the names. Paths are in order, component by component, byte by byte. Whatever it
 * returns, folder_close has to follow. */
FlowStatus folder_open(const char *path, Folder *folder);
void folder_close(Folder *folder);

/* The path of a file below the folder. */
const char *folder_name(const Folder *folder, int64_t file);

/* The place of its class among all, or -1: it lies in none. */
int64_t folder_class(const Folder *folder, int64_t file);

/* Says on standard error which classes have no images, if some have none: once of a folder. */
void folder_tell_empty(const Folder *folder);

/* As whole_file_read, but a failure names the file. Thread-safe. */
FlowStatus folder_read(const Folder *folder, int64_t file, WholeFile *read);

#endif
