/* Gpu train: the small program, with its weights on a GPU between steps (lib/gpu_stub.c): what is
 * saved, resumed and evaluated is what it is without one; a GPU that fails ends the run and leaves
 * the file as it was. */
#include "runtime/device/launch.h"
#include "tests/runtime/digits.h"
#include "tests/runtime/linear.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { COUNT = 1000, TEST_COUNT = 120, CPU = -1, STATE = OUTPUTS * INPUTS * 4 };

static void go(FlowKernel *kernel, const FlowFrame *frame, size_t place, int device) {
    kernel(frame, (const int64_t[]){(int64_t)place, STATE, device}, 0, 1);
}

/* What the CPU has of them afterwards is of no use. */
static void leave_on_gpu(const FlowFrame *frame, size_t place) {
    static const FlowDeviceKernel add = {"add", 256, 3, 0, 0, NULL};
    go(flow_gpu_owns, frame, place, CPU);
    go(flow_gpu_need, frame, place, 0);
    flow_launch(frame, &add, (const int64_t[]){(int64_t)place, 0, 0}, 1);
    go(flow_gpu_owns, frame, place, 0);
    memset(frame->memory + place, 0xff, STATE);
}

static void initialise(const FlowFrame *frame, int thread, int threads) {
    linear_initialise(frame, thread, threads);
    if (thread) return;
    leave_on_gpu(frame, W);
    leave_on_gpu(frame, MOMENTUM);
}

static void step(const FlowFrame *frame, int thread, int threads) {
    if (!thread) {
        flow_gpu_begin(frame, (const int64_t[]){0, CPU, 0}, 0, 1);
        go(flow_gpu_need, frame, W, CPU);
        go(flow_gpu_need, frame, MOMENTUM, CPU);
    }
    flow_barrier(frame, thread, threads);
    linear_step(frame, thread, threads);
    flow_barrier(frame, thread, threads);
    if (thread) return;
    leave_on_gpu(frame, W);
    leave_on_gpu(frame, MOMENTUM);
    flow_gpu_end(frame, NULL, 0, 1);
}

static void evaluate(const FlowFrame *frame, int thread, int threads) {
    if (!thread) go(flow_gpu_need, frame, W, CPU);
    flow_barrier(frame, thread, threads);
    linear_evaluate(frame, thread, threads);
}

static const FlowFunction initialise_function = {
    "initialise", initialise, linear_seed_input, 1, NULL, 0, NULL, NULL, 0, false};
static const FlowFunction step_function = {
    "step", step, linear_step_inputs, 5, linear_results, 2, NULL, NULL, 0, false};
static const FlowFunction evaluate_function = {
    "evaluate", evaluate, linear_step_inputs, 2, linear_results, 2, NULL, NULL, 0, false};

static FlowAction actions[3];
static FlowTrain train;
static FlowProgram program;

static void make_program(void) {
    memcpy(actions, linear_actions, sizeof actions);
    actions[1].function = &evaluate_function;
    train = linear_trains[0];
    train.initialise = &initialise_function;
    train.step = &step_function;
    train.actions = actions;
    program = linear_program;
    program.trains = &train;
    program.device_text = "add";
    program.gpu_count = 1;
}

static void redirect(int descriptor, const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(99);
    close(file);
}

static int run(const FlowProgram *what, const char *fault, const char *first, const char *second) {
    int status;
    char *arguments[] = {"linear", (char *)first, (char *)second, NULL};
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        redirect(STDOUT_FILENO, "stdout");
        redirect(STDERR_FILENO, "stderr");
        if (fault) setenv("GPU_STUB", fault, 1);
        exit(flow_main(3, arguments, what));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *text_of(const char *path) {
    static char *text;
    size_t size;
    free(text);
    return text = read_test_file(path, &size);
}

static void same_as_without(void) {
    CHECK(!run(&linear_program, NULL, "--threads=1", "--workers=0"), "%s", text_of("stderr"));
    rename("linear.safetensors", "expected");
    rename("stdout", "expected.out");
    CHECK(!run(&program, NULL, "--threads=2", "--workers=0"), "%s", text_of("stderr"));
    CHECK(files_equal("linear.safetensors", "expected"), "another file");
    CHECK(files_equal("stdout", "expected.out"), "it says %s", text_of("stdout"));
}

static void resumes(void) {
    CHECK(!run(&program, NULL, "--epochs=1", "--workers=0"), "%s", text_of("stderr"));
    CHECK(!run(&program, NULL, "--resume", "--workers=0"), "%s", text_of("stderr"));
    CHECK(files_equal("linear.safetensors", "expected"), "another file");
}

static void faults(void) {
    int code = run(&program, "launch", "--workers=0", "--threads=1");
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of("stderr"), "gpu(0), Stub 0, can't launch the kernel `add`: a fault (701)");
    CHECK(files_equal("linear.safetensors", "expected"), "the file is another one");
    code = run(&program, "late", "--workers=0", "--threads=1"); /* behind step 19, two saves */
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of("stderr"), "can't launch the kernel `add`: a fault (700)");
    CHECK(!run(&program, NULL, "--resume", "--workers=0"), "%s", text_of("stderr"));
    CHECK(files_equal("linear.safetensors", "expected"), "another file");
    code = run(&program, "init", "--workers=0", "--threads=1");
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of("stderr"), "`linear` computes on a GPU: the NVIDIA driver can't start");
}

int main(int count, char **arguments) {
    (void)count;
    char *full = realpath(arguments[0], NULL), stub[1024];
    *strrchr(full, '/') = 0;
    snprintf(stub, sizeof stub, "%.1000s/../libgpustub.so", full);
    free(full);
    setenv("FLOWC_LIBCUDA", stub, 1);
    setenv("FLOWC_LIBNVRTC", stub, 1);
    setenv("FLOWC_TUNE", "off", 1);
    test_folder();
    char cache[256];
    setenv("XDG_CACHE_HOME", getcwd(cache, sizeof cache), 1);
    make_program();
    write_digits("images.gz", "labels.gz", COUNT);
    write_digits("test-images.gz", "test-labels.gz", TEST_COUNT);
    same_as_without();
    resumes();
    faults();
    test_folder_remove();
    return test_result();
}
