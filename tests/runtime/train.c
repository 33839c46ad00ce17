/* Train: whole runs of a small program through flow_main, each in a process of its own.
 * What matters most: the same bytes for any number of threads and workers, and after any
 * interruption. */
#include "tests/runtime/digits.h"
#include "tests/runtime/linear.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { COUNT = 1000, TEST_COUNT = 120, LARGEST = 1 << 16, ARGUMENTS = 16, KILLS = 10 };

/* Where the outputs of the last run are. */
static const char out_path[] = "stdout", error_path[] = "stderr";

static void redirect(int descriptor, const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(99);
    close(file);
}

static pid_t start_program(const FlowProgram *program, const char *pause, const char *out,
                           char **arguments) {
    int count = 0;
    while (arguments[count]) count++;
    fflush(stdout);
    pid_t child = fork();
    if (child) return child;
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, error_path);
    if (pause) setenv("LINEAR_PAUSE", pause, 1);
    exit(flow_main(count, arguments, program));
}

static int wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define ARGUMENTS(...) ((char *[]){"linear", __VA_ARGS__, NULL})

static int run(char **arguments) {
    return wait_for(start_program(&linear_program, NULL, out_path, arguments));
}

/* The text of one of the outputs, until the next call. */
static const char *text_of(const char *path) {
    static char *text;
    size_t size;
    free(text);
    return text = read_test_file(path, &size);
}

static void expect(int code, char **arguments, const char *says) {
    int found = run(arguments);
    CHECK(found == code, "%s ends with %d: %s", arguments[1], found, text_of(error_path));
    CHECK_SAYS(text_of(error_path), says);
}

/* The result that all other runs are compared with. */
static void undisturbed(void) {
    CHECK(run(ARGUMENTS("--threads=1", "--workers=0")) == 0, "%s", text_of(error_path));
    rename("linear.safetensors", "expected");
    const char *out = text_of(out_path);
    int lines = 0;
    for (const char *c = out; *c; c++) lines += *c == '\n';
    CHECK(lines == 3, "three evaluations are expected: %s", out);
    CHECK_SAYS(out, "evaluate digits: loss=0.");
    CHECK_SAYS(out, " accuracy=0.");
    CHECK_SAYS(text_of(error_path), "epoch 3/3: loss=0.");
    CHECK_SAYS(text_of(error_path), "fit: 0.");
    rename(out_path, "expected-out");
}

static void check_result(const char *what) {
    CHECK(files_equal("linear.safetensors", "expected"), "%s: the weights differ", what);
}

static void same_for_any_threads(void) {
    static char *const threads[] = {"--threads=1", "--threads=2", "--threads=3"};
    static char *const workers[] = {"--workers=0", "--workers=1", "--workers=3"};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            unlink("linear.safetensors");
            CHECK(run(ARGUMENTS(threads[i], workers[j])) == 0, "%s", text_of(error_path));
            check_result(workers[j]);
            CHECK(files_equal(out_path, "expected-out"), "%s %s: the evaluations differ",
                  threads[i], workers[j]);
        }
}

static void reads_beside_the_program(void) {
    mkdir("data", 0700);
    rename("images.gz", "data/images.gz");
    CHECK(run(ARGUMENTS("--progress=off")) == 0, "%s", text_of(error_path));
    check_result("data folder");
    CHECK(!*text_of(error_path), "%s", text_of(error_path));
    rename("data/images.gz", "images.gz");
}

/* Waits until the run has saved something, then for a random while. */
static void wait_a_while(unsigned microseconds) {
    for (int i = 0; i < 5000 && access("linear.safetensors", F_OK); i++) usleep(1000);
    usleep(microseconds);
}

static void kill_and_resume(void) {
    unlink("linear.safetensors");
    srand((unsigned)time(NULL));
    for (int i = 0; i < KILLS; i++) {
        pid_t child = start_program(&linear_program, "2000", out_path,
                                    ARGUMENTS("--resume", i % 2 ? "--workers=2" : "--workers=0"));
        wait_a_while((unsigned)rand() % 40000);
        kill(child, SIGKILL);
        int code = wait_for(child);
        CHECK(code == 128 + SIGKILL || code == 0, "%d: %s", code, text_of(error_path));
    }
    CHECK(run(ARGUMENTS("--resume")) == 0, "%s", text_of(error_path));
    check_result("after kills");
}

static void interrupt_and_resume(int number, char *workers) {
    unlink("linear.safetensors");
    pid_t child = start_program(&linear_program, "20000", out_path, ARGUMENTS(workers));
    wait_a_while(11000);
    kill(child, number);
    int code = wait_for(child);
    CHECK(code == FLOW_EXIT_interrupted, "%d: %s", code, text_of(error_path));
    CHECK_SAYS(text_of(error_path), "saved to linear.safetensors; --resume goes on");
    CHECK(run(ARGUMENTS("--resume")) == 0, "%s", text_of(error_path));
    check_result("after a signal");
}

static void two_signals_end_at_once(void) {
    pid_t child =
        start_program(&linear_program, "3000000", out_path, ARGUMENTS("--progress=plain"));
    usleep(300000);
    kill(child, SIGINT);
    usleep(50000);
    kill(child, SIGINT);
    int code = wait_for(child);
    CHECK(code == 128 + SIGINT, "%d", code);
}

static void resumes_from_nothing_and_from_the_end(void) {
    unlink("linear.safetensors");
    expect(0, ARGUMENTS("--resume"),
           "linear.safetensors does not exist yet: starting from the beginning");
    check_result("resumed from nothing");
    expect(0, ARGUMENTS("--resume"), "training is complete after 96 steps");
    check_result("resumed from the end");
    CHECK(run(ARGUMENTS("--epochs=1", "--save=half")) == 0, "%s", text_of(error_path));
    expect(0, ARGUMENTS("--resume=half"), "note: half was saved with --epochs=1, this run has 3");
    check_result("resumed with more epochs");
    CHECK(run(ARGUMENTS("--epochs=1", "--rate=0.3", "--save=half")) == 0, "%s",
          text_of(error_path));
    expect(0, ARGUMENTS("--resume=half"), "was saved with --rate=0.3, this run has 0.01");
    expect(3, ARGUMENTS("--save=/dev/full"), "/dev/full: cannot be written: it is no regular file");
    CHECK(!strstr(text_of(error_path), "epoch"), "it was trained: %s", text_of(error_path));
}

static void refuses_other_records(void) {
    expect(1, ARGUMENTS("--resume", "--seed=6"),
           "linear.safetensors: cannot be resumed: its seed is 5, this run's is 6");
    expect(1, ARGUMENTS("--resume=images.gz"), "images.gz: not a sound safetensors file");
    size_t size;
    char *bytes = read_test_file("expected", &size);
    bytes[size - 9] ^= 1;
    write_test_file("damaged", bytes, size);
    free(bytes);
    expect(1, ARGUMENTS("--resume=damaged"), "damaged: cannot be resumed: its checksum is wrong");
}

static void full_disk(void) {
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit){600, old.rlim_max}; /* less than a record, more than a message */
    rename("linear.safetensors", "kept");
    CHECK(run(ARGUMENTS("--epochs=1")) == 0, "%s", text_of(error_path));
    rename("linear.safetensors", "before");
    write_test_file("linear.safetensors", "old", 3);
    setrlimit(RLIMIT_FSIZE, &limit);
    /* more threads would start libomp, which writes 1024 bytes into shared memory */
    int code = run(ARGUMENTS("--progress=off", "--threads=1"));
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of(error_path),
               "linear: error: linear.safetensors: cannot be written: File too large");
    CHECK(!strcmp(text_of("linear.safetensors"), "old"), "the old record has changed");
    CHECK(access("linear.safetensors.tmp", F_OK), "the temporary file is left");
    rename("kept", "linear.safetensors");
}

static void two_trainers(void) {
    pid_t child = start_program(&linear_program, "30000", "other-out", ARGUMENTS("--progress=off"));
    for (int i = 0; i < 5000 && access("linear.safetensors.lock", F_OK); i++) usleep(1000);
    usleep(20000);
    expect(3, ARGUMENTS("--progress=off"),
           "linear.safetensors: another process is writing this file");
    CHECK(wait_for(child) == 0, "the first trainer failed");
    CHECK(access("linear.safetensors.lock", F_OK), "the lock is left");
}

static void standard_output_is_gone(void) {
    int ends[2];
    char path[32];
    if (pipe(ends)) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        redirect(STDERR_FILENO, error_path);
        close(ends[0]);
        close(ends[1]);
        while (poll(&(struct pollfd){.fd = STDOUT_FILENO}, 1, 1000) == 0) continue;
        exit(flow_main(2, ARGUMENTS("--progress=off"), &linear_program));
    }
    close(ends[0]);
    close(ends[1]);
    int code = wait_for(child);
    CHECK(code == FLOW_EXIT_interrupted, "%d", code);
    CHECK(!*text_of(error_path), "%s", text_of(error_path));
    child = start_program(&linear_program, NULL, "/dev/full", ARGUMENTS("--progress=off"));
    code = wait_for(child);
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of(error_path), "standard output: No space left on device");
}

static void bad_label(void) {
    static unsigned char images[LARGEST], labels[LARGEST];
    make_images(images, COUNT);
    size_t size = make_labels(labels, images, COUNT);
    labels[LABEL_HEADER + 123] = 11;
    rename("labels.gz", "good-labels.gz");
    write_gzip("labels.gz", labels, size);
    const char *says =
        "linear: error: labels.gz: record 123: `y` must lie in 0..4, but is 11 (linear.flow:19)";
    expect(1, ARGUMENTS("--threads=1", "--workers=0"), says);
    expect(1, ARGUMENTS("--threads=2", "--workers=0"), says);
    expect(1, ARGUMENTS("--threads=1", "--workers=2"), says);
    rename("good-labels.gz", "labels.gz");
}

static void missing_data(void) {
    rename("test-images.gz", "moved.gz");
    expect(1, ARGUMENTS("--progress=off"),
           "test-images.gz: no such file, nor is there data/test-images.gz");
    rename("moved.gz", "test-images.gz");
}

static void loss_is_nan(void) {
    write_test_file("nan.safetensors", "old", 3);
    expect(1, ARGUMENTS("--nan_step=39", "--save=nan.safetensors"),
           "loss is nan at step 40 (epoch 2)");
    expect(1, ARGUMENTS("--nan-step", "0", "--save=nan.safetensors"),
           "loss is nan at step 1 (epoch 1)");
}

static void no_memory(void) {
    FlowProgram program = linear_program;
    program.memory_size = (size_t)1 << 60;
    int code = wait_for(start_program(&program, NULL, out_path, ARGUMENTS("--progress=off")));
    CHECK(code == FLOW_EXIT_resource, "%d", code);
    CHECK_SAYS(text_of(error_path), "no memory");
}

static void command_line(void) {
    expect(2, ARGUMENTS("--ephocs=3"), "unknown option --ephocs; did you mean --epochs?");
    expect(2, ARGUMENTS("--zzzzzzzzzzz"), "unknown option --zzzzzzzzzzz; --help lists them");
    expect(2, ARGUMENTS("--epochs=1.5"), "--epochs: `1.5` is not a whole number");
    expect(2, ARGUMENTS("--epochs=-1"), "epochs is -1; it must be a whole number, at least 0");
    expect(2, ARGUMENTS("--epochs"), "--epochs needs a value");
    expect(2, ARGUMENTS("--rate=inf"), "--rate: `inf` is not a number");
    expect(2, ARGUMENTS("--rate", "1x"), "--rate: `1x` is not a number");
    expect(2, ARGUMENTS("--batch-size=3"),
           "--batch_size was fixed at 32 when this program was built");
    expect(2, ARGUMENTS("--seed=99999999999999999999"),
           "is not a whole number from 0 to 9007199254740");
    expect(2, ARGUMENTS("--threads=0"), "--threads: `0` is not a whole number from 1 to 1024");
    expect(2, ARGUMENTS("--progress=loud"), "not one of auto, plain, off");
    expect(2, ARGUMENTS("--help=x"), "--help takes no value");
    expect(2, ARGUMENTS("fot"), "there is no train block `fot`; there are: fit");
    expect(2, ARGUMENTS("fit", "fit"), "unexpected argument `fit`");
    CHECK(run(ARGUMENTS("--help")) == 0, "%s", text_of(error_path));
    CHECK_SAYS(text_of(out_path), "  --rate=X               learning rate (default: 0.01)");
    CHECK_SAYS(text_of(out_path), "(32, fixed when built)");
    CHECK(run(ARGUMENTS("--version")) == 0, "%s", text_of(error_path));
    CHECK_SAYS(text_of(out_path), "linear 0123abcd");
}

static void several_trains(void) {
    FlowProgram program = linear_program;
    program.train_count = 2;
    CHECK(wait_for(start_program(&program, NULL, out_path, ARGUMENTS("--epochs=1"))) == 2,
          "no name");
    CHECK_SAYS(text_of(error_path), "which train block is to run? There are: fit, again");
    CHECK(wait_for(start_program(&program, NULL, out_path, ARGUMENTS("again"))) == 0, "%s",
          text_of(error_path));
    CHECK(!*text_of(out_path), "nothing is to be evaluated");
}

/* The library's scores are those of the weights that were saved. */
static void library(void) {
    FlowLibrary *library;
    float x[INPUTS], scores[OUTPUTS];
    for (int i = 0; i < INPUTS; i++) x[i] = (float)i / INPUTS;
    FlowStatus status = flow_library_create(&linear_library, NULL, "expected", &library);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    flow_library_run(library, 0, NULL, (const void *[]){x}, (void *[]){scores});
    size_t size;
    char *bytes = read_test_file("expected", &size);
    const float *w = (const float *)(bytes + size - 2 * sizeof(float) * OUTPUTS * INPUTS);
    for (int j = 0; j < OUTPUTS; j++) {
        float sum = 0;
        for (int i = 0; i < INPUTS; i++) sum += w[j * INPUTS + i] * x[i];
        CHECK(sum == scores[j], "output %d: %g, not %g", j, (double)scores[j], (double)sum);
    }
    free(bytes);
    flow_library_destroy(library);
    status = flow_library_create(&linear_library, NULL, "images.gz", &library);
    CHECK(status.exit == FLOW_EXIT_data && !library, "%s", status.text);
}

int main(void) {
    setenv("FLOWC_TUNE", "off", 1); /* files are compared to the byte */
    test_folder();
    write_digits("images.gz", "labels.gz", COUNT);
    write_digits("test-images.gz", "test-labels.gz", TEST_COUNT);
    undisturbed();
    same_for_any_threads();
    reads_beside_the_program();
    kill_and_resume();
    interrupt_and_resume(SIGINT, "--workers=0");
    interrupt_and_resume(SIGTERM, "--workers=2");
    interrupt_and_resume(SIGHUP, "--workers=1");
    two_signals_end_at_once();
    resumes_from_nothing_and_from_the_end();
    refuses_other_records();
    full_disk();
    two_trainers();
    standard_output_is_gone();
    bad_label();
    missing_data();
    loss_is_nan();
    no_memory();
    command_line();
    several_trains();
    library();
    test_folder_remove();
    return test_result();
}
