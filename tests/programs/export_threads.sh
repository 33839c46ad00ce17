# An exported library gives the same bits by any number of threads, has none of its own before it is told so nor
# behind its end, and goes on by itself in a forked process.
. tests/programs/lib/common.sh
cat >net.flow <<'END'
dim N <= 40

model net(x: f32[B, 300]) -> f32[B, 10] {
  return x |> dense(200) |> gelu() |> layer_norm() |> dense(10)
}

pipeline ramps() -> (x: f32[300], y: i32 in 0..10) {
  return range(640) |> map(x: sin(cast(iota(300) * cast(index, i32), f32)), y: remainder(cast(index, i32), 10))
}

train fit {
  data      = ramps() |> batch(64)
  loss      = cross_entropy(net(data.x), data.y)
  optimizer = adam(0.001)
  epochs    = 1
  every 1 epoch { save weights("net.safetensors") }
}

export scores(x: f32[300]) -> f32[10] {
  return softmax(net(x))
}

export alike(a: f32[N, 64]) -> (p: f32[N, N], best: f32) {
  let p = softmax(matmul(a, transpose(a)))
  return (p: p, best: max(p))
}
END
"$FLOWC" run net.flow
"$FLOWC" export net.flow -o lib
grep -q 'int net_set_threads(Net \*instance, int threads);' lib/net.h
cat >use.c <<'END'
#include "net.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static float x[300], a[40 * 64];
static int before; /* tasks */

static int tasks(void) {
    int found = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));) found += *entry->d_name != '.';
    closedir(folder);
    return found - before;
}

/* Threads that were joined may be seen a moment longer. */
static void expect_tasks(int wanted, const char *when) {
    for (int i = 0; i < 1000 && tasks() != wanted; i++) usleep(1000);
    if (tasks() != wanted) printf("%s there are %d tasks, not %d\n", when, tasks(), wanted);
}

/* All of what it gives: calls of several sizes, one after another and with pauses. */
static void use(Net *net, FILE *to) {
    float y[10], p[40 * 40], best;
    for (int64_t n = 1; n <= 40; n += 3) {
        if (n % 4 == 0) usleep(3000);
        if (net_scores(net, x, y) || net_alike(net, n, a, p, &best)) abort();
        fwrite(y, sizeof y, 1, to);
        fwrite(p, sizeof *p, (size_t)(n * n), to);
        fwrite(&best, sizeof best, 1, to);
        x[n] += 0.25f, a[n] -= 0.5f;
    }
}

static void fill(void) {
    for (int i = 0; i < 300; i++) x[i] = (float)(i % 17) / 17 - 0.4f;
    for (int i = 0; i < 40 * 64; i++) a[i] = (float)(i % 23) / 23 - 0.5f;
}

static void *use_another(void *weights) {
    Net *net = net_create(weights, NULL, 0);
    if (!net || net_set_threads(net, 2) < 1) abort();
    for (int i = 0; i < 20; i++) {
        float y[10];
        if (net_scores(net, x, y)) abort();
    }
    net_destroy(net);
    return NULL;
}

static void write_by(Net *net, int threads) {
    char name[32];
    int own = threads ? threads : 99;
    snprintf(name, sizeof name, "by%d", own);
    FILE *to = fopen(name, "w");
    fill();
    int told = net_set_threads(net, threads);
    if (told < 1 || (threads && told > threads)) abort();
    expect_tasks(told - 1, name);
    use(net, to);
    fclose(to);
}

int main(int argc, char **argv) {
    before = tasks();
    Net *net = argc == 2 ? net_create(argv[1], NULL, 0) : NULL;
    if (!net) return 2;
    FILE *to = fopen("before", "w");
    fill();
    use(net, to);
    fclose(to);
    expect_tasks(0, "before threads are set");
    const int counts[] = {2, 3, 7, 0, 1, 2};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) write_by(net, counts[i]);
    pid_t child = fork();
    if (!child) {
        FILE *mine = fopen("child", "w");
        fill();
        use(net, mine);
        fclose(mine);
#ifndef __SANITIZE_THREAD__ /* which allows a child no threads */
        if (net_set_threads(net, 2) < 1) abort();
#endif
        mine = fopen("child2", "w");
        fill();
        use(net, mine);
        fclose(mine);
        net_destroy(net);
        _exit(0);
    }
    int ended;
    waitpid(child, &ended, 0);
    if (ended) printf("the child ends with %d\n", ended);
    pthread_t others[3];
    for (int i = 0; i < 3; i++) pthread_create(&others[i], NULL, use_another, argv[1]);
    for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
    net_destroy(net);
    expect_tasks(0, "behind the end");
    return 0;
}
END
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o use use.c lib/libnet.a -lz -lm -lpthread
./use lib/net.safetensors >told
[ ! -s told ] || fail "$(cat told)"
[ -s before ] || fail "nothing was computed"
for by in by1 by2 by3 by7 by99 child child2; do same before "$by"; done
