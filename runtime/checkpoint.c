/* Checkpoint: metadata as text, sums as hexadecimal floating point so that no bit is lost.
 * A CRC-32 covers the tensors and the position. */
#define _GNU_SOURCE
#include "runtime/checkpoint.h"

#include "runtime/format/safetensors.h"
#include "runtime/format/shortest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char format_name[] = "flowc 1";

enum { VALUE_SIZE = WATCH_TEXT_SIZE, NAME_SIZE = 300 };

typedef struct Item {
    char name[NAME_SIZE], value[VALUE_SIZE];
} Item;

/* Metadata while it is made. */
typedef struct Items {
    Item *items;
    int count;
} Items;

static void add(Items *items, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(Items *items, const char *name, const char *format, ...) {
    Item *item = &items->items[items->count++];
    va_list arguments;
    va_start(arguments, format);
    snprintf(item->name, sizeof item->name, "%s", name);
    vsnprintf(item->value, sizeof item->value, format, arguments);
    va_end(arguments);
}

static void sums_text(const Averages *averages, char *text, size_t size) {
    size_t used = 0;
    for (int i = 0; i < RESULT_LIMIT && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? " %a" : "%a", averages->sums[i]);
}

static bool parse_sums(const char *text, Averages *averages) {
    char *end = (char *)text;
    for (int i = 0; i < RESULT_LIMIT; i++) {
        const char *start = end;
        averages->sums[i] = strtod(start, &end);
        if (end == start) return false;
    }
    return !*end;
}

/* Checksum. */

static const char *const covered[] = {"seed",    "step",    "action",   "sums",     "sum_records",
                                      "stopped", "plateau", "watchers", "overtaken"};

enum { COVERED_COUNT = sizeof covered / sizeof *covered };

static uLong checksum(const Settings *settings, const char *memory, const char *const *values) {
    const FlowProgram *program = settings->program;
    uLong sum = crc32(0, NULL, 0);
    for (int i = 0; i < program->storage_count; i++) {
        const FlowStorage *storage = &program->storage[i];
        sum = crc32_z(sum, (const Bytef *)memory + storage->offset, flow_type_size(&storage->type));
    }
    for (int i = 0; i < COVERED_COUNT; i++)
        sum = crc32_z(sum, (const Bytef *)values[i], strlen(values[i]) + 1);
    for (int i = 0; i < vocabularies_count(settings->vocabularies); i++) {
        const char *text = vocabularies_metadata(settings->vocabularies, i).value;
        if (text) sum = crc32_z(sum, (const Bytef *)text, strlen(text) + 1);
    }
    return sum;
}

static const char *item_value(const Items *items, const char *name) {
    for (int i = 0; i < items->count; i++)
        if (!strcmp(items->items[i].name, name)) return items->items[i].value;
    return "";
}

static uLong checksum_items(const Settings *settings, const char *memory, const Items *items) {
    const char *values[COVERED_COUNT];
    for (int i = 0; i < COVERED_COUNT; i++) values[i] = item_value(items, covered[i]);
    return checksum(settings, memory, values);
}

/* Saving. */

static void add_options(Items *items, const Settings *settings) {
    char name[NAME_SIZE];
    for (int i = 0; i < settings->program->option_count; i++) {
        snprintf(name, sizeof name, "option.%s", settings->program->options[i].name);
        if (settings->program->options[i].kind != FLOW_OPTION_string)
            add(items, name, "%.17g", settings->numbers[i]);
    }
}

static void add_identity(Items *items, const Identity *identity) {
    const Settings *settings = identity->settings;
    add(items, "format", "%s", format_name);
    add(items, "program", "%s", settings->program->name);
    add(items, "fingerprint", "%s", settings->program->fingerprint);
    add(items, "train", "%s", settings->train->name);
    add(items, "seed", "%lld", (long long)identity->seed);
    add(items, "records", "%lld", (long long)identity->records);
    add(items, "batch_size", "%lld", (long long)settings->train->data->batch);
    add_options(items, settings);
}

static int watcher_count(const FlowTrain *train) {
    return train->action_count < WATCH_LIMIT ? train->action_count : WATCH_LIMIT;
}

static void add_position(Items *items, const Position *position, const Identity *identity) {
    int64_t batches = identity->batches;
    char sums[VALUE_SIZE], watchers[WATCH_TEXT_SIZE], overtaken[PROGRESSION_TEXT_SIZE];
    progression_text(&position->done, overtaken);
    watch_text(position->watchers, watcher_count(identity->settings->train), watchers,
               sizeof watchers);
    add(items, "stopped", "%d", position->stopped);
    add(items, "plateau", "%a", (double)position->plateau);
    add(items, "watchers", "%s", watchers);
    add(items, "overtaken", "%s", overtaken);
    if (position->split.threads) add(items, "split", "%s", split_text(position->split).text);
    if (position->depth) add(items, "queue", "%d", position->depth);
    sums_text(&position->averages, sums, sizeof sums);
    add(items, "step", "%lld", (long long)position->step);
    add(items, "epoch", "%lld", (long long)(position->step / batches));
    add(items, "batch", "%lld", (long long)(position->step % batches));
    add(items, "action", "%d", position->action);
    add(items, "sums", "%s", sums);
    add(items, "sum_records", "%lld", (long long)position->averages.records);
}

/* Those that are known, as metadata; returns how many. */
static int add_vocabularies(const Settings *settings, Metadata *metadata) {
    int used = 0;
    for (int i = 0; i < vocabularies_count(settings->vocabularies); i++) {
        metadata[used] = vocabularies_metadata(settings->vocabularies, i);
        if (metadata[used].value) used++;
    }
    return used;
}

FlowStatus checkpoint_check_vocabularies(const Settings *settings) {
    enum { REST = 16 << 20 /* bytes: what else a header has */ };
    int count = vocabularies_count(settings->vocabularies);
    Metadata *metadata = calloc((size_t)count + 1, sizeof *metadata);
    size_t size = 0;
    char *header = NULL;
    if (metadata)
        header = safetensors_header(NULL, 0, metadata, add_vocabularies(settings, metadata), NULL,
                                    &size);
    free(header);
    free(metadata);
    if (!header) return flow_failure(FLOW_EXIT_resource, "no memory for the vocabularies");
    if (size <= SAFETENSORS_HEADER_LIMIT - REST) return flow_ok;
    return flow_failure(
        FLOW_EXIT_data,
        "the texts of all vocabularies take %.1f MB in a file of weights, which "
        "has room for %.1f MB of them: `category` has to be of fewer or shorter ones",
        (double)size / 1e6, (double)(SAFETENSORS_HEADER_LIMIT - REST) / 1e6);
}

/* Writes the storages, and as metadata the items and the vocabularies that are known. */
static FlowStatus write_items(const char *path, const Settings *settings,
                              const FlowStorage *storages, int count, const char *memory,
                              const Items *items) {
    size_t most = (size_t)items->count + (size_t)vocabularies_count(settings->vocabularies);
    int used = 0;
    Metadata *metadata = calloc(most + 1, sizeof *metadata);
    if (!metadata) return flow_failure(FLOW_EXIT_resource, "%s: no memory to save it", path);
    for (int i = 0; i < items->count; i++)
        metadata[used++] = (Metadata){items->items[i].name, items->items[i].value};
    used += add_vocabularies(settings, metadata + used);
    FlowStatus status = safetensors_write(path, storages, count, memory, metadata, used);
    free(metadata);
    return status;
}

FlowStatus checkpoint_save(const char *path, const Identity *identity, const Position *position,
                           const char *memory) {
    enum { FIXED_ITEMS = 24 };
    const FlowProgram *program = identity->settings->program;
    Items items = {.items = calloc((size_t)program->option_count + FIXED_ITEMS, sizeof(Item))};
    if (!items.items) return flow_failure(FLOW_EXIT_resource, "%s: no memory to save it", path);
    add_identity(&items, identity);
    add_position(&items, position, identity);
    add(&items, "crc32", "%08lx", checksum_items(identity->settings, memory, &items));
    FlowStatus status = write_items(path, identity->settings, program->storage,
                                    program->storage_count, memory, &items);
    free(items.items);
    return status;
}

static const char *averaged_bytes(const FlowProgram *program, const FlowStorage *storage,
                                  const char *memory) {
    for (int i = 0; storage->average && i < program->storage_count; i++)
        if (!strcmp(program->storage[i].name, storage->average))
            return memory + program->storage[i].offset;
    return memory + storage->offset;
}

FlowStatus checkpoint_save_weights(const char *path, const Settings *settings, const char *memory) {
    const FlowProgram *program = settings->program;
    FlowStorage *deployed = calloc((size_t)program->storage_count + 1, sizeof *deployed);
    if (!deployed) return flow_failure(FLOW_EXIT_resource, "%s: no memory to save it", path);
    int count = 0;
    for (int i = 0; i < program->storage_count; i++) {
        if (program->storage[i].of_run) continue;
        deployed[count] = program->storage[i];
        deployed[count++].offset =
            (size_t)(averaged_bytes(program, &program->storage[i], memory) - memory);
    }
    FlowStatus status = write_items(path, settings, deployed, count, memory, &(Items){0});
    free(deployed);
    return status;
}

/* Loading. */

static FlowStatus expect(const Safetensors *file, const char *path, const char *name,
                         const char *wanted) {
    const char *found = safetensors_metadata(file, name);
    if (found && !strcmp(found, wanted)) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: cannot be resumed: its %s is %s, this run's is %s",
                        path, name, found ? found : "missing", wanted);
}

static FlowStatus expect_number(const Safetensors *file, const char *path, const char *name,
                                int64_t wanted) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)wanted);
    return expect(file, path, name, text);
}

static FlowStatus expect_identity(const Safetensors *file, const char *path,
                                  const Identity *identity) {
    const Settings *settings = identity->settings;
    if (!safetensors_metadata(file, "format"))
        return flow_failure(FLOW_EXIT_data, "%s: cannot be resumed: it has weights only, no run",
                            path);
    FlowStatus status = expect(file, path, "format", format_name);
    if (!status.exit) status = expect(file, path, "train", settings->train->name);
    if (!status.exit) status = expect_number(file, path, "seed", identity->seed);
    if (!status.exit) status = expect_number(file, path, "records", identity->records);
    if (!status.exit)
        status = expect_number(file, path, "batch_size", settings->train->data->batch);
    return status;
}

/* The number that the text says, with as few digits as give it back; what is none, as it is. */
static const char *shown_number(const char *text, char shown[SHORTEST_SIZE + 1]) {
    char *end;
    const double number = strtod(text, &end);
    if (*end) return text;
    *shortest_write(FLOW_f64, &number, shown) = 0;
    return shown;
}

/* Fixed options have to agree; others may be changed on purpose, which is worth a note. */
static FlowStatus expect_options(const Safetensors *file, const char *path,
                                 const Settings *settings) {
    char name[NAME_SIZE], wanted[32];
    for (int i = 0; i < settings->program->option_count; i++) {
        const FlowOption *option = &settings->program->options[i];
        snprintf(name, sizeof name, "option.%s", option->name);
        snprintf(wanted, sizeof wanted, "%.17g", settings->numbers[i]);
        const char *found = safetensors_metadata(file, name);
        if (option->kind == FLOW_OPTION_string || !found || !strcmp(found, wanted)) continue;
        if (option->fixed) return expect(file, path, name, wanted);
        char before[SHORTEST_SIZE + 1], now[SHORTEST_SIZE + 1];
        FlowStatus note =
            flow_failure(FLOW_EXIT_ok, "%s was saved with --%s=%s, this run has %s", path,
                         option->name, shown_number(found, before), shown_number(wanted, now));
        fprintf(stderr, "%s: note: %s\n", settings->program->name, note.text);
    }
    return flow_ok;
}

/* The same computation: after what has a message of its own. */
static FlowStatus expect_program(const Safetensors *file, const char *path,
                                 const FlowProgram *program) {
    const char *found = safetensors_metadata(file, "fingerprint");
    if (found && !strcmp(found, program->fingerprint)) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "%s: cannot be resumed: it was saved by another program, or by another "
                        "version of this one",
                        path);
}

static bool parse_natural(const char *text, int64_t most, int64_t *number) {
    char *end;
    errno = 0;
    *number = text ? strtoll(text, &end, 10) : -1;
    return *number >= 0 && *number <= most && !errno && *text && !*end;
}

static FlowStatus read_position(const Safetensors *file, const char *path, const Identity *identity,
                                Position *position) {
    const char *sums = safetensors_metadata(file, "sums");
    const char *watchers = safetensors_metadata(file, "watchers");
    const char *plateau = safetensors_metadata(file, "plateau");
    const char *overtaken = safetensors_metadata(file, "overtaken");
    const char *split = safetensors_metadata(file, "split");
    const char *queue = safetensors_metadata(file, "queue");
    int64_t action, stopped, depth = 0;
    bool read = parse_natural(safetensors_metadata(file, "step"), INT64_MAX, &position->step) &&
                parse_natural(safetensors_metadata(file, "action"),
                              identity->settings->train->action_count, &action) &&
                parse_natural(safetensors_metadata(file, "sum_records"), identity->records,
                              &position->averages.records) &&
                parse_natural(safetensors_metadata(file, "stopped"), 1, &stopped) && sums &&
                parse_sums(sums, &position->averages) && watchers && plateau && overtaken &&
                progression_parse(overtaken, position->step, &position->done) &&
                (!split || split_parse(split, &position->split)) &&
                (!queue || parse_natural(queue, INT16_MAX, &depth)) &&
                watch_parse(watchers, position->watchers, watcher_count(identity->settings->train));
    if (!read)
        return flow_failure(FLOW_EXIT_data, "%s: cannot be resumed: its position is damaged", path);
    position->action = (int)action;
    position->stopped = stopped;
    position->depth = (int)depth;
    position->plateau = strtof(plateau, NULL);
    return flow_ok;
}

static FlowStatus read_tensors(const Safetensors *file, const FlowProgram *program, char *memory) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < program->storage_count && !status.exit; i++)
        status = safetensors_read(file, &program->storage[i], memory + program->storage[i].offset);
    return status;
}

static FlowStatus check_sum(const Safetensors *file, const char *path, const Settings *settings,
                            const char *memory) {
    const char *values[COVERED_COUNT], *found = safetensors_metadata(file, "crc32");
    char wanted[32];
    for (int i = 0; i < COVERED_COUNT; i++) {
        const char *value = safetensors_metadata(file, covered[i]);
        values[i] = value ? value : "";
    }
    snprintf(wanted, sizeof wanted, "%08lx", checksum(settings, memory, values));
    if (found && !strcmp(found, wanted)) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "%s: cannot be resumed: its checksum is wrong, it is damaged", path);
}

static FlowStatus load(const Safetensors *file, const char *path, const Identity *identity,
                       Position *position, char *memory) {
    const Settings *settings = identity->settings;
    FlowStatus status = expect_identity(file, path, identity);
    if (!status.exit) status = expect_options(file, path, settings);
    if (!status.exit) status = expect_program(file, path, settings->program);
    if (!status.exit) status = read_position(file, path, identity, position);
    if (!status.exit) status = read_tensors(file, settings->program, memory);
    return status.exit ? status : check_sum(file, path, settings, memory);
}

FlowStatus checkpoint_load(const char *path, const Identity *identity, Position *position,
                           char *memory) {
    Safetensors *file;
    FlowStatus status = safetensors_open(path, &file);
    if (status.exit) return status;
    status = load(file, path, identity, position, memory);
    safetensors_close(file);
    return status;
}
