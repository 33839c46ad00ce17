/* GEMM timing: seconds of a call of a library's product for each shape, as one line of JSON.
 * Arguments: the library, the name of its function, then `name M K N transposed` of each shape;
 * transposed is -, a or b. */
#include "tests/bench/repeated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

enum { ROWS_FIRST = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

typedef void Cblas(int order, int of_a, int of_b, int m, int n, int k, float alpha, const float *a,
                   int row_a, const float *b, int row_b, float beta, float *c, int row_c);
typedef int Dnnl(char of_a, char of_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                 int64_t row_a, const float *b, int64_t row_b, float beta, float *c, int64_t row_c);
typedef void CblasHalf(int order, int of_a, int of_b, int m, int n, int k, float alpha,
                       const uint16_t *a, int row_a, const uint16_t *b, int row_b, float beta,
                       float *c, int row_c);

typedef enum Kind { KIND_CBLAS, KIND_DNNL, KIND_HALF } Kind;

typedef struct Product {
    void *function;
    Kind kind;
    int m, k, n;
    char transposed;
    void *a, *b; /* of bf16 if KIND_HALF */
    float *c;
} Product;

static Kind kind_of(const char *function) {
    if (!strcmp(function, "dnnl_sgemm")) return KIND_DNNL;
    return !strcmp(function, "cblas_gemm_bf16bf16f32") ? KIND_HALF : KIND_CBLAS;
}

static void multiply(const Product *p) {
    int of_a = p->transposed == 'a', of_b = p->transposed == 'b';
    int row_a = of_a ? p->m : p->k, row_b = of_b ? p->k : p->n;
    if (p->kind == KIND_DNNL)
        ((Dnnl *)p->function)("NT"[of_a], "NT"[of_b], p -> m, p -> n, p -> k, 1, p -> a, row_a,
                              p -> b, row_b, 0, p -> c, p -> n);
    else if (p->kind == KIND_HALF)
        ((CblasHalf *)p->function)(ROWS_FIRST, of_a ? TRANSPOSED : AS_IT_IS,
                                   of_b ? TRANSPOSED : AS_IT_IS, p->m, p->n, p->k, 1, p->a, row_a,
                                   p->b, row_b, 0, p->c, p->n);
    else
        ((Cblas *)p->function)(ROWS_FIRST, of_a ? TRANSPOSED : AS_IT_IS,
                               of_b ? TRANSPOSED : AS_IT_IS, p->m, p->n, p->k, 1, p->a, row_a, p->b,
                               row_b, 0, p->c, p->n);
}

static double repeat(void *argument, long calls) {
    double begin = seconds_now();
    for (long i = 0; i < calls; i++) multiply(argument);
    return seconds_now() - begin;
}

static double seconds_of(void *function, Kind kind, char **shape) {
    Product p = {function, kind, atoi(shape[1]), atoi(shape[2]), atoi(shape[3]), *shape[4], NULL,
                 NULL,     NULL};
    p.a = random_numbers(kind == KIND_HALF, (size_t)p.m * (size_t)p.k);
    p.b = random_numbers(kind == KIND_HALF, (size_t)p.k * (size_t)p.n);
    p.c = random_floats((size_t)p.m * (size_t)p.n);
    double seconds = seconds_of_a_call(repeat, &p);
    free(p.a);
    free(p.b);
    free(p.c);
    return seconds;
}

int main(int argc, char **argv) {
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *function = library ? dlsym(library, argv[2]) : NULL;
    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("{");
    for (int i = 3; i + 4 < argc; i += 5)
        printf("%s\"%s\": %.9g", i > 3 ? ", " : "", argv[i],
               seconds_of(function, kind_of(argv[2]), argv + i));
    printf("}\n");
}
