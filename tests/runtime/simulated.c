/* Simulated GPU: kernels of tests/device, each launched with several seeds. Where there is x.fault,
 * one of its lines is what a launch says, * for what depends on the order of threads; else all of
 * them go well, and what they give is right.
 *
 * The first line of a text says how it is launched: "kernel, 2 blocks of 64 threads, memory 256
 * -256": an allocation for each operand; of so many bytes that are never written where negative;
 * 0: the one before, freed. */
#include "runtime/clock.h"
#include "runtime/device/simulated.h"
#include "tests/runtime/test.h"

#include <dlfcn.h>
#include <glob.h>

enum { SEEDS = 8, OPERANDS = 3, FAULT = 512, MORE = 1024 /* bytes that a launch adds */ };

typedef struct Case {
    char kernel[64];
    long long blocks, sizes[OPERANDS];
    int threads, operands;
    char *faults; /* or NULL */
} Case;

/* As templates/cuda.h has it, and larger: kernels copy what they know of it. */
typedef union Arguments {
    _Alignas(64) char bytes[8192];
    int64_t words[1024];
} Arguments;

static void *library;
static int64_t operands_offset, maps_offset; /* in bytes */

static bool matches(const char *pattern, const char *text) {
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*') {
            for (; *text; text++)
                if (matches(pattern + 1, text)) return true;
            return matches(pattern + 1, text);
        }
        if (*pattern != *text) return false;
    }
    return !*text;
}

static bool is_one_of(const char *patterns, const char *text) {
    char line[FAULT];
    for (; *patterns; patterns += strcspn(patterns, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(patterns, "\n"), patterns);
        if (matches(line, text)) return true;
    }
    return false;
}

static Case read_case(const char *path) {
    Case found = {0};
    size_t size;
    int used = 0;
    char *text = read_test_file(path, &size), name[300];
    if (sscanf(text, "/* %63[^,], %lld blocks of %d threads, memory%n", found.kernel, &found.blocks,
               &found.threads, &used) != 3)
        CHECK(false, "%s does not say how it is launched", path);
    for (char *at = text + used; *at == ' ' && found.operands < OPERANDS;)
        found.sizes[found.operands++] = strtoll(at, &at, 10);
    free(text);
    snprintf(name, sizeof name, "%.*sfault", (int)strlen(path) - 2, path);
    found.faults = read_test_file(name, &size);
    return found;
}

/* Operands. */

/* Values of the first operands: small whole numbers. */
static float value_of(int operand, size_t i) {
    return (float)((i * 7 + (size_t)operand * 3) % 11) - 4;
}

static void *make_operand(const Case *given, int operand) {
    size_t size = (size_t)llabs(given->sizes[operand]);
    void *address = flow_simulated_allocate(size);
    float *host = flow_simulated_host(address, size);
    for (size_t i = 0; given->sizes[operand] > 0 && i < size / 4; i++)
        host[i] = value_of(operand, i);
    flow_simulated_mark(address, size, given->sizes[operand] > 0);
    return address;
}

static void make_operands(const Case *given, void **operands) {
    for (int i = 0; i < given->operands; i++) {
        operands[i] = given->sizes[i] ? make_operand(given, i) : operands[i - 1];
        if (!given->sizes[i])
            CHECK(flow_simulated_free(operands[i]), "%s: not freed", given->kernel);
    }
}

static void free_operands(const Case *given, void **operands) {
    for (int i = 0; i < given->operands; i++) flow_simulated_free(operands[i]);
}

/* What right kernels give. */

static double sum_of(int operand, size_t first, size_t count, size_t limit) {
    double sum = 0;
    for (size_t i = first; i < first + count && i < limit; i++) sum += value_of(operand, i);
    return sum;
}

static double product_of(size_t row, size_t column) {
    double sum = 0;
    for (size_t k = 0; k < 40; k++)
        sum += (double)value_of(0, row * 40 + k) * value_of(1, k * 24 + column);
    return sum;
}

static double wanted_of(const Case *given, size_t i) {
    if (!strcmp(given->kernel, "block_sum")) return sum_of(0, i * 256, 256, 2000);
    if (!strcmp(given->kernel, "warp_sum")) return sum_of(0, i * 32, 32, 2000);
    return product_of(i / 24, i % 24);
}

static void check_values(const Case *given, void **operands) {
    size_t size = (size_t)llabs(given->sizes[given->operands - 1]);
    const float *found = flow_simulated_host(operands[given->operands - 1], size);
    if (!strcmp(given->kernel, "least")) {
        CHECK(*(const int64_t *)(const void *)found == -6, "least");
        return;
    }
    if (is_one_of("wrong_fragment\ngroup_not_awaited\ngroup_swizzle\nring_swizzle\n",
                  given->kernel)) {
        size_t same = 0;
        while (same < size / 4 && found[same] == wanted_of(given, same)) same++;
        CHECK(same < size / 4, "%s gives what is right", given->kernel);
        return;
    }
    for (size_t i = 0; i < size / 4; i++)
        CHECK(found[i] == wanted_of(given, i), "%s: element %zu is %g, not %g", given->kernel, i,
              found[i], wanted_of(given, i));
}

/* Launching. */

/* See tests/device/ring_product.h. */
static void map_operands(void **operands, Arguments *arguments) {
    const FlowSimulatedTensor tensors[] = {
        {(uintptr_t)operands[0], {80, 40}, {160}, 2, {64, 64}, 2},
        {(uintptr_t)operands[1], {48, 79}, {48}, 2, {64, 64}, 2},
    };
    for (int i = 0; i < 2; i++) {
        char *map = arguments->bytes + maps_offset + i * 128;
        CHECK(flow_simulated_map((FlowTensorMap *)(void *)map, &tensors[i]), "tensor %d", i);
    }
}

static int more = MORE;

static bool launch(const Case *given, void **operands, char *fault) {
    const FlowSimulatedShape shape = {given->blocks, 1, given->threads, more};
    Arguments arguments = {0};
    FlowSimulatedKernel *kernel = (FlowSimulatedKernel *)dlsym(library, given->kernel);
    CHECK(kernel, "there is no kernel %s", given->kernel);
    memcpy(arguments.bytes + operands_offset, operands, OPERANDS * sizeof *operands);
    if (!strncmp(given->kernel, "ring_", 5)) map_operands(operands, &arguments);
    return kernel && flow_simulate_shape(kernel, given->kernel, (const FlowArguments *)&arguments,
                                         shape, fault, FAULT);
}

static void run_case(const Case *given, uint64_t seed) {
    void *operands[OPERANDS] = {0};
    char fault[FAULT] = "";
    flow_simulation_set((FlowSimulation){.seed = seed, .checks = FLOW_CHECKS_all});
    make_operands(given, operands);
    bool good = launch(given, operands, fault);
    CHECK(good == !given->faults, "%s, seed %d: `%s`", given->kernel, (int)seed, fault);
    if (!good && given->faults)
        CHECK(is_one_of(given->faults, fault), "%s, seed %d: `%s`", given->kernel, (int)seed,
              fault);
    if (good && !given->faults) check_values(given, operands);
    free_operands(given, operands);
}

/* Under ThreadSanitizer a fault of the process is not taken for the kernel's. */
static bool is_possible(const Case *given) {
#if defined __has_feature
#if __has_feature(thread_sanitizer)
    return strcmp(given->kernel, "by_itself") && strcmp(given->kernel, "deep");
#endif
#endif
    return *given->kernel;
}

static void all_cases(void) {
    glob_t found;
    CHECK(!glob("tests/device/*.cu", 0, NULL, &found) && found.gl_pathc > 20, "no kernels");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        Case given = read_case(found.gl_pathv[i]);
        for (uint64_t seed = 0; seed < SEEDS && is_possible(&given); seed++) run_case(&given, seed);
        free(given.faults);
    }
    globfree(&found);
}

/* Fewer checks find less, and right kernels stay right. */
static void fewer_checks(void) {
    Case right = read_case("tests/device/product.cu");
    Case race = read_case("tests/device/blocks_race.cu");
    Case overrun = read_case("tests/device/shared_overrun.cu");
    for (int checks = FLOW_CHECKS_none; checks < FLOW_CHECKS_all; checks++) {
        void *operands[OPERANDS] = {0};
        char fault[FAULT] = "";
        flow_simulation_set((FlowSimulation){.seed = 3, .checks = checks});
        make_operands(&right, operands);
        CHECK(launch(&right, operands, fault), "%s", fault);
        check_values(&right, operands);
        CHECK(launch(&race, operands, fault), "%s", fault);
        if (checks == FLOW_CHECKS_bounds)
            CHECK(!launch(&overrun, operands, fault), "bounds are not checked");
        free_operands(&right, operands);
    }
    free(race.faults);
    free(overrun.faults);
}

/* A block has 227 KiB in all, of which this kernel's own arrays take 20. */
static void shared_beside(void) {
    Case given = read_case("tests/device/group_product.cu");
    void *operands[OPERANDS] = {0};
    char fault[FAULT] = "";
    flow_simulation_set((FlowSimulation){.seed = 3, .checks = FLOW_CHECKS_all});
    make_operands(&given, operands);
    more = (227 - 20) << 10;
    CHECK(launch(&given, operands, fault), "%s", fault);
    more += 16;
    CHECK(!launch(&given, operands, fault), "there is not so much shared memory");
    CHECK_SAYS(fault, "bytes of shared memory, of which a block has");
    more = MORE;
    free_operands(&given, operands);
}

/* Memory of the process, and none at all. */
static void other_memory(void) {
    Case given = read_case("tests/device/warp_sum.cu");
    float *a = calloc(2000, sizeof *a), *y = calloc(64, sizeof *y);
    void *operands[OPERANDS] = {a, y};
    char fault[FAULT] = "";
    flow_simulation_set((FlowSimulation){.seed = 3, .checks = FLOW_CHECKS_all});
    for (size_t i = 0; i < 2000; i++) a[i] = value_of(0, i);
    CHECK(launch(&given, operands, fault), "%s", fault);
    CHECK(y[3] == sum_of(0, 96, 32, 2000), "%g", y[3]);
    Case race = read_case("tests/device/blocks_race.cu");
    CHECK(!launch(&race, operands, fault), "there is a race");
    CHECK_SAYS(fault, "and nothing orders blocks");
    free(race.faults);
    for (size_t i = 0; i < 2000; i++) a[i] = value_of(0, i);
    CHECK(flow_simulated_register(a, 2000 * sizeof *a, true), "registered");
    CHECK(!launch(&given, operands, fault), "y is not memory of the device");
    CHECK_SAYS(fault, "which is in no memory of the device");
    CHECK(flow_simulated_register(y, 64 * sizeof *y, false), "registered");
    CHECK(launch(&given, operands, fault), "%s", fault);
    flow_simulated_mark(a, 16, false);
    CHECK(!launch(&given, operands, fault), "a has no values");
    CHECK_SAYS(fault, "which nobody has written");
    flow_simulated_forget(a);
    flow_simulated_forget(y);
    free(a);
    free(y);
}

static void memory_itself(void) {
    char *address = flow_simulated_allocate(100);
    CHECK(address && flow_simulated_host(address, 100), "allocated");
    CHECK(!flow_simulated_host(address, 101) && !flow_simulated_host(address + 100, 1), "its end");
    CHECK(flow_simulated_free(address) && !flow_simulated_free(address), "freed once");
    CHECK(!flow_simulated_host(address, 1), "freed");
    CHECK(!flow_simulated_allocate((size_t)1 << 60), "too much");
}

static double nanoseconds_a_thread(const char *path, int checks) {
    Case given = read_case(path);
    void *operands[OPERANDS] = {0};
    char fault[FAULT];
    flow_simulation_set((FlowSimulation){.seed = 1, .checks = checks});
    make_operands(&given, operands);
    int64_t start = clock_nanoseconds(), threads = 0;
    for (; clock_nanoseconds() - start < 20000000; threads += given.blocks * given.threads)
        launch(&given, operands, fault);
    free_operands(&given, operands);
    return (double)(clock_nanoseconds() - start) / (double)threads;
}

static void print_times(void) {
    static const char *const names[] = {"least", "warp_sum", "block_sum", "product"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/device/%s.cu", names[i]);
        printf("%s: %.0f ns a thread, without checks %.0f\n", names[i],
               nanoseconds_a_thread(path, FLOW_CHECKS_all),
               nanoseconds_a_thread(path, FLOW_CHECKS_none));
    }
}

/* Compiling. */

static bool compile(void) {
    char folder[] = "/tmp/flow-test-XXXXXX", command[1024], path[64];
    const char *cc = getenv("CC"), *flags = getenv("FLOWC_TEST_FLAGS");
    if (!mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/kernels.so", folder);
    snprintf(command, sizeof command,
             "%s %s -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -fPIC -shared "
             "-DFLOW_SIMULATED -I. -Iruntime -Icompiler/ops -Icompiler/codegen/templates "
             "-x c tests/device/*.cu tests/device/operands.c -o %s",
             cc ? cc : "gcc", flags ? flags : "-O1", path);
    if (!system(command)) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const int64_t *offset = library ? dlsym(library, "operands_offset") : NULL;
    const int64_t *maps = library ? dlsym(library, "maps_offset") : NULL;
    if (offset) operands_offset = *offset;
    if (maps) maps_offset = *maps;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return !system(command) && offset && maps;
}

int main(void) {
    CHECK(compile(), "kernels don't compile");
    if (library) {
        other_memory();
        memory_itself();
        all_cases();
        shared_beside();
        fewer_checks();
        print_times();
    }
    return test_result();
}
