/* What a run tells on standard error that is no terminal: the end of an epoch is told once. */
#include "runtime/progress.h"
#include "tests/runtime/test.h"

static const char path[] = "progress.txt";

static int lines_of(const char *name) {
    FILE *file = fopen(name, "r");
    int lines = 0;
    for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
    CHECK(file && !fclose(file), "no %s", name);
    return lines;
}

int main(void) {
    const int64_t second = 1000000000;
    const FlowFunction step = {0};
    const FlowTrain train = {.name = "fit", .step = &step};
    const Averages averages = {.records = 7};
    test_folder();
    CHECK(freopen(path, "w", stderr), "no %s", path);
    Progress progress = progress_new(PROGRESS_plain, &train, 1, 2);
    const int64_t start = progress.start;
    progress_start_epoch(&progress, 0);
    CHECK(!progress_is_due(&progress, 4, start + second), "too early");
    CHECK(progress_is_due(&progress, 0, start + 60 * second), "too late");
    progress_tell(&progress, (Standing){.batch = 1, .averages = &averages}, start + 60 * second);
    fflush(stderr);
    CHECK(lines_of(path) == 1, "%d lines in the middle", lines_of(path));
    progress_tell(&progress, (Standing){.batch = 2, .averages = &averages}, start + 120 * second);
    progress_end_epoch(&progress, (Standing){.batch = 2, .averages = &averages});
    fflush(stderr);
    CHECK(lines_of(path) == 2, "%d lines at the end", lines_of(path));
    test_folder_remove();
    return test_result();
}
