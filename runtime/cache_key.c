#define _GNU_SOURCE
#include "runtime/cache_key.h"

#include "runtime/mix.h"
#include "runtime/path.h"
#include "runtime/vocabularies.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add_number(uint64_t *hash, uint64_t number) {
    hash[0] = mix(hash[0] + number);
    hash[1] = mix(hash[1] ^ (number + 0x9e3779b97f4a7c15));
}

static void add_bytes(uint64_t *hash, const char *bytes, size_t size) {
    add_number(hash, size);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < sizeof word ? size - i : sizeof word);
        add_number(hash, word);
    }
}

static void add_text(uint64_t *hash, const char *text) {
    add_bytes(hash, text, strlen(text));
}

/* Files. */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static FlowStatus cannot_read(const char *path) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", path, strerror(errno));
}

static FlowStatus add_file(uint64_t *hash, const char *path, bool follow);

/* In the order in which the system lists them, which says nothing: their hashes are added up. */
static FlowStatus add_folder(uint64_t *hash, const char *path) {
    DIR *folder = opendir(path);
    FlowStatus status = folder ? flow_ok : cannot_read(path);
    uint64_t sum[2] = {0};
    for (struct dirent *entry; !status.exit && (entry = readdir(folder));) {
        char *inner;
        uint64_t own[2] = {0};
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0)
            return closedir(folder), flow_failure(FLOW_EXIT_resource, "%s: no memory", path);
        status = add_file(own, inner, false);
        free(inner);
        sum[0] += own[0];
        sum[1] += own[1];
    }
    if (folder) closedir(folder);
    add_number(hash, sum[0]);
    add_number(hash, sum[1]);
    return status;
}

/* follow: a link to where it leads; others may lead in a circle. */
static FlowStatus add_file(uint64_t *hash, const char *path, bool follow) {
    struct stat about;
    add_text(hash, name_of(path));
    if (follow ? stat(path, &about) : lstat(path, &about)) return cannot_read(path);
    if (S_ISDIR(about.st_mode)) return add_folder(hash, path);
    add_number(hash, (uint64_t)about.st_size);
    add_number(hash, (uint64_t)about.st_mtim.tv_sec);
    add_number(hash, (uint64_t)about.st_mtim.tv_nsec);
    return flow_ok;
}

static FlowStatus add_matches(uint64_t *hash, const char *pattern) {
    glob_t files = {0};
    FlowStatus status = flow_ok;
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !status.exit; i++)
            status = add_file(hash, files.gl_pathv[i], true);
    globfree(&files);
    return status;
}

/* What a database has beside its file. */
static void add_log(uint64_t *hash, const char *path) {
    char *log;
    struct stat about;
    if (asprintf(&log, "%s-wal", path) < 0) return;
    if (!stat(log, &about)) (void)add_file(hash, log, true);
    free(log);
}

static FlowStatus add_path(uint64_t *hash, const FlowPipeline *pipeline, const FlowField *field,
                           const Places *places) {
    char *found = NULL;
    FlowStatus status = path_of_field(places, pipeline, field, &found);
    if (!status.exit)
        status =
            pipeline->source->finds_many ? add_matches(hash, found) : add_file(hash, found, true);
    if (!status.exit) add_log(hash, found);
    free(found);
    return status;
}

static FlowStatus add_table(uint64_t *hash, const char *path, int option, PathOwner owner,
                            const Places *places) {
    char *found;
    FlowStatus status = path_to_read(places, path, option, owner, &found);
    if (found && !status.exit) status = add_file(hash, found, true);
    free(found);
    return status;
}

/* The files that say which tokens there are. */
static FlowStatus add_tokens(uint64_t *hash, const FlowTokens *tokens, PathOwner owner,
                             const Places *places) {
    FlowStatus status =
        add_table(hash, tokens->vocabulary, tokens->vocabulary_option, owner, places);
    if (status.exit) return status;
    return add_table(hash, tokens->merges, tokens->merges_option, owner, places);
}

/* What the texts stand for. */
static void add_vocabulary(uint64_t *hash, int index, const Places *places) {
    const char *texts = vocabularies_metadata(places->vocabularies, index).value;
    add_text(hash, texts ? texts : "");
}

static FlowStatus add_pipeline(uint64_t *hash, const FlowPipeline *pipeline, const Places *places) {
    FlowStatus status = flow_ok;
    const FlowJoin *join = pipeline->join;
    const char *last = NULL;
    for (int i = 0; join && i < join->input_count && !status.exit; i++)
        status = add_pipeline(hash, join->inputs[i], places);
    for (int i = 0; !join && i < pipeline->sections[0].field_count && !status.exit; i++) {
        const FlowField *field = &pipeline->sections[0].fields[i];
        const char *path = path_said(places, field->path, field->option);
        bool known = !path || path_is_standard_input(path) || (last && !strcmp(path, last));
        if (!known) status = add_path(hash, pipeline, field, places);
        if (field->tokens && !status.exit)
            status = add_tokens(hash, field->tokens, pipeline_owner(pipeline), places);
        if (field->vocabulary) add_vocabulary(hash, field->vocabulary - 1, places);
        last = path;
    }
    return status;
}

FlowStatus cache_key(const FlowJoin *join, const Places *places, Sizes sizes, int64_t seed,
                     CacheKey *key) {
    *key = (CacheKey){.code = {1, 2}, .data = {3, 4}};
    add_text(key->code, join->code);
    for (int i = 0; i < sizes.program->bound_count; i++)
        add_number(key->code, (uint64_t)sizes.values[i]);
    if (join->seeded) add_number(key->code, (uint64_t)seed);
    return add_pipeline(key->data, join->inputs[0], places);
}

/* Only what has no file of its own comes one record after the other. */
static bool may_be_feed(const FlowPipeline *pipeline) {
    const FlowField *first = pipeline->sections[0].fields;
    return pipeline->source->feed && (pipeline->source->awaits || !first->path || first->option ||
                                      path_is_standard_input(first->path));
}

bool cache_may_be_fed(const FlowPipeline *pipeline) {
    const FlowJoin *join = pipeline->join;
    bool fed = !join && may_be_feed(pipeline);
    for (int i = 0; join && i < join->input_count; i++) fed |= cache_may_be_fed(join->inputs[i]);
    return fed;
}
