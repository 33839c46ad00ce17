/* Library text: a C header with the program's exports, and the functions behind it. */
#include "compiler/codegen/program_text.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/writer.h"

#include <string.h>

/* Names for the parameters of an export, no two alike. */
typedef Vector(const char *) Names;

static const char *distinct(Arena *arena, Names *used, const char *text) {
    const char *name = public_name(arena, text), *candidate = name;
    for (int i = 2;; i++) {
        bool taken = false;
        vector_each(const char *, other, *used) taken = taken || !strcmp(*other, candidate);
        if (!taken) break;
        candidate = arena_format(arena, "%s_%d", name, i);
    }
    vector_push(arena, used, candidate);
    return candidate;
}

/* The number of elements in brackets; a size that differs from call to call is left out. */
static const char *count_text(Arena *arena, const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (has_bounded(type->dims[i])) return "[]";
    return arena_format(arena, "[%lld]",
                        (long long)(type_size_bound(type) / element_info[type->element].size));
}

static void note_use(Dim symbol, void *used) {
    int number = dim_bounded_number(symbol);
    if (number >= 0) ((bool *)used)[number] = true;
}

/* Which of the program's bounds the export depends on. */
static const bool *used_bounds(Arena *arena, const Program *program, const Export *export) {
    bool *used = arena_new_array(arena, bool, program->bounds.count + 1);
    vector_each(Node, node, export->function.graph->nodes)
        for (int i = 0; i < node->type.rank; i++)
            dim_each_symbol(node->type.dims[i], note_use, used);
    vector_each(Input, input, export->function.inputs)
        if (input->kind == INPUT_size)
            dim_each_symbol(program->sizes.items[input->index], note_use, used);
    vector_each(Field, field, export->arguments)
        for (int i = 0; i < field->type.rank; i++)
            dim_each_symbol(field->type.dims[i], note_use, used);
    return used;
}

/* "Digits" */
static const char *handle_name(Arena *arena, const Program *program) {
    char *name = arena_format(arena, "%s", public_name(arena, program->name));
    if (*name >= 'a') *name = (char)(*name - 'a' + 'A');
    return name;
}

static void write_parameters(Text *text, const Program *program, const Export *export,
                             Names *names) {
    const bool *used = used_bounds(text->arena, program, export);
    for (size_t i = 0; i < program->bounds.count; i++)
        if (used[i])
            text_format(text, ", int64_t %s",
                        distinct(text->arena, names, program->bounds.items[i].name));
    vector_each(Field, field, export->arguments) {
        const char *name = distinct(text->arena, names, field->name);
        const char *type = element_info[field->type.element].c;
        if (!field->type.rank) text_format(text, ", %s %s", type, name);
        else
            text_format(text, ", const %s %s%s", type, name, count_text(text->arena, &field->type));
    }
    size_t index = 0;
    vector_each(Output, output, export->function.graph->outputs) {
        if (output->kind != OUTPUT_result) continue;
        const Type *result = &export->function.results.items[index++];
        const char *name = distinct(text->arena, names, output->name ? output->name : "y");
        const char *type = element_info[result->element].c;
        if (!result->rank) text_format(text, ", %s *%s", type, name);
        else text_format(text, ", %s %s%s", type, name, count_text(text->arena, result));
    }
}

/* What a vocabulary's function is called: "titanic_embarked_index" asks for the number of a text,
 * "_text" for the text of a number. The name is the column's. */
static const char *category_name(Arena *arena, const Program *program, size_t index,
                                 const char *what) {
    Names names = {0};
    const char *name = NULL;
    for (size_t i = 0; i <= index; i++) {
        const char *whole = program->vocabularies.items[i].name, *point = strchr(whole, '.');
        name = distinct(arena, &names, point ? point + 1 : whole);
    }
    return arena_format(arena, "%s_%s", name, what);
}

/* The exports' names, which must differ from all others. */
static const char *export_name(Arena *arena, const Program *program, size_t index) {
    Names names = {0};
    distinct(arena, &names, "create");
    distinct(arena, &names, "destroy");
    distinct(arena, &names, "message");
    distinct(arena, &names, "set_threads");
    for (size_t i = 0; i < program->vocabularies.count; i++) {
        vector_push(arena, &names, category_name(arena, program, i, "index"));
        vector_push(arena, &names, category_name(arena, program, i, "text"));
    }
    const char *name = NULL;
    for (size_t i = 0; i <= index; i++)
        name = distinct(arena, &names, program->exports.items[i].function.name);
    return arena_format(arena, "%s_%s", public_name(arena, program->name), name);
}

/* What an export's C function calls its own: no parameter may. */
static const char *const own_names[] = {"instance", "sizes", "arguments", "results"};
enum { OWN_NAMES = sizeof own_names / sizeof *own_names };

static Names write_signature(Text *text, const Program *program, size_t index) {
    Names names = {0};
    text_format(text, "int %s(%s *instance", export_name(text->arena, program, index),
                handle_name(text->arena, program));
    for (size_t i = 0; i < OWN_NAMES; i++) distinct(text->arena, &names, own_names[i]);
    write_parameters(text, program, &program->exports.items[index], &names);
    text_add(text, ")");
    return names;
}

static void describe(Text *text, const char *what, const char *name, const Type *type) {
    text_format(text, " *   %s %s: %s\n", what, comment_text(text->arena, name),
                comment_text(text->arena, type_text(text->arena, type)));
}

static void describe_ranges(Text *text, const Export *export) {
    vector_each(Input, input, export->function.inputs)
        if (input->low || input->high)
            text_format(text, " *   in %s: from %lld to %lld\n",
                        comment_text(text->arena, input->name), (long long)input->low,
                        (long long)input->high - 1);
}

static void write_export(Text *text, const Program *program, size_t index) {
    const Export *export = &program->exports.items[index];
    Names names = write_signature(text, program, index);
    size_t parameter = OWN_NAMES;
    const bool *used = used_bounds(text->arena, program, export);
    text_add(text, " {\n    const int64_t sizes[] = {");
    for (size_t i = 0; i < program->bounds.count; i++)
        text_format(text, "%s, ",
                    used[i] ? names.items[parameter++]
                            : arena_format(text->arena, "%lld",
                                           (long long)dim_bound(program->bounds.items[i].symbol)));
    text_add(text, "0};\n    const void *const arguments[] = {");
    vector_each(Field, field, export->arguments)
        text_format(text, "%s%s, ", field->type.rank ? "" : "&", names.items[parameter++]);
    text_add(text, "NULL};\n    void *const results[] = {");
    for (; parameter < names.count; parameter++) text_format(text, "%s, ", names.items[parameter]);
    text_format(text,
                "NULL};\n    return (int)flow_library_run((FlowLibrary *)instance, %zu, sizes, "
                "arguments, results);\n}\n\n",
                index);
}

static void write_categories_head(Text *text, const Program *program, size_t index, bool of_text) {
    Arena *arena = text->arena;
    const char *name = public_name(arena, program->name), *handle = handle_name(arena, program);
    const char *own = category_name(arena, program, index, of_text ? "index" : "text");
    if (of_text)
        text_format(text, "int %s_%s(const %s *instance, const char *text)", name, own, handle);
    else text_format(text, "const char *%s_%s(const %s *instance, int index)", name, own, handle);
}

static void write_categories(Text *text, const Program *program, size_t index) {
    write_categories_head(text, program, index, true);
    text_format(
        text,
        " {\n    return flow_library_category((const FlowLibrary *)instance, %zu, text);\n}\n\n",
        index);
    write_categories_head(text, program, index, false);
    text_format(
        text, " {\n    return flow_library_text((const FlowLibrary *)instance, %zu, index);\n}\n\n",
        index);
}

static void describe_categories(Text *text, const Program *program, size_t index) {
    const Vocabulary *vocabulary = &program->vocabularies.items[index];
    text_format(text, "/* %s: what a text is, from 0 to %d, as training found them",
                comment_text(text->arena, vocabulary->name), vocabulary->size - 1);
    if (vocabulary->missing) text_format(text, "; NULL is missing: %d", vocabulary->missing - 1);
    if (vocabulary->unknown) text_format(text, "; any other text is %d", vocabulary->unknown - 1);
    else text_add(text, "; -1: it found no such text");
    text_add(text, ". */\n");
    write_categories_head(text, program, index, true);
    text_add(text, ";\n\n/* The way back: NULL where no text stands for the index. */\n");
    write_categories_head(text, program, index, false);
    text_add(text, ";\n\n");
}

static bool uses_gpus(const Plan *plan, const Export *export) {
    const FunctionPlan *function = plan_of(plan, &export->function);
    for (int k = 0; k < function->kernel_count; k++)
        if (runs_on_gpu(&function->kernels[k])) return true;
    return false;
}

static void write_message_head(Text *text, const Program *program) {
    text_format(text, "const char *%s_message(const %s *instance)",
                public_name(text->arena, program->name), handle_name(text->arena, program));
}

static void write_threads_head(Text *text, const Program *program) {
    text_format(text, "int %s_set_threads(%s *instance, int threads)",
                public_name(text->arena, program->name), handle_name(text->arena, program));
}

static void write_threads(Text *text, const Program *program) {
    write_threads_head(text, program);
    text_add(text, " {\n    return flow_library_threads((FlowLibrary *)instance, threads);\n}\n\n");
}

void write_library(Text *text, const Plan *plan) {
    const Program *program = plan->program;
    const char *name = public_name(text->arena, program->name);
    const char *handle = handle_name(text->arena, program);
    text_format(text, "#define LIBRARY_HANDLE %s\n#define LIBRARY_CREATE %s_create\n", handle,
                name);
    text_format(text, "#define LIBRARY_DESTROY %s_destroy\n", name);
    text_format(text, "#define LIBRARY_GUEST %s\n#include \"library.c\"\n\n",
                gpu_count(plan) ? "&flow_guest" : "NULL");
    if (gpu_count(plan)) {
        write_message_head(text, program);
        text_add(text,
                 " {\n    return flow_library_message((const FlowLibrary *)instance);\n}\n\n");
    } else {
        write_threads(text, program);
    }
    for (size_t i = 0; i < program->exports.count; i++) write_export(text, program, i);
    for (size_t i = 0; i < program->vocabularies.count; i++) write_categories(text, program, i);
}

static const char returns_size[] = "2, when a size is out of its bounds or does not come out whole";

static bool describe_returns(Text *text, const Plan *plan, const Export *export, const bool *used) {
    bool sized = false, ranged = false;
    for (size_t i = 0; i < plan->program->bounds.count; i++) sized |= used[i];
    vector_each(Input, input, export->function.inputs) ranged |= input->low || input->high;
    text_format(text, "/* %s. Returns 0%s", comment_text(text->arena, export->function.name),
                ranged && sized ? "; 1, when a value is out of its range; or "
                : ranged        ? "; or 1, when a value is out of its range"
                : sized         ? "; or "
                                : "");
    text_format(text, "%s%s.\n *\n", sized ? returns_size : "",
                uses_gpus(plan, export) ? "; or 3, when a GPU has failed" : "");
    return sized;
}

/* What a host has to know of GPUs. */
static void describe_gpus(Text *text, const Plan *plan) {
    const Program *program = plan->program;
    const char *name = public_name(text->arena, program->name);
    text_format(
        text,
        "\n *\n * It computes on %s, by the NVIDIA driver of the machine; CUDA itself is not\n"
        " * needed. $FLOWC_VISIBLE_DEVICES says which GPUs are meant, as 1,0. What else\n"
        " * the process does with GPUs goes on beside it: contexts are shared, and a\n"
        " * thread's own is current again when a call returns. A GPU that fails stays\n"
        " * failed: all later calls on the instance return 3, %s_message says why, and\n"
        " * %s_destroy is all that is left to do. GPUs don't come along where a process\n"
        " * forks: each creates its instances, and none does before it forks.",
        gpu_count(plan) > 1 ? arena_format(text->arena, "gpu(0) to gpu(%d)", gpu_count(plan) - 1)
                            : "gpu(0)",
        name, name);
}

static void describe_threads(Text *text, const Program *program) {
    text_add(
        text,
        "/* How many threads compute the calls on the instance from now on: the caller, as at\n"
        " * first, and others of the instance's own; no more than processors that the caller\n"
        " * may use, and 0: as many. Results are the same, to the bit. The others wait for the\n"
        " * next call awake, each on a processor, for a millisecond, then asleep; a call that\n"
        " * finds them so, and takes no longer than that, does without them. A child of fork\n"
        " * has none of them. The instance is destroyed before the library is closed, and no\n"
        " * call is left by a jump. Returns how many there are: fewer when the system gives no\n"
        " * more. */\n");
    write_threads_head(text, program);
    text_add(text, ";\n\n");
}

static void write_message(Text *text, const Program *program) {
    text_add(text,
             "/* Of an instance whose call returned 3: why, as one line, as long as it lives; "
             "else \"\". */\n");
    write_message_head(text, program);
    text_add(text, ";\n\n");
}

void write_header(Text *text, const Plan *plan) {
    const Program *program = plan->program;
    Arena *arena = text->arena;
    const char *name = public_name(arena, program->name), *handle = handle_name(arena, program);
    text_format(
        text,
        "/* %s.h: written by flowc.\n *\n"
        " * Different instances may be used by different threads at the same time, one\n"
        " * instance by one thread at a time. Arrays are dense, rows first. A call may take\n"
        " * 1.5 MiB of its thread's stack.",
        name);
    if (gpu_count(plan)) describe_gpus(text, plan);
    text_format(text,
                " */\n#ifndef FLOWC_%s_H\n#define FLOWC_%s_H\n\n"
                "#include <stddef.h>\n#include <stdint.h>\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                "typedef struct %s %s;\n\n"
                "/* Loads the weights. NULL on failure; message, if not NULL, then says why. */\n"
                "%s *%s_create(const char *weights, char *message, size_t size);\n"
                "void %s_destroy(%s *instance);\n\n",
                handle, handle, handle, handle, handle, name, name, handle);
    if (gpu_count(plan)) write_message(text, program);
    else describe_threads(text, program);
    for (size_t i = 0; i < program->exports.count; i++) {
        const Export *export = &program->exports.items[i];
        const bool *used = used_bounds(arena, program, export);
        bool sized = describe_returns(text, plan, export, used);
        for (size_t j = 0; j < program->bounds.count && sized; j++)
            if (used[j])
                text_format(text, " *   in %s: from 1 to %lld\n",
                            comment_text(arena, program->bounds.items[j].name),
                            (long long)dim_bound(program->bounds.items[j].symbol));
        vector_each(Field, field, export->arguments)
            describe(text, "in ", field->name, &field->type);
        describe_ranges(text, export);
        size_t result = 0;
        vector_each(Output, output, export->function.graph->outputs)
            if (output->kind == OUTPUT_result)
                describe(text, "out", output->name ? output->name : "y",
                         &export->function.results.items[result++]);
        text_add(text, " */\n");
        write_signature(text, program, i);
        text_add(text, ";\n\n");
    }
    for (size_t i = 0; i < program->vocabularies.count; i++) describe_categories(text, program, i);
    text_add(text, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
