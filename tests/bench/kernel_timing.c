/* Kernel timing: seconds of a call of each export of a generated program, by all threads of a team
 * together, as one line of JSON. Argument: how many threads. Linked with the program's objects. */
#include "runtime/call.h"
#include "runtime/denormal.h"
#include "runtime/memory.h"
#include "runtime/team.h"
#include "tests/bench/repeated.h"

#include <stdio.h>

const FlowProgram *flow_dispatch(void);

typedef struct Kernel {
    Team *team;
    const FlowFunction *function;
    FlowFrame frame;
    long calls;
    double seconds;
} Kernel;

static void call_often(void *argument, int thread, int threads) {
    Kernel *kernel = argument;
    unsigned mode = denormals_to_zero();
    flow_barrier(&kernel->frame, thread, threads);
    double begin = seconds_now();
    for (long i = 0; i < kernel->calls; i++) {
        kernel->function->run(&kernel->frame, thread, threads);
        flow_barrier(&kernel->frame, thread, threads);
    }
    if (thread == 0) kernel->seconds = seconds_now() - begin;
    denormals_restore(mode);
}

static double repeat(void *argument, long calls) {
    Kernel *kernel = argument;
    kernel->calls = calls;
    team_run(kernel->team, call_often, kernel);
    return kernel->seconds;
}

static const void **random_arguments(const FlowFunction *function) {
    const void **fields = calloc((size_t)function->input_count + 1, sizeof *fields);
    for (int i = 0; fields && i < function->input_count; i++) {
        const FlowInput *input = &function->inputs[i];
        if (input->kind != FLOW_INPUT_field) continue;
        const int is_half = input->type.element == FLOW_bf16;
        const size_t each = is_half ? sizeof(uint16_t) : sizeof(float);
        fields[input->index] = random_numbers(is_half, flow_type_size(&input->type) / each);
    }
    return fields;
}

static double seconds_of(const FlowProgram *program, char *memory, int export, Team *team) {
    static const RunNumbers numbers;
    const FlowFunction *function = &program->exports[export];
    Call call;
    const void **fields = random_arguments(function);
    if (!fields || call_new(function, (Sizes){program, NULL}, NULL, &numbers, &call).exit) exit(3);
    call_bind(&call, fields, 1);
    FlowFrame frame = {
        .memory = memory, .inputs = call.inputs, .batch = 1, .barrier = &team->barrier};
    Kernel kernel = {.team = team, .function = function, .frame = frame};
    double seconds = seconds_of_a_call(repeat, &kernel);
    for (int i = 0; i < function->input_count; i++)
        if (function->inputs[i].kind == FLOW_INPUT_field)
            free((void *)fields[function->inputs[i].index]);
    free(fields);
    call_free(&call);
    return seconds;
}

int main(int argc, char **argv) {
    const FlowProgram *program = flow_dispatch();
    static Team team;
    team.threads = argc > 1 ? atoi(argv[1]) : 1;
    char *memory = memory_zeroed(program->memory_size);
    if (!memory) return 3;
    printf("{");
    for (int i = 0; i < program->export_count; i++)
        printf("%s\"%s\": %.9g", i ? ", " : "", program->exports[i].name,
               seconds_of(program, memory, i, &team));
    printf("}\n");
}
