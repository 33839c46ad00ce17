/* Collectives: NCCL as the stand-in has it, found with dlopen as the real one is. What all devices
 * have is added up for each type; what would hang or harm with the real one is an error. */
#include "runtime/device/nccl.h"

#include "runtime/device/driver.h"
#include "tests/runtime/standin.h"

#include <math.h>

enum { COUNT = 3, RANKS = 3, ROOM = 64, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE = 6 };
enum { SUM, PROD, MAX, MIN };

static Driver driver;
static Nccl nccl;
static void *contexts[RANKS], *streams[RANKS], *ranks[RANKS];
static uint64_t places[RANKS];

#define GOOD(call) GIVES(call, 0)
#define GIVES(call, wanted)                                                   \
    do {                                                                      \
        int error_of = call;                                                  \
        CHECK(error_of == (wanted), "it gives %d, not %d", error_of, wanted); \
    } while (0)

static void connect(void) {
    GOOD(nccl.start(ranks, RANKS, (const int[]){0, 1, 2}));
}

static int sum(int rank, size_t count, int type, int operation) {
    const void *place = (const void *)(uintptr_t)places[rank];
    return nccl.all_reduce(place, (void *)(uintptr_t)places[rank], count, type, operation,
                           ranks[rank], streams[rank]);
}

static void give(int rank, const void *from, size_t size) {
    GOOD(driver.use(contexts[rank]));
    GOOD(driver.copy_in(places[rank], from, size, streams[rank]));
}

static void take(int rank, void *to, size_t size) {
    GOOD(driver.use(contexts[rank]));
    GOOD(driver.copy_out(to, places[rank], size, streams[rank]));
    GOOD(driver.finish(streams[rank]));
}

/* In place, of all ranks at once; the last one has what the first one has. */
static void reduce(const void *first, const void *second, FlowElement element, int operation,
                   const void *expected) {
    const size_t size = COUNT * flow_element_size(element);
    char found[ROOM];
    for (int i = 0; i < RANKS; i++) give(i, i == 1 ? second : first, size);
    GOOD(nccl.begin_group());
    for (int i = 0; i < RANKS; i++) GOOD(sum(i, COUNT, nccl_type(element), operation));
    GOOD(nccl.end_group());
    for (int i = 0; i < RANKS; i++) {
        take(i, found, size);
        CHECK(!memcmp(found, expected, size), "rank %d, element type %d", i, (int)element);
    }
}

#define REDUCE(type, element, operation, ...)                                    \
    reduce((const type[]){1, 2, 3}, (const type[]){4, 2, 1}, element, operation, \
           (const type[]){__VA_ARGS__})

static void types(void) {
    REDUCE(float, FLOW_f32, SUM, 6, 6, 7);
    REDUCE(double, FLOW_f64, PROD, 4, 8, 9);
    REDUCE(int32_t, FLOW_i32, MAX, 4, 2, 3);
    REDUCE(int64_t, FLOW_i64, MIN, 1, 2, 1);
    REDUCE(uint8_t, FLOW_u8, SUM, 6, 6, 7);
    REDUCE(int8_t, FLOW_i8, SUM, 6, 6, 7);
    reduce((const int32_t[]){-1, 2, -3}, (const int32_t[]){4, -2, -1}, FLOW_i32, MAX,
           (const int32_t[]){4, 2, -1});
    const float none = NAN;
    reduce((const float[]){none, 2, none}, (const float[]){1, none, none}, FLOW_f32, MAX,
           (const float[]){1, 2, none}); /* NaN only where all have it */
    enum { ONE = 0x3c00, TWO = 0x4000, THREE = 0x4200, NONE = 0x7e00 }; /* bits of f16; of bf16: */
    enum { ONE_B = 0x3f80, TWO_B = 0x4000, THREE_B = 0x4040, NONE_B = 0x7fc0 };
    const uint16_t f16[] = {ONE, ONE, NONE}, bf16[] = {ONE_B, ONE_B, NONE_B};
    const uint16_t f16_two[] = {ONE, TWO, TWO}, bf16_two[] = {ONE_B, TWO_B, TWO_B};
    reduce(f16, (const uint16_t[]){ONE, ONE, NONE}, FLOW_f16, SUM,
           (const uint16_t[]){THREE, THREE, NONE});
    reduce(bf16, (const uint16_t[]){ONE_B, ONE_B, NONE_B}, FLOW_bf16, SUM,
           (const uint16_t[]){THREE_B, THREE_B, NONE_B});
    reduce(f16, f16_two, FLOW_f16, MAX, f16_two);
    reduce(bf16, bf16_two, FLOW_bf16, MAX, bf16_two);
    reduce(f16, f16_two, FLOW_f16, MIN, (const uint16_t[]){ONE, ONE, TWO});
    reduce(bf16, bf16_two, FLOW_bf16, MIN, (const uint16_t[]){ONE_B, ONE_B, TWO_B});
}

/* The order in which ranks are added up follows from the seed: rounding shows it. */
static void orders(void) {
    const float large = 0x1p24f;
    bool differs = false;
    for (int seed = 1; seed <= RANKS; seed++) {
        char text[8];
        float found = 0;
        snprintf(text, sizeof text, "%d", seed);
        setenv("FLOWC_SIMULATE_SEED", text, 1);
        for (int i = 0; i < RANKS; i++) give(i, i ? &(float){1} : &large, sizeof large);
        GOOD(nccl.begin_group());
        for (int i = 0; i < RANKS; i++) GOOD(sum(i, 1, nccl_type(FLOW_f32), SUM));
        GOOD(nccl.end_group());
        take(0, &found, sizeof found);
        differs |= found == large;
        CHECK(found == large || found == large + 2, "it is %a", (double)found);
    }
    unsetenv("FLOWC_SIMULATE_SEED");
    CHECK(differs, "each order rounds alike");
}

static void misuse(void) {
    const int f32 = nccl_type(FLOW_f32);
    void *again[RANKS];
    GIVES(nccl.start(again, RANKS, (const int[]){1, 2, 1}), INVALID_USAGE);
    GIVES(sum(0, COUNT, f32, SUM), INVALID_USAGE); /* it would wait for the other rank */
    GOOD(nccl.begin_group());
    GOOD(sum(0, COUNT, f32, SUM));
    GIVES(nccl.end_group(), INVALID_USAGE); /* so would this */
    GOOD(nccl.begin_group());
    GIVES(nccl.all_reduce((void *)places[0], (void *)places[0], COUNT, f32, SUM, ranks[0],
                          streams[1]),
          INVALID_USAGE);
    GIVES(nccl.end_group(), INVALID_USAGE);
    GOOD(nccl.begin_group());
    GIVES(nccl.all_reduce((void *)places[1], (void *)places[0], COUNT, f32, SUM, ranks[0],
                          streams[0]),
          INVALID_ARGUMENT);
    GIVES(nccl.end_group(), INVALID_ARGUMENT);
}

/* Ranks that bring different counts, or one that brings nothing: it is noted, and who waits is free
 * once the communicator is aborted. */
static void broken(size_t other_count, const char *lost) {
    int error = 0;
    if (lost) setenv("FLOWC_SIMULATE_LOSE", lost, 1);
    GOOD(nccl.begin_group());
    GOOD(sum(0, COUNT, nccl_type(FLOW_f32), SUM));
    GOOD(sum(1, other_count, nccl_type(FLOW_f32), SUM));
    GOOD(sum(2, COUNT, nccl_type(FLOW_f32), SUM));
    GOOD(nccl.end_group());
    unsetenv("FLOWC_SIMULATE_LOSE");
    for (int i = 0; i < 10000 && !error; i++) {
        usleep(100);
        GOOD(nccl.async_error(ranks[0], &error));
    }
    CHECK(error == REMOTE, "%d is noted", error);
    for (int i = 0; i < RANKS; i++) GOOD(nccl.break_off(ranks[i]));
    for (int i = 0; i < RANKS; i++) {
        GOOD(driver.use(contexts[i]));
        GOOD(driver.finish(streams[i]));
    }
    connect();
}

static void versions(void) {
    AllReduceText text;
    Nccl other;
    setenv("FLOWC_SIMULATE_NCCL", "2804", 1);
    CHECK(nccl_choose(&other, false, &text) == ALL_REDUCE_wrong, "%s", text.text);
    CHECK_SAYS(text.text, "is NCCL 2.8.4, and replicas need 2.10");
    unsetenv("FLOWC_SIMULATE_NCCL");
    CHECK(nccl_choose(&other, true, &text) == ALL_REDUCE_peer, "%s", text.text);
    setenv("FLOWC_NCCL", "libm.so.6", 1);
    CHECK(nccl_choose(&other, false, &text) == ALL_REDUCE_wrong, "%s", text.text);
    CHECK_SAYS(text.text, "libm.so.6 is not NCCL: it has no ncclGetVersion");
    setenv("FLOWC_NCCL", "/nowhere", 1);
    CHECK(nccl_choose(&other, false, &text) == ALL_REDUCE_wrong && text.fix, "%s", text.text);
    CHECK_SAYS(text.text, "NCCL can't be loaded (FLOWC_NCCL): /nowhere: cannot open");
    setenv("FLOWC_ALL_REDUCE", "nccl", 1);
    CHECK(nccl_choose(&other, false, &text) == ALL_REDUCE_wrong && text.fix, "%s", text.text);
    CHECK(nccl_choose(&other, true, &text) == ALL_REDUCE_wrong, "%s", text.text);
    CHECK_SAYS(text.text, "--exact adds up in the order of the replicas");
    setenv("FLOWC_ALL_REDUCE", "ring", 1);
    CHECK(nccl_choose(&other, false, &text) == ALL_REDUCE_wrong, "%s", text.text);
}

static bool open_all(void) {
    char missing[DEVICE_TEXT];
    AllReduceText text;
    test_standin("gpu:3");
    unsetenv("FLOWC_ALL_REDUCE");
    CHECK(driver_load(&driver, missing), "%s", missing);
    CHECK(nccl_choose(&nccl, false, &text) == ALL_REDUCE_nccl, "%s", text.text);
    CHECK_SAYS(text.text, "by NCCL 2.27.3");
    if (!driver.library || !nccl.library) return false;
    GOOD(driver.initialise(0));
    for (int i = 0; i < RANKS; i++) {
        GOOD(driver.retain(&contexts[i], i));
        GOOD(driver.use(contexts[i]));
        GOOD(driver.new_stream(&streams[i], 1));
        GOOD(driver.allocate(&places[i], ROOM));
    }
    return true;
}

int main(void) {
    if (!open_all()) return test_result();
    connect();
    types();
    orders();
    misuse();
    types(); /* what was refused has left nothing */
    broken(2, NULL);
    broken(COUNT, "ncclAllReduce:2:1000");
    for (int i = 0; i < RANKS; i++) GOOD(nccl.end(ranks[i]));
    versions();
    return test_result();
}
