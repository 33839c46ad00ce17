/* program.h: while kernels run, the first thread asks for all lines that a frame names, some before
 * each kernel; others for none. */
#include "compiler/codegen/templates/program.h"

#include <stdio.h>

enum { KERNELS = 5 };

static FlowAsked asked;
static const char *seen[KERNELS];
static int calls, failed;

static void expect(bool holds, const char *what, int64_t size) {
    if (holds) return;
    failed++;
    printf("%s, of %lld bytes\n", what, (long long)size);
}

static void note(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)operands, (void)thread, (void)threads;
    seen[calls++] = asked.next;
}

/* Of the runtime, for a kernel that others have to come to. */
void flow_barrier(const FlowFrame *frame, int thread, int threads) {
    (void)frame, (void)thread, (void)threads;
}

static void run(int64_t size, int thread) {
    static const char memory[100 * FLOW_LINE];
    FlowCall kernels[KERNELS];
    for (int i = 0; i < KERNELS; i++) kernels[i] = (FlowCall){.kernel = note};
    asked = (FlowAsked){memory, memory + size};
    calls = 0;
    flow_run(&(FlowFrame){.asked = size ? &asked : NULL}, kernels, KERNELS, thread, 2);
    expect(calls == KERNELS, "not all kernels run", size);
}

static void check_first_thread(int64_t size) {
    run(size, 0);
    const int64_t most = size / KERNELS + 2 * FLOW_LINE;
    expect(asked.next >= asked.end, "some lines are not asked for", size);
    for (int i = 1; i < KERNELS; i++)
        expect(seen[i] - seen[i - 1] <= most, "many lines are asked for at once", size);
}

static void check_others(int64_t size) {
    run(size, 1);
    expect(asked.end - asked.next == size, "another thread asks", size);
}

int main(void) {
    for (int64_t size = 0; size <= 100 * FLOW_LINE; size += 100) check_first_thread(size);
    check_others(100 * FLOW_LINE);
    printf("asking: %s\n", failed ? "FAILED" : "passed");
    return failed != 0;
}
