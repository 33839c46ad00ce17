/* Permutation: a bijection for every size, another one for each seed and epoch, and a good
 * shuffle. */
#include "runtime/clock.h"
#include "runtime/permutation.h"
#include "tests/runtime/test.h"

#include <math.h>

static void is_bijective(int64_t size, uint64_t seed, int64_t epoch) {
    Permutation permutation = permutation_new(size, seed, epoch);
    char *seen = calloc((size_t)size, 1);
    for (int64_t i = 0; i < size; i++) {
        int64_t record = permutation_at(&permutation, i);
        bool fresh = record >= 0 && record < size && !seen[record];
        CHECK(fresh, "size %lld: position %lld gives %lld", (long long)size, (long long)i,
              (long long)record);
        if (!fresh) break;
        seen[record] = 1;
    }
    free(seen);
}

static void all_sizes(void) {
    static const int64_t sizes[] = {1009, 4096, 10000, 59999, 60000, 60001, 65537, 1000003};
    for (int64_t size = 1; size < 600; size++)
        for (int64_t epoch = 0; epoch < 3; epoch++) is_bijective(size, 7, epoch);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) is_bijective(sizes[i], 7, 1);
}

/* Far beyond what can be tried out: results stay inside. */
static void huge_sizes(void) {
    static const int64_t sizes[] = {INT64_C(1) << 32, (INT64_C(1) << 40) + 7, INT64_C(1) << 62};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Permutation permutation = permutation_new(sizes[i], 1, 0);
        for (int64_t j = 0; j < 1000; j++) {
            int64_t record = permutation_at(&permutation, sizes[i] - 1 - j);
            CHECK(record >= 0 && record < sizes[i], "%lld", (long long)record);
        }
    }
}

/* Several at a time are what each is by itself. */
static void several(void) {
    enum { MOST = 150 };
    static const int64_t sizes[] = {
        1, 2, 7, 1009, 4097, 60000, 1000003, (INT64_C(1) << 53) - 1, INT64_C(1) << 62};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int count = 0; count <= MOST; count++) {
            Permutation permutation = permutation_new(sizes[i], 5, count);
            int64_t positions[MOST];
            for (int j = 0; j < count; j++) positions[j] = sizes[i] - 1 - j * 77 % sizes[i];
            permutation_each(&permutation, positions, count);
            for (int j = 0; j < count; j++) {
                int64_t alone = permutation_at(&permutation, sizes[i] - 1 - j * 77 % sizes[i]);
                CHECK(positions[j] == alone, "%lld of %lld: %lld, not %lld", (long long)j,
                      (long long)sizes[i], (long long)positions[j], (long long)alone);
            }
        }
}

static int64_t equal_positions(Permutation a, Permutation b) {
    int64_t equal = 0;
    for (int64_t i = 0; i < (int64_t)a.size; i++)
        equal += permutation_at(&a, i) == permutation_at(&b, i);
    return equal;
}

/* Two random orders agree in one position on average. */
static void keys_matter(void) {
    enum { SIZE = 60000 };
    int64_t epochs = equal_positions(permutation_new(SIZE, 7, 0), permutation_new(SIZE, 7, 1));
    int64_t seeds = equal_positions(permutation_new(SIZE, 7, 0), permutation_new(SIZE, 8, 0));
    int64_t same = equal_positions(permutation_new(SIZE, 7, 0), permutation_new(SIZE, 7, 0));
    CHECK(epochs < 10 && seeds < 10, "%lld, %lld", (long long)epochs, (long long)seeds);
    CHECK(same == SIZE, "the same key gives the same order");
}

/* Correlation of a record with its position, and with its neighbour: about 1 / sqrt(n). */
static void looks_random(void) {
    enum { SIZE = 60000 };
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        Permutation permutation = permutation_new(SIZE, 42, epoch);
        double position = 0, neighbour = 0, before = 0;
        for (int64_t i = 0; i < SIZE; i++) {
            double x = (double)permutation_at(&permutation, i) / SIZE - 0.5;
            position += x * ((double)i / SIZE - 0.5);
            neighbour += x * before;
            before = x;
        }
        double limit = 5 / sqrt(SIZE);
        CHECK(fabs(position * 12 / SIZE) < limit && fabs(neighbour * 12 / SIZE) < limit,
              "epoch %lld: %f %f", (long long)epoch, position * 12 / SIZE, neighbour * 12 / SIZE);
    }
}

/* Over many epochs each record comes first, second … equally often: chi-squared over pairs.
 */
static void is_uniform(void) {
    enum { SIZE = 10, EPOCHS = 20000 };
    int counts[SIZE][SIZE] = {0};
    double chi = 0, expected = (double)EPOCHS / SIZE;
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        Permutation permutation = permutation_new(SIZE, 3, epoch);
        for (int64_t i = 0; i < SIZE; i++) counts[i][permutation_at(&permutation, i)]++;
    }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            chi += (counts[i][j] - expected) * (counts[i][j] - expected) / expected;
    CHECK(chi < 81 + 6 * sqrt(2 * 81), "chi-squared %f, about 81 is expected", chi);
}

static void print_time(void) {
    enum { TURNS = 1000000 };
    Permutation permutation = permutation_new(60000, 7, 0);
    int64_t positions[64], start = clock_nanoseconds(), sum = 0;
    for (int i = 0; i < TURNS; i += 64) {
        for (int j = 0; j < 64; j++) positions[j] = (i + j) % 60000;
        permutation_each(&permutation, positions, 64);
        sum += positions[0];
    }
    printf("permutation: %.1f ns a record\n",
           (double)(clock_nanoseconds() - start) / TURNS + (double)(sum == 0));
}

int main(void) {
    all_sizes();
    huge_sizes();
    several();
    keys_matter();
    looks_random();
    is_uniform();
    print_time();
    return test_result();
}
