/* Flags. */
#include "compiler/codegen/flags.h"

#include "lang/base/path.h"
#include "lang/base/vector.h"

/* Sums keep the order they are written in: -ffast-math is not among these. */
static const char *const all_flags[] = {"-std=gnu11", "-fno-math-errno", "-fno-trapping-math",
                                        "-fwrapv",    "-fPIC",           NULL};

/* Of gcc: loops that count to a number are written out only where that is short, since the whole of
 * them takes long to compile. What has to be written out says so itself. What a loop copies on its
 * way is no call of memcpy. Equal functions are not looked for: there are large tables, and none of
 * those. Loops begin at lines of the cache: one across two takes a fetch more each time, and two
 * threads of a core fetch in turn. The others are what takes a third of the time and makes code no
 * faster: it is written as it should run, and the processor finds the order of operations itself.
 * Where one path becomes two, a product may be added in one operation on one of them and in two on
 * the other.
 *
 * -fexpensive-optimizations: below -O2 nothing else gives the upper halves of vectors up where they
 * end, and some processors take a hundred times as long for each instruction of SSE until then. */
const char *const gcc_flags[] = {
    "--param", "max-completely-peeled-insns=60", "--param", "max-completely-peel-times=8",
    "-fno-tree-loop-distribute-patterns", "-fno-ipa-icf", "-fopenmp-simd",
    "-DFLOW_RANDOM_VECTORS", /* see random.h */
    "-fexpensive-optimizations",
    /* over the whole program */
    "-fno-ipa-bit-cp", "-fno-ipa-modref", "-fno-ipa-pure-const", "-fno-ipa-ra",
    "-fno-ipa-reference", "-fno-ipa-vrp",
    /* of loops */
    "-falign-loops=64", "-fno-loop-interchange", "-fno-loop-unroll-and-jam", "-fno-peel-loops",
    "-fno-predictive-commoning", "-fno-split-loops", "-fno-tree-loop-distribution",
    "-fno-unswitch-loops", "-fno-version-loops-for-strides",
    /* of what is known, or computed twice */
    "-fno-code-hoisting", "-fno-dse", "-fno-gcse", "-fno-gcse-after-reload",
    "-fno-isolate-erroneous-paths-dereference", "-fno-split-paths", "-fno-store-merging",
    "-fno-thread-jumps", "-fno-tree-ccp", "-fno-tree-dominator-opts", "-fno-tree-dse",
    "-fno-tree-pre", "-fno-tree-reassoc", "-fno-tree-slsr", "-fno-tree-tail-merge", "-fno-tree-vrp",
    /* of lines that are alike: what vectors are for is a loop, a copy, or written with them */
    "-fno-tree-slp-vectorize",
    /* of instructions */
    "-fira-region=one", "-fno-crossjumping", "-fno-cse-follow-jumps",
    "-fno-reorder-blocks-and-partition", "-fno-rerun-cse-after-loop", "-fno-schedule-insns2", NULL};

bool is_gcc(const char *compiler) {
    return !strncmp(path_name(compiler), "gcc", 3);
}

/* clang takes a sum of a product as one operation where both stand in one expression. What `fast`
 * does also depends on the path around it, so that threads would round as they divide the work. gcc
 * knows `on` from gcc 13; its paths are one by gcc_flags. */
static const char *contraction(const char *compiler) {
    return strstr(path_name(compiler), "clang") ? "-ffp-contract=on" : "-ffp-contract=fast";
}

typedef Vector(const char *) Flags;

static void add_flags(Arena *arena, Flags *flags, const char *const *more) {
    for (; *more; more++) vector_push(arena, flags, *more);
}

const char *const *code_flags(Arena *arena, const char *compiler) {
    Flags flags = {0};
    add_flags(arena, &flags, all_flags);
    vector_push(arena, &flags, contraction(compiler));
    if (is_gcc(compiler)) add_flags(arena, &flags, gcc_flags);
    vector_push(arena, &flags, NULL);
    return flags.items;
}
