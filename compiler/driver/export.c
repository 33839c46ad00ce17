/* flowc export: a C library with its header, its weights and what pkg-config wants to know. */
#define _GNU_SOURCE
#include "compiler/codegen/names.h"
#include "compiler/driver/ahead.h"
#include "compiler/driver/cache.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/select.h"
#include "lang/base/path.h"
#include "runtime/format/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the weights that exports read. */
static Map used_weights(const Program *program) {
    Map used = map_new(program->arena);
    vector_each(Export, export, program->exports)
        vector_each(Node, node, export->function.graph->nodes)
            if (node->op == OP_weight) map_put(&used, node->name, (void *)node->name);
    return used;
}

/* What is deployed: the exports and the weights they read; no training. */
static Program exports_only(const Program *program) {
    Program deployed = *program;
    deployed.storage.items = NULL;
    deployed.storage.count = deployed.storage.capacity = 0;
    Map used = used_weights(program);
    deployed.trains.count = deployed.pipelines.count = 0;
    deployed.vocabularies.items = NULL;
    deployed.vocabularies.count = deployed.vocabularies.capacity = 0;
    vector_each(Vocabulary, vocabulary, program->vocabularies)
        if (vocabulary->learned) vector_push(program->arena, &deployed.vocabularies, *vocabulary);
    vector_each(Storage, storage, program->storage)
        if (map_get(&used, storage->name)) vector_push(program->arena, &deployed.storage, *storage);
    return deployed;
}

/* Where training saves: the first `save` of the program. */
static const char *saved_path(const Program *program) {
    vector_each(Train, train, program->trains)
        vector_each(Action, action, train->actions)
            if (action->kind == ACTION_save) return action->path;
    return NULL;
}

static int failed(const char *path) {
    fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    return EXIT_resource;
}

/* Weights. */

static FlowType runtime_type(const Type *type) {
    static const FlowElement elements[] = {
#define ELEMENT(name, bytes, c, computed, class, rank) FLOW_##name,
#include "compiler/types/elements.def"
#undef ELEMENT
    };
    FlowType result = {.element = elements[type->element], .rank = type->rank};
    for (int i = 0; i < type->rank; i++) result.sizes[i] = dim_bound(type->dims[i]);
    return result;
}

/* Vocabularies are texts of the file that has the weights; those that it lacks are missed later. */
static int copy_vocabularies(const Program *deployed, const Safetensors *file, Metadata *metadata) {
    int count = 0;
    vector_each(Vocabulary, vocabulary, deployed->vocabularies) {
        const char *name = arena_format(deployed->arena, "vocabulary.%s", vocabulary->name);
        const char *text = safetensors_metadata(file, name);
        if (text) metadata[count++] = (Metadata){name, arena_format(deployed->arena, "%s", text)};
    }
    return count;
}

/* The deployed weights alone: a checkpoint also holds what only training needs. */
static FlowStatus copy_weights(const Program *deployed, const char *from, const char *to) {
    Arena *arena = deployed->arena;
    int count = (int)deployed->storage.count;
    FlowStorage *storages = arena_new_array(arena, FlowStorage, count + 1);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        const Storage *storage = &deployed->storage.items[i];
        storages[i] = (FlowStorage){
            .name = storage->name, .type = runtime_type(&storage->type), .offset = size};
        size += (size_t)type_size_bound(&storage->type);
    }
    char *memory = arena_allocate(arena, size + 1);
    Safetensors *file;
    FlowStatus status = safetensors_open(from, &file);
    for (int i = 0; i < count && !status.exit; i++) {
        FlowStorage stored = storages[i];
        const char *average = deployed->storage.items[i].average;
        if (average && safetensors_find(file, average)) stored.name = average;
        status = safetensors_read(file, &stored, memory + stored.offset);
    }
    Metadata *metadata = arena_new_array(arena, Metadata, deployed->vocabularies.count + 1);
    int texts = status.exit ? 0 : copy_vocabularies(deployed, file, metadata);
    safetensors_close(file);
    return status.exit ? status : safetensors_write(to, storages, count, memory, metadata, texts);
}

static int put_weights(const Compilation *compilation, const Program *deployed, const char *folder,
                       const char *name) {
    Arena *arena = compilation->arena;
    const char *given = compilation->arguments->weights;
    const char *from = given ? given : saved_path(compilation->program);
    const char *to = arena_format(arena, "%s/%s.safetensors", folder, name);
    if (!deployed->storage.count) return EXIT_ok;
    if (!from || (!given && !file_exists(from))) {
        fprintf(stderr,
                "flowc: no weights yet: train first (`flowc run %s`), or say --weights=FILE\n",
                compilation->arguments->file);
        return EXIT_ok;
    }
    char *source = realpath(from, NULL), *target = realpath(to, NULL);
    bool same = source && target && !strcmp(source, target); /* a checkpoint is not cut down */
    free(source);
    free(target);
    if (same) return EXIT_ok;
    FlowStatus status = copy_weights(deployed, from, to);
    if (status.exit) fprintf(stderr, "flowc: %s\n", status.text);
    return status.exit;
}

static int put_description(Arena *arena, const char *folder, const char *name) {
    const char *path = arena_format(arena, "%s/%s.pc", folder, name);
    const char *text = arena_format(
        arena,
        "libdir=%s\n\nName: %s\nDescription: made by flowc\nVersion: 1\n"
        "Libs: -L${libdir} -l%s\nLibs.private: -lz -lm -lpthread\nCflags: -I${libdir}\n",
        path_full(arena, folder), name, name);
    return file_write(path, text, strlen(text)) ? EXIT_ok : failed(path);
}

static int put_library(const Toolchain *toolchain, const Generated *generated, const char *folder,
                       const char *name, bool keep) {
    Arena *arena = toolchain->arena;
    const char *scratch = scratch_folder(arena);
    if (!scratch) return EXIT_resource;
    int status = EXIT_resource;
    if (write_generated(arena, generated, scratch) &&
        toolchain_library(toolchain, generated, scratch, name)) {
        status = EXIT_ok;
        const char *files[] = {arena_format(arena, "lib%s.a", name),
                               arena_format(arena, "lib%s.so", name),
                               arena_format(arena, "%s.h", name)};
        for (size_t i = 0; i < 3 && status == EXIT_ok; i++) {
            const char *to = arena_format(arena, "%s/%s", folder, files[i]);
            if (!file_copy(arena, arena_format(arena, "%s/%s", scratch, files[i]), to,
                           i == 1 ? 0755 : 0644))
                status = failed(to);
        }
    }
    if (keep) fprintf(stderr, "flowc: the generated files are in %s\n", scratch);
    else folder_remove(scratch);
    return status;
}

/* Training may want other devices. */
static int settle_export(const Compilation *compilation, Program *deployed, Plan *plan) {
    Compilation exports = *compilation;
    exports.program = deployed;
    exports.plan = plan;
    return settle_devices(&exports);
}

static int put_export(const Toolchain *toolchain, Arguments *arguments,
                      const Compilation *compilation, const Plan *plan, const Program *deployed,
                      const char *folder) {
    Arena *arena = compilation->arena;
    const char *name = public_name(arena, deployed->name);
    Generated generated = codegen_library(arena, plan);
    int status = ahead_for_here(arena, arguments, &generated);
    if (status == EXIT_ok) status = ahead_add(compilation, &generated);
    if (status != EXIT_ok) return status;
    status = put_library(toolchain, &generated, folder, name, arguments->keep);
    if (compilation_failed(compilation)) status = EXIT_program;
    if (status == EXIT_ok) status = put_description(arena, folder, name);
    return status == EXIT_ok ? put_weights(compilation, deployed, folder, name) : status;
}

int command_export(Arguments *arguments) {
    Compilation compilation;
    arguments->uses_gpus = arguments->deploys = true;
    int status = ahead_parse(arena_new(), arguments); /* lives as long as the process */
    if (status == EXIT_ok) status = command_compile(&compilation, arguments, true, STOP_plan);
    if (status != EXIT_ok) return status;
    Arena *arena = compilation.arena;
    if (!compilation.program->exports.count) {
        fprintf(stderr, "flowc: %s has no export\n", arguments->file);
        return EXIT_program;
    }
    status = select_exports(&compilation);
    if (status != EXIT_ok) return status;
    Program deployed = exports_only(compilation.program);
    Plan *plan = plan_program(arena, &deployed);
    status = settle_export(&compilation, &deployed, plan);
    if (status != EXIT_ok) return status;
    const char *folder = arguments->output ? arguments->output : ".";
    Toolchain toolchain = {.arena = arena, .home = compilation.home};
    status = toolchain_find(&toolchain, arguments, "all");
    if (status != EXIT_ok) return status;
    status = toolchain_link(&toolchain, &compilation, &deployed);
    if (status != EXIT_ok) return status;
    const bool was_there = file_exists(folder);
    if (!folder_make(folder, 0777)) return failed(folder);
    status = put_export(&toolchain, arguments, &compilation, plan, &deployed, folder);
    if (status != EXIT_ok && !was_there) folder_remove(folder);
    return status;
}
