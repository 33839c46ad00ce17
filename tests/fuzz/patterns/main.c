/* Patterns: what each rule of fuse is for and what only looks like it, the same by every road.
 * `patterns [CONTEXTS [PART OF A RULE'S NAME]]`: in how many contexts each is tried; 1. */
#include "tests/fuzz/programs/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 40, NEAR_LIMIT = 64, ORIGINS = 4, USES = 4, CONTEXTS = ORIGINS * USES };

typedef struct Rule {
    const char *name, *bodies[NEAR_LIMIT]; /* the pattern, then the near-misses */
} Rule;

static const Rule rules[] = {
#define RULE(name, ...) {#name, {__VA_ARGS__}},
#include "tests/fuzz/patterns/patterns.def"
#undef RULE
};

/* A value that a body may use. */
typedef struct Name {
    const char *name, *leaf, *type; /* the leaf is a field if the type has a batch */
    const char *origins[ORIGINS];   /* from the leaf alone, computed, moved, of a weight */
} Name;

static const Name names[] = {
    {"x", "x0", "f32[B, 8]", {"x0", "x0 * 1.25 + 0.5", "flip(x0, 1)", "x0 * v3 + y1"}},
    {"y", "y1", "f32[B, 8]", {"y1", "tanh(y1)", "flip(y1, 0)", "y1 - v3"}},
    {"m", "m2", "f32[B, 4, 8]", {"m2", "m2 * 0.5 + 1", "flip(m2, 1)", "m2 * v3"}},
    {"n", "r9", "f32[B, 4, 8]", {"r9", "tanh(r9)", "roll(r9, 1, 1)", "r9 + v3"}},
    {"v", "v3", "f32[8]", {"v3", "v3 * 0.5", "flip(v3, 0)", "v3"}},
    {"w", "w4", "f32[8, 8]", {"w4", "w4 * 0.5", "transpose(w4)", "w4 * v3"}},
    {"u", "z5", "f32[4, 8]", {"z5", "tanh(z5)", "flip(z5, 0)", "z5 + v3"}},
    {"s", "s6", "f32", {"s6", "s6 * 0.5 + 1", "s6", "s6 + sum(v3)"}},
    {"column", "c7", "f32[B, 1]", {"c7", "c7 * 2 - 1", "flip(c7, 0)", "c7 * s6"}},
    {"row", "q8", "f32[1, 8]", {"q8", "tanh(q8)", "flip(q8, 1)", "q8 * v3"}},
    {"long", "l9", "f32[B, 5000]", {"l9", "l9 * 0.5", "flip(l9, 1)", "l9 * s6"}},
};
enum { NAME_COUNT = sizeof names / sizeof *names };

static const char *const uses[USES] = {
    "  return sum(tanh(r)) + rest\n", "  return 0.125 * sum(r * r) + rest\n",
    "  let a_use = tanh(r)\n  return sum(a_use) + 0.5 * sum(a_use * r) + rest\n",
    "  return sum(sin(r)) + sum(tanh(0.5 * r)) + rest\n"};

static bool is_field(const Name *name) {
    return strstr(name->type, "[B") != NULL;
}

/* The long one only where it is used. */
static bool is_used(const Name *name, const char *body) {
    return strcmp(name->name, "long") != 0 || strstr(body, "long");
}

/* A field's type without the batch. */
static void print_record_type(const Name *name, Text *text) {
    const char *rest = strstr(name->type, "[B, ") + 4;
    text_format(text, "f32[%s", rest);
}

/* For each field the form, where # is its leaf, L its type and T that of a record. */
static void print_each(const char *body, const char *form, Text *text) {
    bool first = true;
    for (int i = 0; i < NAME_COUNT; i++) {
        if (!is_field(&names[i]) || !is_used(&names[i], body)) continue;
        text_add(text, first ? "" : ", ");
        first = false;
        for (const char *at = form; *at; at++) {
            if (*at == '#') text_add(text, names[i].leaf);
            else if (*at == 'L') text_add(text, names[i].type);
            else if (*at == 'T') print_record_type(&names[i], text);
            else text_add_bytes(text, at, 1);
        }
    }
}

static void print_pipeline(const char *body, int number, Text *text) {
    text_format(text, "pipeline data%d(file: path) -> (", number);
    print_each(body, "#: T", text);
    text_add(text, ") {\n  return idx(");
    print_each(body, "f#: file", text);
    text_add(text, ") |> map(");
    print_each(body, "#: f# |> : T", text);
    text_add(text, ")\n}\n\n");
}

static void print_model(const char *body, int context, int number, Text *text) {
    text_format(text, "model net%d(", number);
    print_each(body, "#: L", text);
    text_add(text, ") -> f32 {\n");
    for (int i = 0; i < NAME_COUNT; i++)
        if (!is_field(&names[i]))
            text_format(text, "  weight %s: %s = zeros()\n", names[i].leaf, names[i].type);
    for (int i = 0; i < NAME_COUNT; i++)
        if (is_used(&names[i], body))
            text_format(text, "  let %s = %s\n", names[i].name,
                        names[i].origins[context % ORIGINS]);
    text_add(text, "  let s2 = s * s + 1\n  let i = argmax(x0[:, :4], axis = 1)\n"
                   "  let rest = 0.125 * (sum(v3 * v3) + sum(w4 * w4) + sum(z5) + s6 + sum(q8))\n");
    text_format(text, "  %s\n%s}\n\n", body, uses[context / ORIGINS]);
}

/* Every other one computes again what the way back needs. */
static void print_program(const char *body, int context, int number, Text *text) {
    print_pipeline(body, number, text);
    print_model(body, context, number, text);
    text_format(text, "train fit%d {\n  data = data%d(\"file\") |> batch(4)\n  loss = net%d(",
                number, number, number);
    print_each(body, "data.#", text);
    text_format(text, ")\n  optimizer = descend()\n%s}\n\n",
                context % 2 ? "  recompute = true\n" : "");
}

/* A body in a context. */
typedef struct Case {
    const Rule *rule;
    int body, context;
} Case;

static void print_cases(const Case *cases, int count, Text *text) {
    text_add(text, "model descend(w: E[...], gradient: E[...]) -> E[...] {\n"
                   "  return w - 0.125 * gradient\n}\n\n");
    for (int i = 0; i < count; i++)
        print_program(cases[i].rule->bodies[cases[i].body], cases[i].context, i, text);
}

/* Users' flags for the first of each rule. */
static Trouble try_cases(const Case *cases, int count, bool told, Findings *findings) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    bool users[TOGETHER];
    for (int i = 0; i < count; i++) users[i] = told || cases[i].body == 0;
    print_cases(cases, count, &text);
    Trouble trouble = compare_apart(&text, count, users, told, findings);
    if (told && (trouble || findings->differs)) fputs(text_string(&text), stdout);
    arena_free(arena);
    return trouble;
}

/* How many fail; each is then tried alone, and told. */
static int run_cases(const Case *cases, int count) {
    Findings findings[TOGETHER];
    int failed = 0;
    if (count == 1 && try_cases(cases, 1, true, findings) == TROUBLE_none && !findings->differs)
        return 0;
    if (count == 1) {
        printf("FAILED: %s, number %d in context %d\n", cases->rule->name, cases->body,
               cases->context);
        return 1;
    }
    if (try_cases(cases, count, false, findings) != TROUBLE_none)
        return run_cases(cases, count / 2) + run_cases(cases + count / 2, count - count / 2);
    for (int i = 0; i < count; i++)
        if (findings[i].differs) failed += run_cases(&cases[i], 1);
    return failed;
}

int main(int argc, char **argv) {
    int contexts = argc > 1 ? atoi(argv[1]) : 1, count = 0, failed = 0, total = 0;
    const char *wanted = argc > 2 ? argv[2] : "";
    Case cases[TOGETHER];
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        for (int body = 0; rules[r].bodies[body]; body++)
            for (int c = 0; c < contexts && strstr(rules[r].name, wanted); c++) {
                cases[count++] =
                    (Case){&rules[r], body, (int)(r + (size_t)body + (size_t)c) % CONTEXTS};
                total++;
                if (count == TOGETHER) failed += run_cases(cases, count), count = 0;
            }
    if (count) failed += run_cases(cases, count);
    printf("patterns: %d programs, %d failed\n", total, failed);
    return !total || failed;
}
