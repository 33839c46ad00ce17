/* Explain kernels: beside a plan, what each kernel becomes and the time that it can't be below on
 * this machine, as its peaks are measured now. */
#include "compiler/codegen/how.h"
#include "compiler/driver/explain.h"
#include "runtime/device/device.h"
#include "runtime/peaks.h"

static FlowArithmetic arithmetic(const FunctionPlan *plan, int kernel) {
    switch (arithmetic_of(plan, kernel)) {
    case ARITHMETIC_tf32: /* of GPUs, and this is a processor's */
    case ARITHMETIC_single: return FLOW_SINGLE;
    case ARITHMETIC_double: return FLOW_DOUBLE;
    case ARITHMETIC_halves: return FLOW_HALVES;
    case ARITHMETIC_thirds: return FLOW_THIRDS;
    }
    return FLOW_SINGLE;
}

static Floor floor_of(const Peaks *peaks, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    const FlowWork work = {.arithmetic = arithmetic(plan, k),
                           .operations = kernel->operations,
                           .bytes = kernel->bytes,
                           .far = kernel->far};
    return peaks_floor(peaks, &work);
}

typedef struct Explained {
    const Plan *plan;
    const Peaks *peaks; /* or NULL */
} Explained;

/* One thread computes each record, while others compute other ones. */
static bool is_of_record(const Explained *explained, const FunctionPlan *plan) {
    return plan->function->of_record && plan_of(explained->plan, plan->function) == plan;
}

static void note_how(const void *context, const FunctionPlan *plan, int kernel, int depth,
                     Text *text) {
    const Explained *explained = context;
    text_format(text, "%*s", depth, "");
    how_print(plan, kernel, text);
    if (!is_of_record(explained, plan)) share_print(plan, kernel, text);
    text_add(text, "\n");
    if (!explained->peaks || is_of_record(explained, plan)) return;
    Floor floor = floor_of(explained->peaks, plan, kernel);
    if (floor.seconds > 0 && !runs_on_gpu(&plan->kernels[kernel]))
        text_format(text, "%*sat least %.4g us: %s\n", depth, "", floor.seconds * 1e6, floor.name);
}

static void note_sum(const void *context, const FunctionPlan *plan, Text *text) {
    const Explained *explained = context;
    double seconds = 0;
    if (!explained->peaks || is_of_record(explained, plan)) return;
    for (int k = 0; k < plan->kernel_count; k++)
        if (!runs_on_gpu(&plan->kernels[k])) seconds += floor_of(explained->peaks, plan, k).seconds;
    if (seconds > 0)
        text_format(text, "  at least %.4g us, the sum of its kernels\n", seconds * 1e6);
}

/* "planned for a CPU and 2 GPUs" */
static void print_machine(const Program *program, Text *text) {
    const char *simulated = program->simulated ? "simulated " : "";
    text_add(text, "planned for a CPU");
    if (program->gpus)
        text_format(text, " and %d %sGPU%s", program->gpus, simulated,
                    program->gpus > 1 ? "s" : "");
    else text_add(text, " alone: no GPU is here or visible, or the program has no use for one");
    text_add(text, "\n");
}

void explain_plan(const Plan *plan, bool predicts, Text *text) {
    Peaks peaks = {0};
    if (predicts) {
        char said[160];
        print_machine(plan->program, text);
        peaks = peaks_measure(processor_ask().cores);
        peaks_text(&peaks, said, sizeof said);
        text_format(text, "limits of %d threads, as measured now: %s\n\n", peaks.threads, said);
    }
    const Explained explained = {plan, predicts ? &peaks : NULL};
    const PlanNotes notes = {note_how, note_sum, &explained};
    plan_print(plan, &notes, text);
}
