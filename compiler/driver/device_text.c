/* Device text: each line that includes a file of flowc's becomes that file, wherever it stands:
 * guards in the files do the rest. Files of the system's stay included: only the stand-in for a GPU
 * reads those lines. */
#include "compiler/driver/device_text.h"

#include "compiler/driver/files.h"
#include "compiler/driver/toolchain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A file, and the one that includes it. */
typedef struct Included {
    const char *name, *text;
    const struct Included *by; /* NULL: none does */
} Included;

typedef struct Expanding {
    Arena *arena;
    const Home *home;
    Text text;
} Expanding;

/* The name in a line `#include "name"`; NULL: it is another line. */
static const char *included_name(Arena *arena, const char *line, size_t size) {
    const char *end = line + size;
    line += strspn(line, " \t");
    if (*line++ != '#') return NULL;
    line += strspn(line, " \t");
    if (strncmp(line, "include", 7)) return NULL;
    line += 7 + strspn(line + 7, " \t");
    if (*line++ != '"') return NULL;
    const char *quote = memchr(line, '"', (size_t)(end - line));
    return quote ? arena_copy(arena, line, (size_t)(quote - line)) : NULL;
}

static const char *find_text(const Expanding *expanding, const char *name) {
    size_t size;
    const char *text = NULL;
    for (int i = 0; include_folders[i] && !text; i++) {
        const char *path = arena_format(expanding->arena, "%s%s/%s", expanding->home->share,
                                        include_folders[i], name);
        text = file_read(expanding->arena, path, &size);
    }
    if (!text)
        fprintf(stderr, "flowc: %s, in %s: %s\n", name, expanding->home->share, strerror(errno));
    return text;
}

/* A file inside itself would be empty, by its guard. */
static bool is_inside(const Included *file, const char *name) {
    for (; file; file = file->by)
        if (!strcmp(file->name, name)) return true;
    return false;
}

static bool expand(Expanding *expanding, const Included *file);

static bool include(Expanding *expanding, const Included *by, const char *name, int line) {
    if (is_inside(by, name)) return true;
    const Included file = {name, find_text(expanding, name), by};
    if (!file.text) return false;
    text_format(&expanding->text, "#line 1 \"%s\"\n", name);
    bool good = expand(expanding, &file);
    text_format(&expanding->text, "#line %d \"%s\"\n", line + 1, by->name);
    return good;
}

static bool expand(Expanding *expanding, const Included *file) {
    bool good = true;
    int line = 1;
    for (const char *at = file->text; *at && good; line++) {
        size_t size = strcspn(at, "\n");
        const char *name = included_name(expanding->arena, at, size);
        if (name) good = include(expanding, file, name, line);
        else text_add_bytes(&expanding->text, at, size), text_add(&expanding->text, "\n");
        at += size + (at[size] == '\n');
    }
    return good;
}

/* As a string of C, a line each. */
static void add_string(Text *text, const char *string) {
    for (const char *c = string; *c; c++) {
        if (c == string || c[-1] == '\n') text_add(text, "    \"");
        if (*c == '\n') text_add(text, "\\n\"\n");
        else if (*c == '"' || *c == '\\' || *c == '?') text_format(text, "\\%c", *c);
        else if (*c < ' ' || *c > '~') text_format(text, "\\%03o", (unsigned)(unsigned char)*c);
        else text_add_bytes(text, c, 1);
    }
}

static GeneratedFile *find_file(const Generated *generated, const char *name) {
    vector_each(GeneratedFile, file, generated->files)
        if (!strcmp(file->name, name)) return file;
    return NULL;
}

/* As a string of C, of which any byte may follow any other. */
static void add_bytes(Text *text, const char *bytes, size_t size) {
    enum { IN_A_LINE = 24 };
    for (size_t i = 0; i < size; i++)
        text_format(text, "%s\\%03o%s", i % IN_A_LINE ? "" : "    \"",
                    (unsigned)(unsigned char)bytes[i],
                    i % IN_A_LINE == IN_A_LINE - 1 || i + 1 == size ? "\"\n" : "");
}

/* Drivers want code to be aligned. */
static void add_images(Text *text, DeviceImages images) {
    text_add(text, "#include \"runtime/device/launch.h\"\n\n");
    for (int i = 0; i < images.count; i++) {
        text_format(text, "static const char image_%d[] __attribute__((aligned(64))) =\n", i);
        add_bytes(text, images.items[i].image.bytes, images.items[i].image.size);
        text_add(text, "    ;\n\n");
    }
    text_add(text, "__attribute__((weak)) const FlowDeviceImage flow_device_images[] = {\n");
    for (int i = 0; i < images.count; i++)
        text_format(text, "    {%d, %s, image_%d},\n", images.items[i].capability,
                    images.items[i].is_ptx ? "true" : "false", i);
    text_add(text, "    {0},\n};\n\n");
}

/* A program has one of it, for all kinds of processors. */
void add_device_text(Arena *arena, Generated *generated, const char *string, DeviceImages images) {
    Text text = text_new(arena);
    text_add(&text, "/* What is compiled for GPUs, program.cu and what it includes; and what it "
                    "was compiled to. */\n");
    add_images(&text, images);
    text_add(&text, "__attribute__((weak)) const char flow_device_text[] =\n");
    add_string(&text, string);
    text_add(&text, "    ;\n");
    vector_push(arena, &generated->files, (GeneratedFile){"device_text.c", text_string(&text)});
    vector_push(arena, &generated->units, (CodeUnit){"device_text.c", text.size / TABLE_BYTES});
    GeneratedFile *list = find_file(generated, "units.mk");
    if (list) list->text = arena_format(arena, "%sUNITS += device_text.c\n", list->text);
}

bool has_device_text(const Generated *generated) {
    return find_file(generated, "program.cu") != NULL;
}

const char *device_text(Arena *arena, const Home *home, const Generated *generated) {
    const GeneratedFile *kernels = find_file(generated, "program.cu");
    Expanding expanding = {arena, home, text_new(arena)};
    const Included file = {kernels->name, kernels->text, NULL};
    return expand(&expanding, &file) ? text_string(&expanding.text) : NULL;
}
