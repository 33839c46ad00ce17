/* Program text: constant tables, in the order in which they need each other. */
#include "compiler/codegen/program_text.h"

#include "compiler/codegen/kernel_text.h"
#include "compiler/codegen/names.h"
#include "compiler/codegen/trace_text.h"
#include "compiler/codegen/unit_text.h"

#include <assert.h>

static int size_number(Arena *arena, DimList *sizes, Dim size) {
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->items[i] == size) return (int)i;
    vector_push(arena, sizes, size);
    return (int)sizes->count - 1;
}

const char *size_initialiser(Arena *arena, DimList *sizes, Dim size) {
    if (has_bounded(size)) return arena_format(arena, "~%d", size_number(arena, sizes, size));
    return arena_format(arena, "%lld", (long long)dim_bound(size));
}

const char *type_initialiser(Arena *arena, DimList *sizes, const Type *type) {
    Text text = text_new(arena);
    text_format(&text, "{FLOW_%s, %d, {", element_info[type->element].name, type->rank);
    for (int i = 0; i < type->rank; i++)
        text_format(&text, "%s%s", i ? ", " : "", size_initialiser(arena, sizes, type->dims[i]));
    text_add(&text, type->rank ? "}}" : "0}}");
    return text_string(&text);
}

typedef struct Printer {
    Arena *arena;
    Text *text;
    const Plan *plan;
    const Program *program;
    Kernels kernels;
    bool trains;
    DimList sizes;     /* that a run computes: FlowProgram.sizes */
    Generated *others; /* where kernels may go, or NULL */
} Printer;

static const char *literal(Printer *printer, const char *string) {
    return string_literal(printer->arena, string);
}

static const char *number(Printer *printer, double value) {
    return number_literal(printer->arena, TYPE_f64, value);
}

/* Kernels of all functions. */

static void print_kernels(Printer *printer) {
    vector_each(FunctionPlan *, plan, printer->plan->functions)
        add_kernels(&printer->kernels, *plan);
    if (printer->others && add_kernel_units(&printer->kernels, printer->others)) {
        text_add(printer->text, "#include \"kernels.h\"\n\n");
        return;
    }
    vector_each(SharedKernel, kernel, printer->kernels.list) write_kernel(printer->text, kernel);
}

/* Functions. */

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
                    literal(printer, input->name), kinds[input->kind], input->index,
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
        text_format(printer->text, "    {%s, %zu, %s, %s},\n", literal(printer, output->name),
                    place.offset,
                    type_initialiser(printer->arena, &printer->sizes,
                                     &plan->function->results.items[result++]),
                    total ? "true" : "false");
    }
    text_add(printer->text, "};\n");
}

/* The number in the names of a function's text, or -1: it is not in the program. */
static int function_number(Printer *printer, const Function *function) {
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
}

/* "{name, run, inputs, their count, results, their count, trace}" */
static const char *function_initialiser(Printer *printer, const Function *function, bool traced) {
    int index = function_number(printer, function);
    int inputs = (int)function->inputs.count, results = (int)function->results.count;
    return arena_format(
        printer->arena, "{%s, f%d, %s, %d, %s, %d, %s}", literal(printer, function->name), index,
        inputs ? arena_format(printer->arena, "f%d_inputs", index) : "NULL", inputs,
        results ? arena_format(printer->arena, "f%d_results", index) : "NULL", results,
        traced ? arena_format(printer->arena, "&f%d_trace", index) : "NULL");
}

static const char *trace_size(void *context, Dim size) {
    Printer *printer = context;
    int64_t value;
    if (dim_is_constant(size, &value))
        return arena_format(printer->arena, "%lld", (long long)value);
    return arena_format(printer->arena, "~%d", size_number(printer->arena, &printer->sizes, size));
}

static bool is_trained(const Printer *printer, const Function *function) {
    vector_each(Train, train, printer->program->trains)
        if (function == &train->step || function == &train->accumulate) return true;
    return false;
}

static void print_train_function(Printer *printer, const Function *function) {
    print_function(printer, function);
    SizeText size = {trace_size, printer};
    bool traced =
        is_trained(printer, function) &&
        write_trace(printer->text, plan_of(printer->plan, function),
                    arena_format(printer->arena, "f%d", function_number(printer, function)), &size);
    text_format(printer->text, "static const FlowFunction f%d_function = %s;\n\n",
                function_number(printer, function),
                function_initialiser(printer, function, traced));
}

static void print_functions(Printer *printer) {
    vector_each(Train, train, printer->program->trains) {
        if (!printer->trains) break;
        print_train_function(printer, &train->initialise);
        print_train_function(printer, &train->step);
        if (train->accumulate.graph) print_train_function(printer, &train->accumulate);
        vector_each(Action, action, train->actions)
            if (action->function) print_train_function(printer, action->function);
    }
    vector_each(Run, run, printer->program->runs)
        if (printer->trains && run->function) print_train_function(printer, run->function);
    vector_each(Export, export, printer->program->exports)
        print_function(printer, &export->function);
}

static size_t pipeline_number(const Program *program, const Pipeline *pipeline) {
    size_t index = 0;
    while (program->pipelines.items[index] != pipeline) index++;
    return index;
}

/* Options, storage, trains. */

static void print_options(Printer *printer) {
    static const char *const kinds[] = {"FLOW_OPTION_integer", "FLOW_OPTION_real",
                                        "FLOW_OPTION_string"};
    if (!printer->program->options.count) return;
    text_add(printer->text, "static const FlowOption options[] = {\n");
    vector_each(Option, option, printer->program->options)
        text_format(printer->text, "    {%s, %s, %s, %s, %s, %s},\n",
                    literal(printer, option->name), literal(printer, option->help),
                    kinds[option->kind], number(printer, option->number),
                    literal(printer, option->string), option->fixed ? "true" : "false");
    text_add(printer->text, "};\n\n");
}

static void print_storage(Printer *printer) {
    if (!printer->program->storage.count) return;
    text_add(printer->text, "static const FlowStorage storage[] = {\n");
    for (size_t i = 0; i < printer->program->storage.count; i++) {
        const Storage *storage = &printer->program->storage.items[i];
        text_format(printer->text, "    {%s, %s, %zu, %s, %s, %s},\n",
                    literal(printer, storage->name),
                    type_initialiser(printer->arena, &printer->sizes, &storage->type),
                    printer->plan->storage[i], storage->of_run ? "true" : "false",
                    literal(printer, storage->pass), literal(printer, storage->average));
    }
    text_add(printer->text, "};\n\n");
}

static const char *setting(Printer *printer, Setting setting) {
    return arena_format(printer->arena, "{%d, %s}", setting.option, number(printer, setting.value));
}

static void print_watch(Printer *printer, const Watch *watch) {
    text_format(printer->text, ", .watch = {true, %d, %d, %s, %s}", watch->action, watch->result,
                watch->highest ? "true" : "false", setting(printer, watch->patience));
}

static void print_action(Printer *printer, const Action *action) {
    static const char *const units[] = {"FLOW_UNIT_step", "FLOW_UNIT_epoch", "FLOW_UNIT_second"};
    static const char *const kinds[] = {"FLOW_ACTION_evaluate", "FLOW_ACTION_print",
                                        "FLOW_ACTION_save", "FLOW_ACTION_stop",
                                        "FLOW_ACTION_reduce"};
    text_format(printer->text, "    {.every = %s, .unit = %s, .kind = %s",
                setting(printer, action->every), units[action->unit], kinds[action->kind]);
    if (action->function)
        text_format(printer->text, ", .function = &f%d_function",
                    function_number(printer, action->function));
    if (action->pipeline)
        text_format(printer->text, ", .pipeline = &p%zu",
                    pipeline_number(printer->program, action->pipeline));
    if (action->text) text_format(printer->text, ", .text = %s", literal(printer, action->text));
    if (action->kind == ACTION_save)
        text_format(printer->text,
                    ", .path = %s, .path_option = %d, .weights_only = %s, .keep = %d",
                    literal(printer, action->path), action->path_option,
                    action->weights_only ? "true" : "false", action->keep);
    if (action->watch.set) print_watch(printer, &action->watch);
    if (action->kind == ACTION_reduce)
        text_format(printer->text, ", .factor = %s", setting(printer, action->factor));
    text_add(printer->text, "},\n");
}

static void print_actions(Printer *printer, const Train *train, size_t index) {
    if (!train->actions.count) return;
    text_format(printer->text, "static const FlowAction t%zu_actions[] = {\n", index);
    vector_each(Action, action, train->actions) print_action(printer, action);
    text_add(printer->text, "};\n");
}

static void print_trains(Printer *printer) {
    size_t count = printer->program->trains.count;
    if (!printer->trains || !count) return;
    for (size_t i = 0; i < count; i++)
        print_actions(printer, &printer->program->trains.items[i], i);
    text_add(printer->text, "static const FlowTrain trains[] = {\n");
    for (size_t i = 0; i < count; i++) {
        const Train *train = &printer->program->trains.items[i];
        text_format(printer->text,
                    "    {\n        .name = %s,\n        .initialise = &f%d_function,\n"
                    "        .step = &f%d_function,\n        .data = &p%zu,\n"
                    "        .epochs = %s,\n        .seed = %s,\n",
                    literal(printer, train->name), function_number(printer, &train->initialise),
                    function_number(printer, &train->step),
                    pipeline_number(printer->program, train->data), setting(printer, train->epochs),
                    setting(printer, train->seed));
        text_format(printer->text, "        .steps = %s,\n", setting(printer, train->steps));
        if (train->accumulate.graph)
            text_format(printer->text,
                        "        .accumulate = &f%d_function,\n        .accumulate_count = %lld,\n",
                        function_number(printer, &train->accumulate),
                        (long long)train->accumulate_count);
        if (train->memory) text_add(printer->text, "        .limited = true,\n");
        if (train->actions.count)
            text_format(printer->text,
                        "        .actions = t%zu_actions,\n        .action_count = %zu,\n", i,
                        train->actions.count);
        text_add(printer->text, "    },\n");
    }
    text_add(printer->text, "};\n\n");
}

static void print_loads(Printer *printer, const Run *run, size_t index) {
    if (!run->loads.count) return;
    text_format(printer->text, "static const FlowLoad run%zu_loads[] = {\n", index);
    vector_each(Load, load, run->loads)
        text_format(printer->text, "    {%s, %s},\n", literal(printer, load->prefix),
                    literal(printer, load->path));
    text_add(printer->text, "};\n");
}

static void print_runs(Printer *printer) {
    static const char *const sinks[] = {"FLOW_SINK_print", "FLOW_SINK_csv"};
    size_t count = printer->program->runs.count;
    if (!printer->trains || !count) return;
    for (size_t i = 0; i < count; i++) print_loads(printer, &printer->program->runs.items[i], i);
    text_add(printer->text, "static const FlowRun runs[] = {\n");
    for (size_t i = 0; i < count; i++) {
        const Run *run = &printer->program->runs.items[i];
        const char *function = run->function ? arena_format(printer->arena, "&f%d_function",
                                                            function_number(printer, run->function))
                                             : "NULL";
        const char *loads =
            run->loads.count ? arena_format(printer->arena, "run%zu_loads", i) : "NULL";
        text_format(printer->text, "    {%s, &p%zu, %s, %s, %s, %s, %zu},\n",
                    literal(printer, run->name), pipeline_number(printer->program, run->pipeline),
                    function, sinks[run->sink], literal(printer, run->path), loads,
                    run->loads.count);
    }
    text_add(printer->text, "};\n\n");
}

/* An array of copies would not be constant in C, so the exports' functions are written out. */
static void print_exports(Printer *printer) {
    if (!printer->program->exports.count) return;
    text_add(printer->text, "static const FlowFunction exports[] = {\n");
    vector_each(Export, export, printer->program->exports)
        text_format(printer->text, "    %s,\n",
                    function_initialiser(printer, &export->function, false));
    text_add(printer->text, "};\n\n");
}

/* Sizes. */

static void print_bounds(Printer *printer) {
    if (!printer->program->bounds.count) return;
    text_add(printer->text, "static const FlowBound bounds[] = {\n");
    vector_each(Bound, bound, printer->program->bounds)
        text_format(printer->text, "    {%s, %lld},\n", literal(printer, bound->name),
                    (long long)dim_bound(bound->symbol));
    text_add(printer->text, "};\n\n");
}

static void print_sizes(Printer *printer) {
    Text *text = printer->text;
    if (!printer->sizes.count) return;
    for (size_t i = 0; i < printer->sizes.count; i++)
        text_format(text,
                    "static int64_t size_%zu(int64_t batch, const int64_t *sizes) {\n"
                    "    (void)batch, (void)sizes;\n    return %s;\n}\n",
                    i, dim_expression(printer->arena, printer->sizes.items[i]));
    text_add(text, "static FlowSize *const sizes[] = {");
    for (size_t i = 0; i < printer->sizes.count; i++)
        text_format(text, "%ssize_%zu", i ? ", " : "", i);
    text_add(text, "};\n\n");
}

/* Quotients of bounded dimensions, each once. */
typedef struct Quotients {
    Printer *printer;
    Map known;
    Text text;
} Quotients;

static void print_quotient(Dim dividend, Dim divisor, void *context) {
    Quotients *quotients = context;
    Arena *arena = quotients->printer->arena;
    const char *text =
        dim_text(arena, dim_divide(quotients->printer->program->dimensions, dividend, divisor));
    if (!dim_is_bounded(dividend) || map_get(&quotients->known, text)) return;
    map_put(&quotients->known, text, quotients);
    text_format(&quotients->text, "    if (%s %% %s) return %s;\n", dim_expression(arena, dividend),
                dim_expression(arena, divisor), literal(quotients->printer, text));
}

static bool print_misfit(Printer *printer) {
    Quotients quotients = {printer, map_new(printer->arena), text_new(printer->arena)};
    if (!printer->program->bounds.count) return false;
    vector_each(FunctionPlan *, plan, printer->plan->functions)
        vector_each(Node, node, (*plan)->graph->nodes)
            for (int i = 0; i < node->type.rank; i++)
                dim_each_quotient(node->type.dims[i], print_quotient, &quotients);
    vector_each(Dim, size, printer->sizes) dim_each_quotient(*size, print_quotient, &quotients);
    text_format(printer->text,
                "static const char *misfit(const int64_t *sizes) {\n    (void)sizes;\n%s"
                "    return NULL;\n}\n\n",
                text_string(&quotients.text));
    return true;
}

static const char *table(Printer *printer, const char *name, size_t count) {
    return arena_format(printer->arena, "    .%s = %s,\n    .%.*s_count = %zu,\n", name,
                        count ? name : "NULL", (int)strlen(name) - (strcmp(name, "storage") != 0),
                        name, count);
}

static void print_program(Printer *printer) {
    const Program *program = printer->program;
    print_bounds(printer);
    print_sizes(printer);
    bool misfit = print_misfit(printer);
    text_format(printer->text,
                "extern const FlowProgram FLOW_PROGRAM_NAME;\n"
                "const FlowProgram FLOW_PROGRAM_NAME = {\n"
                "    .name = %s,\n    .folder = FLOW_FOLDER,\n"
                "    .fingerprint = %s,\n",
                literal(printer, program->name),
                literal(printer, program->fingerprint ? program->fingerprint : ""));
    text_add(printer->text, table(printer, "options", program->options.count));
    if (program->bounds.count)
        text_add(printer->text, table(printer, "bounds", program->bounds.count));
    if (printer->sizes.count) text_add(printer->text, "    .sizes = sizes,\n");
    if (misfit) text_add(printer->text, "    .misfit = misfit,\n");
    text_add(printer->text, table(printer, "storage", program->storage.count));
    text_format(printer->text, "    .memory_size = %zu,\n", printer->plan->memory_size);
    text_add(printer->text, table(printer, "trains", printer->trains ? program->trains.count : 0));
    text_add(printer->text, table(printer, "runs", printer->trains ? program->runs.count : 0));
    text_add(printer->text, table(printer, "exports", program->exports.count));
    text_add(printer->text, "};\n\n");
}

void write_program(Text *text, const Plan *plan, bool trains, Generated *others) {
    Printer printer = {.arena = text->arena,
                       .text = text,
                       .plan = plan,
                       .program = plan->program,
                       .kernels = kernels_new(text->arena),
                       .sizes = {plan->program->sizes.items, plan->program->sizes.count,
                                 plan->program->sizes.count},
                       .trains = trains,
                       .others = others};
    text_format(text, "/* %s: written by flowc. */\n#include \"program.h\"\n\n",
                comment_text(text->arena, plan->program->name));
    print_kernels(&printer);
    if (trains) write_pipelines(text, plan, &printer.kernels, &printer.sizes);
    print_functions(&printer);
    print_options(&printer);
    print_storage(&printer);
    print_trains(&printer);
    print_runs(&printer);
    print_exports(&printer);
    print_program(&printer);
}
