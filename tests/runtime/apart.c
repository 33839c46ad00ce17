/* Apart: what works apart gives its bytes, fails with its own words, and however it ends, the one
 * who waits is told. */
#include "runtime/device/apart.h"
#include "runtime/interrupt.h"
#include "tests/runtime/test.h"

#include <signal.h>
#include <time.h>

enum { LARGE = 3 << 20 };

static ApartResult give(const void *context) {
    char *bytes = malloc(LARGE);
    memset(bytes, *(const char *)context, LARGE);
    return (ApartResult){.bytes = bytes, .size = LARGE};
}

static ApartResult refuse(const void *context) {
    return (ApartResult){.status = flow_failure(FLOW_EXIT_data, "%s", (const char *)context)};
}

static ApartResult hang(const void *context) {
    (void)context;
    for (;;) pause();
    return (ApartResult){0};
}

static ApartResult crash(const void *context) {
    (void)context;
    raise(SIGSEGV);
    return (ApartResult){0};
}

static ApartResult leave(const void *context) {
    (void)context;
    _exit(7);
}

/* More than it may have. */
static ApartResult grow(const void *context) {
    size_t size = (size_t)1 << 30;
    (void)context;
    volatile char *bytes = malloc(size);
    if (bytes) return (ApartResult){.bytes = (char *)bytes, .size = 1};
    return (ApartResult){.status = flow_failure(FLOW_EXIT_resource, "no memory")};
}

static ApartResult run(ApartWork *work, const char *context, int seconds) {
    Apart apart;
    FlowStatus status =
        apart_start(&apart, "the work", work, context, (ApartLimits){seconds, (size_t)256 << 20});
    CHECK(!status.exit, "%s", status.text);
    return apart_finish(&apart);
}

static void check_fails(ApartWork *work, int seconds, const char *text) {
    ApartResult made = run(work, "its own words", seconds);
    CHECK(made.status.exit && !made.bytes, "it gave something");
    CHECK_SAYS(made.status.text, text);
}

static void test_bytes(void) {
    ApartResult made = run(give, "x", 60);
    CHECK(!made.status.exit && made.size == LARGE, "%s", made.status.text);
    CHECK(made.bytes && made.bytes[0] == 'x' && made.bytes[LARGE - 1] == 'x', "other bytes");
    free(made.bytes);
}

static void test_ends(void) {
    check_fails(refuse, 60, "its own words");
    check_fails(hang, 1, "the work was stopped after 1 seconds");
    check_fails(crash, 60, "the work was ended by signal 11");
    check_fails(leave, 60, "the work gave up (exit code 7)");
}

/* Sanitizers have memory of their own. */
#ifdef __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static void test_memory(void) {
    if (!SANITIZED) check_fails(grow, 60, "no memory");
}

/* Several at once; the first is waited for last. */
static void test_several(void) {
    Apart apart[3];
    const ApartLimits limits = {60, (size_t)256 << 20};
    for (int i = 0; i < 3; i++) apart_start(&apart[i], "the work", give, &"abc"[i], limits);
    for (int i = 2; i >= 0; i--) {
        ApartResult made = apart_finish(&apart[i]);
        CHECK(made.bytes && made.bytes[0] == "abc"[i], "bytes of another one");
        free(made.bytes);
    }
}

static void test_interrupted(void) {
    interrupt_now();
    check_fails(hang, 60, "interrupted while the work");
}

int main(void) {
    test_bytes();
    test_ends();
    test_memory();
    test_several();
    test_interrupted();
    return test_result();
}
