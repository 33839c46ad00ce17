/* Test: checks that print what failed and go on. A test program ends with `return
 * test_result();`. */
#ifndef FLOW_TEST_H
#define FLOW_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int test_failures;

/* What the sanitizers have to know: libomp is not instrumented and keeps its thread tables;
 * tests of exhausted memory want malloc to fail rather than abort. */
__attribute__((used)) const char *__tsan_default_options(void);
__attribute__((used)) const char *__asan_default_options(void);
__attribute__((used)) const char *__lsan_default_suppressions(void);

const char *__tsan_default_options(void) {
    return "ignore_noninstrumented_modules=1:allocator_may_return_null=1";
}

const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

const char *__lsan_default_suppressions(void) {
    return "leak:libomp";
}

#define CHECK(condition, ...)                                          \
    do {                                                               \
        if (condition) break;                                          \
        test_failures++;                                               \
        printf("%s:%d: failed: %s: ", __FILE__, __LINE__, #condition); \
        printf(__VA_ARGS__);                                           \
        printf("\n");                                                  \
    } while (0)

/* Keeps the OpenMP tool for ThreadSanitizer out: it writes to standard error, and what it
 * would say about order our barriers say already. */
__attribute__((constructor)) static void test_without_openmp_tools(void) {
    setenv("OMP_TOOL", "disabled", 0);
}

/* The text has the part. */
#define CHECK_SAYS(text, part) CHECK(strstr(text, part), "`%s` does not say `%s`", text, part)

static inline int test_result(void) {
    return test_failures ? 1 : 0;
}

/* Makes an empty folder for the test's files and goes there. */
static inline void test_folder(void) {
    static char folder[] = "/tmp/flow-test-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder)) exit(99);
}

/* Removes what test_folder made. */
static inline void test_folder_remove(void) {
    char folder[256], command[300];
    if (!getcwd(folder, sizeof folder) || strncmp(folder, "/tmp/flow-test-", 15)) return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") || system(command)) printf("%s is left\n", folder);
}

static inline void write_test_file(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out)) exit(99);
}

/* The whole file, NUL-terminated; the caller frees it. NULL when there is none. */
static inline char *read_test_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    if (!in) return NULL;
    char *bytes = malloc(16 << 20);
    *size = fread(bytes, 1, (16 << 20) - 1, in);
    bytes[*size] = 0;
    fclose(in);
    return bytes;
}

static inline bool files_equal(const char *a, const char *b) {
    size_t a_size = 0, b_size = 0;
    char *a_bytes = read_test_file(a, &a_size), *b_bytes = read_test_file(b, &b_size);
    bool equal = a_bytes && b_bytes && a_size == b_size && !memcmp(a_bytes, b_bytes, a_size);
    free(a_bytes);
    free(b_bytes);
    return equal;
}

#endif
