/* Lock. */
#include "compiler/balance/lock.h"

#include "compiler/balance/decide.h"

#include <stdio.h>

static const char head[] = "flowc lock 1";

/* In which elements it reads and computes: " in f32 bf16", which decides most of what it takes. */
static void add_elements(const FunctionPlan *plan, int k, Text *text) {
    const KernelPlan *kernel = &plan->kernels[k];
    uint64_t found = 0;
    for (size_t i = 0; i < kernel->fused_count; i++) {
        const Node *node = graph_node(plan->graph, kernel->fused[i]);
        found |= (uint64_t)1 << node->type.element;
        for (int n = 0; n < node->input_count; n++)
            found |= (uint64_t)1 << graph_node(plan->graph, node->inputs[n])->type.element;
    }
    const char *before = " in";
    for (int element = 0; element < ELEMENT_COUNT; element++) {
        if (!(found >> element & 1)) continue;
        text_format(text, "%s %s", before, element_info[element].name);
        before = "";
    }
}

/* As kernel_print, without the lines of the program: they change when nothing else does. */
static const char *describe(Arena *arena, const FunctionPlan *plan, int k) {
    Text printed = text_new(arena), text = text_new(arena);
    kernel_print(plan, k, &printed);
    for (const char *word = text_string(&printed); *word;) {
        size_t size = strcspn(word, " ");
        const char *place = strstr(word, ".flow:");
        bool is_place = place && place < word + size;
        if (size && !is_place) text_format(&text, "%s%.*s", text.size ? " " : "", (int)size, word);
        word += size + (word[size] == ' ');
    }
    add_elements(plan, k, &text);
    return text_string(&text);
}

static const char *heading(Arena *arena, const FunctionPlan *plan) {
    return arena_format(arena, "function %s of %lld records", plan->function->name,
                        (long long)plan->batch);
}

static bool is_listed(const FunctionPlan *plan, int k) {
    return !is_placed(&plan->kernels[k].wanted);
}

static void print_function(const FunctionPlan *plan, Text *text) {
    text_format(text, "%s\n", heading(text->arena, plan));
    for (int k = 0; k < plan->kernel_count; k++) {
        int device = plan->function->decided ? plan->function->decided[k] : DECIDED_cpu;
        if (!is_listed(plan, k)) continue;
        text_format(text, "%d %s %s\n", k,
                    device == DECIDED_cpu ? "cpu" : arena_format(text->arena, "gpu(%d)", device),
                    describe(text->arena, plan, k));
    }
}

void lock_print(const Plan *plan, const char *machine, Text *text) {
    text_format(text, "%s\n# by %s\n", head, machine);
    FunctionList functions = decided_functions(text->arena, plan->program);
    vector_each(Function *, function, functions) print_function(plan_of(plan, *function), text);
}

/* Applying. */

typedef struct Applying {
    Arena *arena;
    const char *rest, *path, *why;
    int line, gpus, gpu;
} Applying;

static bool fail(Applying *applying, const char *what, const char *wanted, const char *found) {
    if (!applying->why)
        applying->why =
            arena_format(applying->arena, "%s:%d: %s `%s`, the lock has `%.200s`", applying->path,
                         applying->line, what, wanted, found ? found : "nothing more");
    return false;
}

/* NULL at the end. */
static const char *next_line(Applying *applying) {
    while (*applying->rest) {
        size_t size = strcspn(applying->rest, "\n");
        const char *line = arena_copy(applying->arena, applying->rest, size);
        applying->rest += size + (applying->rest[size] == '\n');
        applying->line++;
        if (*line && *line != '#') return line;
    }
    applying->line++;
    return NULL;
}

static bool expect(Applying *applying, const char *what, const char *wanted) {
    const char *line = next_line(applying);
    return (line && !strcmp(line, wanted)) || fail(applying, what, wanted, line);
}

/* "cpu" or "gpu(0)" */
static bool read_device(Applying *applying, const char *word, signed char *device) {
    int number, end = 0;
    *device = DECIDED_cpu;
    if (!strcmp(word, "cpu")) return true;
    bool good = sscanf(word, "gpu(%2d)%n", &number, &end) == 1 && end && !word[end];
    if (!good || number < 0 || number >= GPU_LIMIT) return false;
    *device = (signed char)number;
    if (number >= applying->gpus && number > applying->gpu) applying->gpu = number;
    return true;
}

static bool apply_kernel(Applying *applying, const FunctionPlan *plan, int k, signed char *device) {
    const char *line = next_line(applying), *described = describe(applying->arena, plan, k);
    const char *wanted = arena_format(applying->arena, "%d … %s", k, described);
    char word[12];
    int number, end = 0;
    bool whole = line && sscanf(line, "%9d %11s %n", &number, word, &end) == 2 && end;
    if (whole && number == k && !strcmp(line + end, described) &&
        read_device(applying, word, device))
        return true;
    return fail(applying, "the program has", wanted, line);
}

static bool apply_function(Applying *applying, const FunctionPlan *plan, Function *function) {
    signed char *decided = arena_new_array(applying->arena, signed char, plan->kernel_count + 1);
    if (!expect(applying, "the program has", heading(applying->arena, plan))) return false;
    for (int k = 0; k < plan->kernel_count; k++) {
        decided[k] = DECIDED_cpu;
        if (is_listed(plan, k) && !apply_kernel(applying, plan, k, &decided[k])) return false;
    }
    function->decided = decided;
    return true;
}

bool lock_apply(Arena *arena, Program *program, const char *text, const char *path,
                const char **why, int *gpu) {
    Applying applying = {
        .arena = arena, .rest = text, .path = path, .gpus = program->gpus, .gpu = -1};
    const Plan *plan = plan_with(arena, program, false);
    FunctionList functions = decided_functions(arena, program);
    bool good = expect(&applying, "a lock begins with", head);
    for (size_t i = 0; i < functions.count && good; i++) {
        Function *function = functions.items[i];
        good = apply_function(&applying, plan_of(plan, function), function);
    }
    const char *more = good ? next_line(&applying) : NULL;
    if (more) good = fail(&applying, "the program has", "nothing more", more);
    *why = applying.why;
    *gpu = applying.gpu;
    return good && applying.gpu < 0;
}
