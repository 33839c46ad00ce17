/* Fuzz: the record of a run with any bytes changed, or with any bytes for one of the values that
 * say how far it is. What is loaded all the same is saved again, to the same bytes. */
#define _GNU_SOURCE
#include "runtime/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LARGEST = 1 << 17 };

static const FlowStorage storage[] = {
    {.name = "layer/w", .type = {FLOW_f32, 2, {4, 8}}},
    {.name = "layer/b", .type = {FLOW_f64, 1, {4}}, .offset = 128}};
static const FlowOption options[] = {{"rate", "", FLOW_OPTION_real, 0.5, NULL, false},
                                     {"size", "", FLOW_OPTION_integer, 3, NULL, true}};
static const FlowAction actions[] = {{.kind = FLOW_ACTION_save, .path = "x"},
                                     {.kind = FLOW_ACTION_stop, .watch = {.set = true}}};
static const FlowPipeline data = {.name = "data", .batch = 10};
static const FlowTrain block = {
    .name = "fit", .data = &data, .actions = actions, .action_count = 2};
static const FlowProgram program = {.name = "fuzz",
                                    .fingerprint = "0123456789abcdef",
                                    .options = options,
                                    .option_count = 2,
                                    .storage = storage,
                                    .storage_count = 2,
                                    .memory_size = 192,
                                    .trains = &block,
                                    .train_count = 1};
static double numbers[] = {0.5, 3};
static const Settings settings = {.program = &program, .train = &block, .numbers = numbers};
static const Identity identity = {&settings, 7, 100, 10};

typedef struct Bytes {
    uint8_t at[LARGEST];
    size_t size;
} Bytes;

static void read_file(const char *path, Bytes *file) {
    int descriptor = open(path, O_RDONLY);
    ssize_t size = read(descriptor, file->at, sizeof file->at);
    close(descriptor);
    if (size <= 0) abort();
    file->size = (size_t)size;
}

static void write_file(const char *path, const Bytes *file) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(descriptor, file->at, file->size) != (ssize_t)file->size) abort();
    close(descriptor);
}

/* Text of a JSON string. */
static size_t escape(const uint8_t *bytes, size_t size, char *text) {
    size_t used = 0;
    for (size_t i = 0; i < size; i++)
        used += (size_t)sprintf(
            text + used,
            bytes[i] < ' ' || bytes[i] > '~' || strchr("\"\\", bytes[i]) ? "\\u%04x" : "%c",
            bytes[i]);
    return used;
}

/* One of the values of the header becomes these bytes. */
static void put_value(const Bytes *whole, int which, const uint8_t *bytes, size_t size,
                      Bytes *file) {
    static const char *const names[] = {"step",    "action",     "sums",     "sum_records",
                                        "stopped", "plateau",    "watchers", "crc32",
                                        "seed",    "option.rate"};
    char name[32], text[6 * 4096 + 1];
    snprintf(name, sizeof name, "\"%s\":\"", names[which % 10]);
    uint64_t header;
    memcpy(&header, whole->at, sizeof header);
    const uint8_t *at = memmem(whole->at, 8 + header, name, strlen(name));
    if (!at || size > 4096) abort();
    at += strlen(name);
    size_t begin = (size_t)(at - whole->at), end = begin;
    while (whole->at[end] != '"') end++;
    size_t used = escape(bytes, size, text);
    memcpy(file->at, whole->at, begin);
    memcpy(file->at + begin, text, used);
    memcpy(file->at + begin + used, whole->at + end, whole->size - end);
    file->size = whole->size - (end - begin) + used;
    header += used - (end - begin);
    memcpy(file->at, &header, sizeof header);
}

static void load(const char *path) {
    static char memory[192];
    static Bytes before, after;
    Position position = {0};
    if (checkpoint_load(path, &identity, &position, memory).exit) return;
    checkpoint_save(path, &identity, &position, memory);
    read_file(path, &before);
    if (checkpoint_load(path, &identity, &position, memory).exit) abort();
    checkpoint_save(path, &identity, &position, memory);
    read_file(path, &after);
    if (before.size != after.size || memcmp(before.at, after.at, before.size)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static char path[64];
    static Bytes whole, file;
    if (!*path) {
        char folder[] = "/dev/shm/fuzz-XXXXXX", memory[192] = {1, 2, 3};
        if (!mkdtemp(folder)) abort();
        snprintf(path, sizeof path, "%s/run.safetensors", folder);
        Position position = {.step = 23, .action = 1, .plateau = 0.5f, .averages = {.records = 30}};
        if (checkpoint_save(path, &identity, &position, memory).exit) abort();
        read_file(path, &whole);
    }
    if (!size) return 0;
    if (bytes[0] < 128) {
        put_value(&whole, bytes[0], bytes + 1, size - 1, &file);
    } else {
        file = whole;
        for (size_t i = 1; i + 2 < size; i += 3)
            file.at[(bytes[i] | bytes[i + 1] << 8) % file.size] = bytes[i + 2];
    }
    write_file(path, &file);
    load(path);
    return 0;
}
