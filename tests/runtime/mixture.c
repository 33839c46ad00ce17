/* Mixture: every set is gone through in order until each is through once; any position can be asked
 * for; sets come as often as they weigh. */
#include "runtime/mixture.h"
#include "tests/runtime/test.h"

#include <math.h>

static void goes_through(const double *weights, const int64_t *counts, int sets, uint64_t seed) {
    int64_t ranks[MIXTURE_LIMIT] = {0}, rank;
    Mixture *mixture;
    FlowStatus status = mixture_new(weights, counts, sets, seed, &mixture);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    for (int64_t i = 0; i < mixture_size(mixture); i++) {
        int set = mixture_at(mixture, i, &rank);
        bool next = set >= 0 && set < sets && rank == ranks[set]++;
        CHECK(next, "position %lld", (long long)i);
    }
    int last = mixture_at(mixture, mixture_size(mixture) - 1, &rank);
    CHECK(rank + 1 == counts[last], "it ends when the last set is through");
    for (int i = 0; i < sets; i++) {
        CHECK(ranks[i] == mixture_total(mixture, i) && ranks[i] >= counts[i], "set %d", i);
    }
    mixture_free(mixture);
}

static void has_proportions(void) {
    static const double weights[] = {0.5, 2, 7.5};
    static const int64_t counts[] = {1, 1, 200000};
    Mixture *mixture;
    CHECK(!mixture_new(weights, counts, 3, 11, &mixture).exit, "new");
    double size = (double)mixture_size(mixture);
    for (int i = 0; i < 3; i++) {
        double share = (double)mixture_total(mixture, i) / size;
        CHECK(fabs(share - weights[i] / 10) < 0.005, "set %d: %g", i, share);
    }
    mixture_free(mixture);
}

static void refuses_what_never_ends(void) {
    static const double weights[] = {1e-9, 1};
    static const int64_t counts[] = {100, 1};
    Mixture *mixture;
    CHECK(mixture_new(weights, counts, 2, 1, &mixture).exit == FLOW_EXIT_data && !mixture,
          "10^11 records");
}

int main(void) {
    goes_through((double[]){1}, (int64_t[]){1}, 1, 0);
    goes_through((double[]){3}, (int64_t[]){1000}, 1, 5);
    goes_through((double[]){1, 1}, (int64_t[]){1, 1}, 2, 1);
    goes_through((double[]){0.9, 0.1}, (int64_t[]){3, 700}, 2, 2);
    goes_through((double[]){1, 2, 3, 4}, (int64_t[]){255, 256, 257, 1}, 4, 3);
    has_proportions();
    refuses_what_never_ends();
    return test_result();
}
