/* Program text: constant tables, in the order in which they need each other. */
#include "compiler/codegen/program_text.h"

#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/names.h"
#include "compiler/codegen/table_text.h"
#include "compiler/codegen/unit_text.h"

/* Kernels of all functions. */

static bool any_calls(const Kernels *kernels, const char *function) {
    vector_each(SharedKernel, kernel, kernels->list)
        if (strstr(kernel->text, function)) return true;
    return false;
}

/* Of floats, and of doubles, if kernels call it. */
static void print_put_back(Printer *printer) {
    bool floats = any_calls(&printer->kernels, "flow_put_back_f32") ||
                  any_calls(&printer->kernels, "flow_put_kept_f32");
    bool doubles = any_calls(&printer->kernels, "flow_put_back_f64") ||
                   any_calls(&printer->kernels, "flow_put_kept_f64");
    if (floats || doubles) text_add(printer->text, "#include \"put_back.c\"\n");
    if (floats) text_add(printer->text, "FLOW_PUT_BACK(f32, float, int32_t)\n");
    if (doubles) text_add(printer->text, "FLOW_PUT_BACK(f64, double, int64_t)\n");
    if (floats || doubles) text_add(printer->text, "\n");
}

static void print_kernels(Printer *printer) {
    vector_each(FunctionPlan *, plan, printer->plan->functions)
        add_kernels(&printer->kernels, *plan);
    bool apart = printer->others && add_kernel_units(&printer->kernels, printer->others);
    if (apart) write_kernel_declarations(printer->text, &printer->kernels);
    vector_each(SharedKernel, kernel, printer->kernels.list)
        if (!apart || !is_apart(kernel)) write_kernel(printer->text, kernel);
    print_put_back(printer);
}

static void print_options(Printer *printer) {
    static const char *const kinds[] = {"FLOW_OPTION_integer", "FLOW_OPTION_real",
                                        "FLOW_OPTION_string"};
    if (!printer->program->options.count) return;
    text_add(printer->text, "static const FlowOption options[] = {\n");
    vector_each(Option, option, printer->program->options)
        text_format(printer->text, "    {%s, %s, %s, %s, %s, %s},\n",
                    string_text(printer, option->name), string_text(printer, option->help),
                    kinds[option->kind], number_text(printer, option->number),
                    string_text(printer, option->string), option->fixed ? "true" : "false");
    text_add(printer->text, "};\n\n");
}

static void print_storage(Printer *printer) {
    if (!printer->program->storage.count) return;
    text_add(printer->text, "static const FlowStorage storage[] = {\n");
    for (size_t i = 0; i < printer->program->storage.count; i++) {
        const Storage *storage = &printer->program->storage.items[i];
        text_format(printer->text, "    {%s, %s, %zu, %s, %s, %s, %s},\n",
                    string_text(printer, storage->name),
                    type_initialiser(printer->arena, &printer->sizes, &storage->type),
                    printer->plan->storage[i], storage->of_run ? "true" : "false",
                    string_text(printer, storage->pass), string_text(printer, storage->average),
                    storage->fitted ? "true" : "false");
    }
    text_add(printer->text, "};\n\n");
}

static void print_vocabularies(Printer *printer) {
    if (!printer->program->vocabularies.count) return;
    text_add(printer->text, "static const FlowVocabulary vocabularies[] = {\n");
    vector_each(Vocabulary, vocabulary, printer->program->vocabularies)
        text_format(printer->text, "    {%s, %d, %d, %d},\n",
                    string_text(printer, vocabulary->name), vocabulary->size, vocabulary->unknown,
                    vocabulary->missing);
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
                string_text(printer, program->name),
                string_text(printer, program->fingerprint ? program->fingerprint : ""));
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
    if (gpu_count(printer->plan))
        text_format(printer->text,
                    "    .device_text = flow_device_text,\n    .gpu_count = %d,\n"
                    "    .device_images = flow_device_images,\n",
                    gpu_count(printer->plan));
    if (gpu_count(printer->plan) && program->exact) text_add(printer->text, "    .exact = true,\n");
    if (gpu_count(printer->plan) && program->simulated)
        text_add(printer->text, "    .simulated = true,\n");
    if (program->vocabularies.count)
        text_format(printer->text,
                    "    .vocabularies = vocabularies,\n    .vocabulary_count = %zu,\n",
                    program->vocabularies.count);
    text_add(printer->text, "};\n\n");
}

void write_program(Text *text, const Plan *plan, bool trains, Generated *others, Text *device) {
    Text code = text_new(text->arena); /* what is behind it are tables, and calls of this */
    Printer printer = {.arena = text->arena,
                       .text = &code,
                       .plan = plan,
                       .program = plan->program,
                       .kernels = kernels_new(text->arena),
                       .sizes = {plan->program->sizes.items, plan->program->sizes.count,
                                 plan->program->sizes.count},
                       .trains = trains,
                       .others = others,
                       .records = map_new(text->arena)};
    printer.kernels.exact = plan->program->exact;
    printer.kernels.sizes = &printer.sizes;
    print_kernels(&printer);
    write_device_text(device, &printer.kernels);
    write_gpu_joins(device, plan);
    if (trains) print_pipelines(&printer);
    text_format(text, "/* %s: written by flowc. */\n",
                comment_text(text->arena, plan->program->name));
    write_prologue(text, text_string(&code), plan->program->exact);
    text_add(text, text_string(&code));
    printer.text = text;
    print_functions(&printer);
    print_options(&printer);
    print_storage(&printer);
    print_vocabularies(&printer);
    print_trains(&printer);
    print_runs(&printer);
    print_exports(&printer);
    print_program(&printer);
}
