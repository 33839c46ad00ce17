/* Train text: train blocks with their actions, and pipelines that run by themselves. */
#include "compiler/codegen/table_text.h"

static const char *setting_text(Printer *printer, Setting setting) {
    return arena_format(printer->arena, "{%d, %s}", setting.option,
                        number_text(printer, setting.value));
}

static void print_watch(Printer *printer, const Watch *watch) {
    text_format(printer->text, ", .watch = {true, %d, %d, %s, %s}", watch->action, watch->result,
                watch->highest ? "true" : "false", setting_text(printer, watch->patience));
}

static void print_action(Printer *printer, const Action *action) {
    static const char *const units[] = {"FLOW_UNIT_step", "FLOW_UNIT_epoch", "FLOW_UNIT_second"};
    static const char *const kinds[] = {"FLOW_ACTION_evaluate", "FLOW_ACTION_print",
                                        "FLOW_ACTION_save", "FLOW_ACTION_stop",
                                        "FLOW_ACTION_reduce"};
    text_format(printer->text, "    {.every = %s, .unit = %s, .kind = %s",
                setting_text(printer, action->every), units[action->unit], kinds[action->kind]);
    if (action->function)
        text_format(printer->text, ", .function = &f%d_function",
                    function_number(printer, action->function));
    if (action->pipeline)
        text_format(printer->text, ", .pipeline = &p%zu",
                    pipeline_number(printer->program, action->pipeline));
    if (action->text)
        text_format(printer->text, ", .text = %s", string_text(printer, action->text));
    if (action->kind == ACTION_save)
        text_format(printer->text,
                    ", .path = %s, .path_option = %d, .weights_only = %s, .keep = %d",
                    string_text(printer, action->path), action->path_option,
                    action->weights_only ? "true" : "false", action->keep);
    if (action->watch.set) print_watch(printer, &action->watch);
    if (action->kind == ACTION_reduce)
        text_format(printer->text, ", .factor = %s", setting_text(printer, action->factor));
    text_add(printer->text, "},\n");
}

static void print_actions(Printer *printer, const Train *train, size_t index) {
    if (!train->actions.count) return;
    text_format(printer->text, "static const FlowAction t%zu_actions[] = {\n", index);
    vector_each(Action, action, train->actions) print_action(printer, action);
    text_add(printer->text, "};\n");
}

static void print_fits(Printer *printer, const Train *train, size_t index) {
    if (!train->fits.count) return;
    text_format(printer->text, "static const FlowFunction *const t%zu_fits[] = {", index);
    vector_each(Function *, fit, train->fits)
        text_format(printer->text, "&f%d_function, ", function_number(printer, *fit));
    text_add(printer->text, "};\n");
}

static void print_train(Printer *printer, const Train *train, size_t index) {
    Text *text = printer->text;
    text_format(text,
                "    {\n        .name = %s,\n        .initialise = &f%d_function,\n"
                "        .step = &f%d_function,\n        .data = &p%zu,\n"
                "        .epochs = %s,\n        .seed = %s,\n        .steps = %s,\n",
                string_text(printer, train->name), function_number(printer, &train->initialise),
                function_number(printer, &train->step),
                pipeline_number(printer->program, train->data),
                setting_text(printer, train->epochs), setting_text(printer, train->seed),
                setting_text(printer, train->steps));
    if (train->accumulate.graph)
        text_format(
            text, "        .accumulate = &f%d_function,\n        .accumulate_count = %lld,\n",
            function_number(printer, &train->accumulate), (long long)train->accumulate_count);
    if (train->fits.count)
        text_format(text, "        .fits = t%zu_fits,\n        .fit_count = %zu,\n", index,
                    train->fits.count);
    if (train->memory) text_format(text, "        .memory = %.0f,\n", train->memory);
    if (train->actions.count)
        text_format(text, "        .actions = t%zu_actions,\n        .action_count = %zu,\n", index,
                    train->actions.count);
    text_add(text, "    },\n");
}

void print_trains(Printer *printer) {
    const Program *program = printer->program;
    if (!printer->trains || !program->trains.count) return;
    for (size_t i = 0; i < program->trains.count; i++) {
        print_fits(printer, &program->trains.items[i], i);
        print_actions(printer, &program->trains.items[i], i);
    }
    text_add(printer->text, "static const FlowTrain trains[] = {\n");
    for (size_t i = 0; i < program->trains.count; i++)
        print_train(printer, &program->trains.items[i], i);
    text_add(printer->text, "};\n\n");
}

static void print_loads(Printer *printer, const Run *run, size_t index) {
    if (!run->loads.count) return;
    text_format(printer->text, "static const FlowLoad run%zu_loads[] = {\n", index);
    vector_each(Load, load, run->loads)
        text_format(printer->text, "    {%s, %s},\n", string_text(printer, load->prefix),
                    string_text(printer, load->path));
    text_add(printer->text, "};\n");
}

static void print_sink_fields(Printer *printer, const Sink *sink, const char *name) {
    text_format(printer->text, "static const FlowSinkField %s[] = {\n", name);
    vector_each(SinkField, field, sink->fields)
        text_format(
            printer->text,
            "    {.name = %s, .text = %s, .path = %s, .option = %d, .encoder = %s, .index = %d},\n",
            string_text(printer, field->name), field->text ? "true" : "false",
            string_text(printer, field->path), field->path_option,
            field->encoder ? arena_format(printer->arena, "&flow_encoder_%s", field->encoder)
                           : "NULL",
            field->index);
    text_add(printer->text, "};\n");
}

static void print_outlets(Printer *printer, const Run *run, size_t index) {
    Text rows = text_new(printer->arena);
    for (size_t i = 0; i < run->sinks.count; i++) {
        const Sink *sink = &run->sinks.items[i];
        const char *fields = arena_format(printer->arena, "run%zu_%zu_fields", index, i);
        print_sink_fields(printer, sink, fields);
        text_format(&rows, "    {&flow_sink_%s, {%s, %d, %d, %lld}, %s, %s, %zu},\n", sink->name,
                    string_text(printer, sink->path), sink->path_option, sink->quality,
                    (long long)sink->shard, sink->of_results ? "true" : "false", fields,
                    sink->fields.count);
    }
    text_format(printer->text, "static const FlowOutlet run%zu_outlets[] = {\n%s};\n", index,
                text_string(&rows));
}

static void print_run(Printer *printer, const Run *run, size_t index) {
    Arena *arena = printer->arena;
    const char *function = "NULL", *loads = "NULL";
    if (run->function)
        function = arena_format(arena, "&f%d_function", function_number(printer, run->function));
    if (run->loads.count) loads = arena_format(arena, "run%zu_loads", index);
    text_format(printer->text, "    {%s, &p%zu, %s, %zu, run%zu_outlets, %zu, %s, %zu},\n",
                string_text(printer, run->name), pipeline_number(printer->program, run->pipeline),
                function, memory_of_run(printer->plan, run), index, run->sinks.count, loads,
                run->loads.count);
}

void print_runs(Printer *printer) {
    size_t count = printer->program->runs.count;
    if (!printer->trains || !count) return;
    for (size_t i = 0; i < count; i++) {
        const Run *run = &printer->program->runs.items[i];
        print_loads(printer, run, i);
        print_outlets(printer, run, i);
    }
    text_add(printer->text, "static const FlowRun runs[] = {\n");
    for (size_t i = 0; i < count; i++) print_run(printer, &printer->program->runs.items[i], i);
    text_add(printer->text, "};\n\n");
}
