/* What a run waits for, in plain words. */
#include "runtime/pace.h"
#include "tests/runtime/test.h"

static const int64_t ms = 1000000;

static void expect(Pace pace, Bottleneck bottleneck, const char *sink, const char *expected) {
    char text[512];
    pace_text(&pace, &bottleneck, sink, text, sizeof text);
    CHECK(!strcmp(text, expected), "`%s` is not `%s`", text, expected);
}

int main(void) {
    const Bottleneck jpeg = {.name = "decode_jpeg", .time = 14.2e6, .threads = 1};
    const Bottleneck map = {.name = "map", .time = 730, .threads = 2, .team = true};
    const Bottleneck disk = {.name = "tar", .time = 3e6, .threads = 1, .waits = true};
    char text[64];
    expect((Pace){.input = 380 * ms, .step = 620 * ms, .batches = 68}, jpeg, NULL,
           "input-bound 38 %: decode_jpeg 14.2 ms/batch on 1 thread, step 9.1 ms");
    expect((Pace){.input = 50 * ms, .step = 950 * ms, .batches = 1}, map, NULL,
           "step-bound 95 %: map 730 ns/batch on the step's 2 threads, step 950 ms");
    expect((Pace){.input = 60 * ms, .sink = 140 * ms, .batches = 10}, jpeg, "csv",
           "sink-bound 70 %: decode_jpeg 14.2 ms/batch on 1 thread, csv 14.0 ms");
    expect((Pace){.input = 90 * ms, .step = 10 * ms, .batches = 10}, disk, NULL,
           "input-bound 90 %: tar 3.0 ms/batch on 1 thread, step 1.0 ms; it waits more than it "
           "computes: more `@threads(n)` wait together");
    expect((Pace){.step = ms, .batches = 1}, (Bottleneck){0}, NULL,
           "step-bound 100 %: input, step 1.0 ms");
    expect((Pace){0}, (Bottleneck){0}, NULL, "nothing was waited for");
    pace_short(&(Pace){0}, NULL, text, sizeof text);
    CHECK(!*text, "`%s` about nothing", text);
    return test_result();
}
