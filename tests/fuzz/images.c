/* Fuzz: any bytes as a tree of folders, files and links, with names of any kind. Every record is
 * made. Of each four bytes the first says what comes to be: a file, a folder that the next lie in,
 * a link, or the way back; the others are its name and content. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *walk) {
    (void)stat, (void)kind, (void)walk;
    return remove(path);
}

static void make_one(const uint8_t bytes[4], char *path, size_t length) {
    static const char *const endings[] = {"", ".jpg", ".PNG", ".txt"};
    static const char *const targets[] = {"/etc/passwd", "..", ".", "../../a.jpg"};
    snprintf(path + length, 64, "/%c%s", bytes[1], endings[bytes[2] % 4]);
    if (bytes[0] % 4 == 2) {
        if (symlink(targets[bytes[3] % 4], path)) return;
    } else if (bytes[0] % 4 == 0) {
        FILE *file = fopen(path, "wx");
        if (file) fwrite(bytes, 1, bytes[3] % 5, file), fclose(file);
    }
}

static void make_tree(const char *root, const uint8_t *bytes, size_t size) {
    char path[2048];
    snprintf(path, sizeof path, "%s", root);
    for (; size >= 4; bytes += 4, size -= 4) {
        size_t length = strlen(path);
        if (bytes[0] % 4 == 3) {
            char *slash = strrchr(path, '/');
            if (length > strlen(root)) *slash = 0;
        } else if (bytes[1] && bytes[1] != '/' && length < sizeof path - 64) {
            make_one(bytes, path, length);
            if (bytes[0] % 4 != 1 || mkdir(path, 0755)) path[length] = 0;
        }
    }
}

static void read_all(const char *root) {
    static char value[4];
    uint8_t label;
    FlowStatus failure;
    FlowReader *reader;
    FlowField fields[] = {
        {.name = "image", .path = root, .type = {FLOW_u8, 1, {4}}},
        {.name = "label", .path = root, .type = {.element = FLOW_u8}, .digits = true}};
    if (flow_source_images.open(fields, 2, NULL, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_images.records(reader); i++)
        flow_source_images.make(reader, i, (void *const[]){value, &label}, &failure);
    flow_source_images.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char root[] = "/dev/shm/fuzz-XXXXXX";
    if (size > 400 || !mkdtemp(root)) return 0;
    make_tree(root, bytes, size);
    read_all(root);
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
