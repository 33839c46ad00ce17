#include "runtime/mixture.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/mix.h"

#include <stdlib.h>
#include <string.h>

enum { SPAN = 256 /* positions from one mark to the next */ };

static const int64_t size_limit = (int64_t)1 << 32;

struct Mixture {
    int sets;
    uint64_t seed;
    uint64_t limits[MIXTURE_LIMIT]; /* a choice below it, and not below that before, is the set */
    int64_t size, totals[MIXTURE_LIMIT];
    int64_t *marks; /* at each SPAN of positions: how many of each set stand before it */
    int64_t room;   /* marks that there is memory for */
};

static int choose(const Mixture *mixture, int64_t position) {
    uint64_t chance = mix(mixture->seed + (uint64_t)position) >> 11;
    int set = 0;
    while (set + 1 < mixture->sets && chance >= mixture->limits[set]) set++;
    return set;
}

static void set_limits(Mixture *mixture, const double *weights) {
    double sum = 0, before = 0;
    for (int i = 0; i < mixture->sets; i++) sum += weights[i];
    for (int i = 0; i < mixture->sets; i++) {
        before += weights[i];
        mixture->limits[i] = (uint64_t)(before / sum * 0x1p53);
    }
}

static bool add_mark(Mixture *mixture) {
    int64_t number = mixture->size / SPAN;
    size_t size = (size_t)mixture->sets * sizeof *mixture->marks;
    if (number >= mixture->room) {
        int64_t room = mixture->room * 2 + 64;
        int64_t *larger =
            held_resize(mixture->marks, (size_t)mixture->room * size, (size_t)room * size);
        if (!larger) return false;
        mixture->marks = larger;
        mixture->room = room;
    }
    memcpy(mixture->marks + number * mixture->sets, mixture->totals, size);
    return true;
}

static FlowStatus too_many(void) {
    return flow_failure(FLOW_EXIT_data, "2^32 records are not enough for every set to be through: "
                                        "give the large ones more weight, or take(n) of them");
}

/* Is there much hope that the sets are through before the limit? */
static bool is_hopeful(const double *weights, const int64_t *counts, int sets) {
    double sum = 0;
    bool hopeful = true;
    for (int i = 0; i < sets; i++) sum += weights[i];
    for (int i = 0; i < sets; i++)
        hopeful &= (double)counts[i] * sum < 2 * weights[i] * (double)size_limit;
    return hopeful;
}

static FlowStatus begin_span(Mixture *mixture) {
    if (mixture->size == size_limit) return too_many();
    if (interrupted())
        return flow_failure(FLOW_EXIT_interrupted, "interrupted while its order was found");
    return add_mark(mixture) ? flow_ok : flow_failure(FLOW_EXIT_resource, "no memory");
}

/* Goes on until each set is through. */
static FlowStatus count(Mixture *mixture, const int64_t *counts) {
    FlowStatus status = flow_ok;
    for (int missing = mixture->sets; missing; mixture->size++) {
        if (mixture->size % SPAN == 0) status = begin_span(mixture);
        if (status.exit) return status;
        int set = choose(mixture, mixture->size);
        missing -= ++mixture->totals[set] == counts[set];
    }
    return flow_ok;
}

FlowStatus mixture_new(const double *weights, const int64_t *counts, int sets, uint64_t seed,
                       Mixture **out) {
    *out = NULL;
    if (!is_hopeful(weights, counts, sets)) return too_many();
    Mixture *mixture = *out = calloc(1, sizeof *mixture);
    if (!mixture) return flow_failure(FLOW_EXIT_resource, "no memory");
    mixture->sets = sets;
    mixture->seed = mix(seed + 0x9e3779b97f4a7c15);
    set_limits(mixture, weights);
    FlowStatus status = count(mixture, counts);
    if (!status.exit) return flow_ok;
    mixture_free(mixture);
    *out = NULL;
    return status;
}

void mixture_free(Mixture *mixture) {
    if (!mixture) return;
    free(mixture->marks);
    free(mixture);
}

int64_t mixture_size(const Mixture *mixture) {
    return mixture->size;
}

int64_t mixture_total(const Mixture *mixture, int set) {
    return mixture->totals[set];
}

int mixture_at(const Mixture *mixture, int64_t position, int64_t *rank) {
    int set = choose(mixture, position);
    int64_t first = position / SPAN;
    *rank = mixture->marks[first * mixture->sets + set];
    for (int64_t i = first * SPAN; i < position; i++) *rank += choose(mixture, i) == set;
    return set;
}
