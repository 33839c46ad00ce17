/* Module: loading files, imports first found first. Of the library it is known where a name is
 * declared; few declarations are parsed. Their names are different in all its files. */
#include "compiler/check/module.h"

#include "lang/base/path.h"
#include "lang/parse.h"

#include <ctype.h>
#include <string.h>

typedef Vector(const char *) Names;

typedef struct LibraryPart {
    Range range; /* from the declaration's first line to the next one */
    Unit *unit;  /* NULL: not parsed yet */
} LibraryPart;

typedef struct Loader {
    Module *module;
    Diagnostics *diagnostics;
    Map loaded;          /* the one path of a file, without `..` and links, to Unit * */
    const char *search;  /* folders of imports, with `:` between them */
    Map library;         /* a name to the LibraryPart * that declares it */
    Names library_names; /* in their order */
} Loader;

static void declare(Loader *loader, Unit *unit, Declaration *declaration) {
    const Name *name = &declaration->name;
    if (!name->text) return;
    const Declaration *first = map_get(&unit->names, name->text);
    if (first) {
        Diagnostic *d = diagnostic_add(loader->diagnostics, E0202, name->range,
                                       "`%s` is declared a second time", name->text);
        diagnostic_note(d, first->name.range, "the first time is here");
        return;
    }
    map_put(&unit->names, name->text, declaration);
}

/* The parameters of one declaration and the fields of one record have different names. */
static void check_name(Loader *loader, Map *seen, const Name *name, const char *what) {
    const Name *first = name->text ? map_get(seen, name->text) : NULL;
    if (name->text && !first) map_put(seen, name->text, (void *)name);
    if (!first) return;
    Diagnostic *d = diagnostic_add(loader->diagnostics, E0202, name->range,
                                   "%s `%s` is declared a second time", what, name->text);
    diagnostic_note(d, first->range, "the first time is here");
}

static void check_fields(Loader *loader, const TypeTree *type) {
    if (!type || !type->fields.count) return;
    Map seen = map_new(loader->module->arena);
    for (size_t i = 0; i < type->fields.count; i++) {
        check_name(loader, &seen, &type->fields.items[i].name, "the field");
        check_fields(loader, type->fields.items[i].type);
    }
}

static void check_parameters(Loader *loader, const Declaration *declaration) {
    Map seen = map_new(loader->module->arena);
    for (size_t i = 0; i < declaration->parameters.count; i++) {
        check_name(loader, &seen, &declaration->parameters.items[i].name, "the parameter");
        check_fields(loader, declaration->parameters.items[i].type);
    }
    check_fields(loader, declaration->result);
}

static Range all_of(const Source *source) {
    return (Range){source, 0, source->size};
}

static Unit *load_unit(Loader *loader, Range part, bool library) {
    Arena *arena = loader->module->arena;
    Unit *unit = arena_new_item(arena, Unit);
    unit->tree = parse_part(arena, part, loader->diagnostics);
    unit->names = map_new(arena);
    unit->library = library;
    if (!library) map_put(&loader->loaded, path_full(arena, part.source->path), unit);
    vector_each(Declaration *, declaration, unit->tree->declarations)
        declare(loader, unit, *declaration);
    vector_each(Declaration *, declaration, unit->tree->declarations)
        check_parameters(loader, *declaration);
    return unit;
}

/* The path of an import, beside the file that imports it. */
static const char *import_path(Arena *arena, const Source *from, const char *path) {
    const char *slash = strrchr(from->path, '/');
    if (path[0] == '/' || !slash) return path;
    return arena_format(arena, "%.*s/%s", (int)(slash - from->path), from->path, path);
}

/* The file of that path, read once; NULL (*why says why) when it can't be. */
static Unit *load_path(Loader *loader, const char *path, const char **why) {
    Module *module = loader->module;
    const char *full = path_full(module->arena, path);
    Unit *known = map_get(&loader->loaded, full);
    *why = "the program has too many files";
    if (!known && module->units.count >= IMPORT_LIMIT) return NULL;
    const Source *source = known ? known->tree->source : source_read(module->arena, path, why);
    vector_push(module->arena, &module->looked, (Looked){path, full, source});
    if (known || !source) return known;
    Unit *unit = load_unit(loader, all_of(source), false);
    vector_push(module->arena, &module->units, unit);
    return unit;
}

static Unit *search_path(Loader *loader, const char *path) {
    const char *why, *folder = loader->search;
    Unit *found = NULL;
    while (*folder && !found && path[0] != '/') {
        size_t size = strcspn(folder, ":");
        if (size)
            found = load_path(
                loader, arena_format(loader->module->arena, "%.*s/%s", (int)size, folder, path),
                &why);
        folder += size + (folder[size] == ':');
    }
    return found;
}

static Unit *load_import(Loader *loader, const Unit *from, const Declaration *import) {
    const char *why, *name = import->value->string;
    const char *path = import_path(loader->module->arena, from->tree->source, name);
    Unit *found = load_path(loader, path, &why);
    if (!found) found = search_path(loader, name);
    if (found) return found;
    Diagnostic *d =
        diagnostic_add(loader->diagnostics, E0001, import->value->range, "%s: %s", path, why);
    if (*loader->search && name[0] != '/')
        diagnostic_help(d, "it was looked for there and in %s", loader->search);
    return NULL;
}

static void load_imports(Loader *loader, Unit *unit) {
    vector_each(Declaration *, declaration, unit->tree->declarations) {
        const Declaration *import = *declaration;
        if (import->kind != DECLARATION_import || import->value->kind != EXPRESSION_string)
            continue;
        Unit *imported = load_import(loader, unit, import);
        if (imported) vector_push(loader->module->arena, &unit->imports, imported);
    }
}

/* The library: a line that begins with a letter begins a declaration, whose second word is its
 * name. */

static size_t word_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
    return length;
}

static const char *declared_name(Arena *arena, const char *line) {
    size_t keyword = word_length(line);
    if (!keyword || line[keyword] != ' ') return "";
    return arena_copy(arena, line + keyword + 1, word_length(line + keyword + 1));
}

static void note_library_file(Loader *loader, const Source *source) {
    Arena *arena = loader->module->arena;
    LibraryPart *before = NULL;
    for (uint32_t i = 0; i < source->line_count; i++) {
        const char *name = declared_name(arena, source->text + source->lines[i]);
        if (!*name) continue;
        LibraryPart *part = arena_new_item(arena, LibraryPart);
        part->range = (Range){source, source->lines[i], source->size};
        if (before) before->range.end = source->lines[i];
        before = part;
        vector_push(arena, &loader->library_names, name);
        map_put(&loader->library, name, part);
    }
}

static const Unit *library_unit(const Module *module, const char *name) {
    LibraryPart *part = map_get(&module->loader->library, name);
    if (part && !part->unit) {
        part->unit = load_unit(module->loader, part->range, true);
        vector_push(module->arena, &module->loader->module->library, part->unit);
    }
    return part ? part->unit : NULL;
}

static Loader *new_loader(Module *module, Diagnostics *diagnostics, const char *search) {
    Loader *loader = arena_new_item(module->arena, Loader);
    *loader = (Loader){.module = module,
                       .diagnostics = diagnostics,
                       .loaded = map_new(module->arena),
                       .search = search,
                       .library = map_new(module->arena)};
    return loader;
}

Module *module_load(Arena *arena, const Source *source, Source *const *library,
                    size_t library_count, const char *search, Diagnostics *diagnostics) {
    Module *module = arena_new_item(arena, Module);
    module->arena = arena;
    module->loader = new_loader(module, diagnostics, search);
    for (size_t i = 0; i < library_count; i++) note_library_file(module->loader, library[i]);
    vector_push(arena, &module->looked,
                (Looked){source->path, path_full(arena, source->path), source});
    module->program = load_unit(module->loader, all_of(source), false);
    vector_push(arena, &module->units, module->program);
    for (size_t i = 0; i < module->units.count && !diagnostics->list.count; i++) /* it grows */
        load_imports(module->loader, module->units.items[i]);
    return module;
}

static const Declaration *find_in(const Unit *unit, const char *name, const Unit **declared_in) {
    const Declaration *found = map_get(&unit->names, name);
    if (found) *declared_in = unit;
    return found;
}

const Declaration *module_find(const Module *module, const Unit *from, const char *name,
                               const Unit **declared_in) {
    const Declaration *found = find_in(from, name, declared_in);
    for (size_t i = 0; !found && i < from->imports.count; i++)
        found = find_in(from->imports.items[i], name, declared_in);
    const Unit *unit = found ? NULL : library_unit(module, name);
    return unit ? find_in(unit, name, declared_in) : found;
}

static void add_names(Arena *arena, Names *names, const Unit *unit) {
    vector_each(Declaration *, declaration, unit->tree->declarations)
        if ((*declaration)->name.text) vector_push(arena, names, (*declaration)->name.text);
}

const char *module_nearest(const Module *module, const Unit *from, const char *name) {
    Names names = {0};
    add_names(module->arena, &names, from);
    vector_each(Unit *, import, from->imports) add_names(module->arena, &names, *import);
    vector_each(const char *, known, module->loader->library_names)
        vector_push(module->arena, &names, *known);
    return nearest_name(name, names.items, names.count);
}
