/* Function text: what each function of a program takes and gives, and its calls. */
#include "compiler/codegen/table_text.h"

#include "compiler/codegen/how.h"
#include "compiler/codegen/names.h"
#include "compiler/codegen/trace_text.h"

#include <assert.h>

static void print_inputs(Printer *printer, const Function *function, int index) {
    static const char *const kinds[] = {
        [INPUT_field] = "FLOW_INPUT_field", [INPUT_option] = "FLOW_INPUT_option",
        [INPUT_step] = "FLOW_INPUT_step",   [INPUT_seed] = "FLOW_INPUT_seed",
        [INPUT_draw] = "FLOW_INPUT_draw",   [INPUT_batch] = "FLOW_INPUT_batch",
        [INPUT_size] = "FLOW_INPUT_size",   [INPUT_plateau] = "FLOW_INPUT_plateau",
        [INPUT_epoch] = "FLOW_INPUT_epoch"};
    if (!function->inputs.count) return;
    text_format(printer->text, "static const FlowInput f%d_inputs[] = {\n", index);
    vector_each(Input, input, function->inputs)
        text_format(printer->text, "    {%s, %s, %d, %s, %lld, %lld},\n",
                    string_text(printer, input->name), kinds[input->kind], input->index,
                    type_initialiser(printer->arena, &printer->sizes, &input->type),
                    (long long)input->low, (long long)input->high);
    text_add(printer->text, "};\n");
}

static void print_results(Printer *printer, const FunctionPlan *plan, int index) {
    if (!plan->function->results.count) return;
    text_format(printer->text, "static const FlowResult f%d_results[] = {\n", index);
    size_t result = 0;
    vector_each(Output, output, plan->graph->outputs) {
        if (output->kind != OUTPUT_result) continue;
        Place place = plan->places[strip_reshapes(plan->graph, output->value)];
        assert(place.kind == PLACE_memory);
        bool total = result < plan->function->totals.count && plan->function->totals.items[result];
        text_format(printer->text, "    {%s, %zu, %s, %s},\n", string_text(printer, output->name),
                    place.offset,
                    type_initialiser(printer->arena, &printer->sizes,
                                     &plan->function->results.items[result++]),
                    total ? "true" : "false");
    }
    text_add(printer->text, "};\n");
}

static const char *band_name(Printer *printer, const FunctionPlan *plan, const Band *band) {
    Text text = text_new(printer->arena);
    kernel_print(plan, band->kernels[0], &text);
    if (band->count > 1)
        text_format(&text, ", and %d more %s", calls_of_band(band) - 1,
                    band->slices                              ? "slice by slice"
                    : plan->kernels[band->kernels[0]].records ? "by bands of records"
                    : band->rows                              ? "by bands of rows"
                                                              : "in one launch");
    return string_text(printer, text_string(&text));
}

/* What a band does is told of the kernel that computes most. */
static void print_band(Printer *printer, const FunctionPlan *plan, const Band *band) {
    static const char *const arithmetics[] = {[ARITHMETIC_single] = "FLOW_SINGLE",
                                              [ARITHMETIC_double] = "FLOW_DOUBLE",
                                              [ARITHMETIC_halves] = "FLOW_HALVES",
                                              [ARITHMETIC_thirds] = "FLOW_THIRDS",
                                              [ARITHMETIC_tf32] = "FLOW_SINGLE"};
    double operations = 0, bytes = 0, far = 0;
    int most = band->kernels[0];
    for (int i = 0; i < calls_of_band(band); i++) {
        const KernelPlan *kernel = &plan->kernels[kernel_of_call(band, i)];
        if (kernel->operations > plan->kernels[most].operations) most = kernel_of_call(band, i);
        operations += kernel->operations;
        bytes += kernel->bytes;
        far += kernel->far;
    }
    const char *arithmetic = runs_on_gpu(&plan->kernels[most])
                                 ? "FLOW_ELSEWHERE"
                                 : arithmetics[arithmetic_of(plan, most)];
    text_format(printer->text, "    {%d, %s, %s, %s, %.17g, %.17g, %.17g},\n", band->kernels[0],
                band_name(printer, plan, band), how_literal(printer->arena, plan, most), arithmetic,
                operations, bytes, far);
}

static void print_transfer(Printer *printer, const FunctionPlan *plan, const Transfer *transfer) {
    Text name = text_new(printer->arena);
    transfer_print(plan, transfer, &name);
    text_format(printer->text, "    {-1, %s, \"\", FLOW_SINGLE, 0, 0, 0},\n",
                string_text(printer, text_string(&name)));
}

static void print_work(Printer *printer, const FunctionPlan *plan, int index) {
    if (!plan->kernel_count) return;
    text_format(printer->text, "static const FlowWork f%d_work[] = {\n", index);
    vector_each(Band, band, plan->bands) {
        if (band->transfer) print_transfer(printer, plan, band->transfer);
        else print_band(printer, plan, band);
    }
    text_add(printer->text, "};\n");
}

int function_number(Printer *printer, const Function *function) {
    int index = 0;
    vector_each(FunctionPlan *, plan, printer->plan->functions) {
        if ((*plan)->function == function) return index;
        index++;
    }
    return -1;
}

static void print_function(Printer *printer, const Function *function) {
    int index = function_number(printer, function);
    const char *name = arena_format(printer->arena, "f%d", index);
    const FunctionPlan *plan = plan_of(printer->plan, function);
    text_format(printer->text, "/* ---- %s ---- */\n\n",
                comment_text(printer->arena, function->name));
    write_function(printer->text, &printer->kernels, plan, name);
    print_inputs(printer, function, index);
    print_results(printer, plan, index);
    if (printer->trains) print_work(printer, plan, index);
}

const char *function_initialiser(Printer *printer, const Function *function, bool traced) {
    int index = function_number(printer, function);
    int inputs = (int)function->inputs.count, results = (int)function->results.count;
    const FunctionPlan *plan = plan_of(printer->plan, function);
    int works = printer->trains ? (int)plan->bands.count : 0;
    return arena_format(printer->arena, "{%s, f%d, %s, %d, %s, %d, %s, %s, %d, %s}",
                        string_text(printer, function->name), index,
                        inputs ? arena_format(printer->arena, "f%d_inputs", index) : "NULL", inputs,
                        results ? arena_format(printer->arena, "f%d_results", index) : "NULL",
                        results,
                        traced ? arena_format(printer->arena, "&f%d_trace", index) : "NULL",
                        works ? arena_format(printer->arena, "f%d_work", index) : "NULL", works,
                        plan->one_gpu ? "true" : "false");
}

static bool is_trained(const Printer *printer, const Function *function) {
    vector_each(Train, train, printer->program->trains)
        if (function == &train->step || function == &train->accumulate) return true;
    return false;
}

static void print_train_function(Printer *printer, TraceText *trace, const Function *function) {
    print_function(printer, function);
    bool traced =
        is_trained(printer, function) &&
        write_trace(trace, plan_of(printer->plan, function),
                    arena_format(printer->arena, "f%d", function_number(printer, function)));
    text_format(printer->text, "static const FlowFunction f%d_function = %s;\n\n",
                function_number(printer, function),
                function_initialiser(printer, function, traced));
}

void print_functions(Printer *printer) {
    TraceText trace = {
        .text = printer->text, .sizes = &printer->sizes, .makings = map_new(printer->arena)};
    bool traced = printer->trains && printer->program->trains.count;
    if (traced) write_trace_head(&trace);
    vector_each(Train, train, printer->program->trains) {
        if (!printer->trains) break;
        print_train_function(printer, &trace, &train->initialise);
        print_train_function(printer, &trace, &train->step);
        vector_each(Function *, fit, train->fits) print_train_function(printer, &trace, *fit);
        if (train->accumulate.graph) print_train_function(printer, &trace, &train->accumulate);
        vector_each(Action, action, train->actions)
            if (action->function) print_train_function(printer, &trace, action->function);
    }
    vector_each(Run, run, printer->program->runs)
        if (printer->trains && run->function) print_train_function(printer, &trace, run->function);
    vector_each(Export, export, printer->program->exports)
        print_function(printer, &export->function);
    if (traced) write_trace_function(&trace);
}
