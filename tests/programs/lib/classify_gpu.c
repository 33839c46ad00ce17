/* A host of the exported digits, which compute on a GPU: prints what it is told of some images.
 * How: "run": by one instance; "threads": by two, in a thread each, at the same time; "fork": then
 * in a child process, too; "context": with a GPU of its own; "capture": while it makes a graph. */
#define _GNU_SOURCE
#include "digits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

typedef struct Told {
    Digits *digits;
    int count, status;
    int32_t labels[MOST];
    float p[MOST][10];
} Told;

static unsigned char images[16 + MOST * 784];

static Digits *create(const char *weights) {
    char message[512];
    Digits *digits = digits_create(weights, message, sizeof message);
    if (!digits) printf("not created: %s\n", message), exit(1);
    return digits;
}

static void *classify(void *argument) {
    Told *told = argument;
    for (int i = 0; i < told->count && !told->status; i++)
        told->status =
            digits_classify(told->digits, images + 16 + 784 * i, &told->labels[i], told->p[i]);
    return NULL;
}

static void check(const Told *told) {
    if (!told->status) return;
    printf("%d: %s\n", told->status, digits_message(told->digits));
    Told again = {.digits = told->digits, .count = 1};
    classify(&again);
    if (again.status != told->status) printf("then %d\n", again.status);
    digits_destroy(told->digits);
    exit(1);
}

static void by_threads(Told *told, const char *weights) {
    Told other = {.digits = create(weights), .count = told->count};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, classify, told);
    pthread_create(&threads[1], NULL, classify, &other);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    check(&other);
    if (memcmp(told->p, other.p, sizeof other.p)) printf("threads differ\n");
    digits_destroy(other.digits);
}

static void by_child(Told *told) {
    int status = 0;
    Told child = {.digits = told->digits, .count = 1};
    classify(told);
    if (!fork()) classify(&child), check(&child), exit(0);
    wait(&status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) printf("the child ended with %d\n", status);
    classify(told);
}

/* The second GPU of the driver is the host's. */
static void *current(bool take) {
    static void *library, *mine;
    void *now = NULL;
    if (take) {
        library = dlopen(getenv("FLOWC_LIBCUDA"), RTLD_NOW);
        ((int (*)(unsigned))dlsym(library, "cuInit"))(0);
        ((int (*)(void **, int))dlsym(library, "cuDevicePrimaryCtxRetain"))(&mine, 1);
        ((int (*)(void *))dlsym(library, "cuCtxSetCurrent"))(mine);
    }
    ((int (*)(void **))dlsym(library, "cuCtxGetCurrent"))(&now);
    return now;
}

/* By a stream of the host's GPU: a thread that does not say otherwise may take no memory. */
static void capture(bool begin) {
    static void *library, *stream, *graph;
    if (begin) {
        library = dlopen(getenv("FLOWC_LIBCUDA"), RTLD_NOW);
        ((int (*)(void **, unsigned))dlsym(library, "cuStreamCreate"))(&stream, 1);
        ((int (*)(void *, int))dlsym(library, "cuStreamBeginCapture_v2"))(stream, 0);
        return;
    }
    if (((int (*)(void *, void **))dlsym(library, "cuStreamEndCapture"))(stream, &graph))
        printf("the capture is spoilt\n");
    ((int (*)(void *))dlsym(library, "cuGraphDestroy"))(graph);
    ((int (*)(void *))dlsym(library, "cuStreamDestroy_v2"))(stream);
}

int main(int argc, char **argv) {
    FILE *file = fopen(argv[1], "rb");
    if (argc != 5 || !file || fread(images, 1, sizeof images, file) != sizeof images) return 2;
    fclose(file);
    const bool captures = !strcmp(argv[4], "capture");
    void *mine = strcmp(argv[4], "context") && !captures ? NULL : current(true);
    if (captures) capture(true);
    Told told = {.digits = create(argv[2]), .count = atoi(argv[3])};
    if (mine && current(false) != mine) printf("create changes the context\n");
    if (!strcmp(argv[4], "threads")) by_threads(&told, argv[2]);
    else if (!strcmp(argv[4], "fork")) by_child(&told);
    else classify(&told);
    check(&told);
    if (mine && current(false) != mine) printf("a call changes the context\n");
    digits_destroy(told.digits);
    if (captures) capture(false);
    if (mine && current(false) != mine) printf("destroy changes the context\n");
    for (int i = 0; i < told.count; i++) {
        printf("%d", told.labels[i]);
        for (int k = 0; k < 10; k++) printf(" %.6f", told.p[i][k]);
        printf("\n");
    }
    return 0;
}
