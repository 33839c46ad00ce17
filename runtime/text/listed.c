#include "runtime/text/listed.h"

#include "runtime/format/json.h"
#include "runtime/holdings.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_TEXTS = 1024,
    NUMBER_LIMIT = 1 << 24, /* of what a token may be */
    SHOWN = 60,             /* bytes of a text in a message */
};

static FlowStatus no_memory(const Listed *listed) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory for its texts", listed->path);
}

/* Makes room for one more. */
static bool grow(Listed *listed) {
    size_t before = (size_t)listed->capacity, after = before ? 2 * before : FIRST_TEXTS;
    if (listed->count < listed->capacity) return true;
    const char **texts = held_resize(listed->texts, before * sizeof *texts, after * sizeof *texts);
    if (texts) listed->texts = texts;
    int32_t *numbers =
        held_resize(listed->numbers, before * sizeof *numbers, after * sizeof *numbers);
    if (numbers) listed->numbers = numbers;
    if (texts && numbers) listed->capacity = (int)after;
    return texts && numbers;
}

static FlowStatus add(Listed *listed, const char *text, uint64_t number) {
    if (number >= NUMBER_LIMIT)
        return flow_failure(FLOW_EXIT_data, "%s: `%.*s` is %llu, more than %d", listed->path, SHOWN,
                            text, (unsigned long long)number, NUMBER_LIMIT - 1);
    if (!grow(listed)) return no_memory(listed);
    listed->texts[listed->count] = text;
    listed->numbers[listed->count++] = (int32_t)number;
    if (number >= (uint64_t)listed->limit) listed->limit = (int32_t)number + 1;
    return flow_ok;
}

static FlowStatus read_all(Listed *listed) {
    Json json = json_new(listed->content.bytes, listed->content.size);
    FlowStatus status = flow_ok;
    const char *text;
    uint64_t number;
    json_open(&json, '{');
    while (!status.exit && json_member(&json, &text) && json_natural(&json, &number))
        status = add(listed, text, number);
    if (status.exit || json_end(&json)) return status;
    return flow_failure(FLOW_EXIT_data, "%s: byte %td: %s", listed->path,
                        json.at - listed->content.bytes, json.error);
}

static FlowStatus check_texts(const Listed *listed) {
    for (int i = 0; i < listed->count; i++)
        if (vocabulary_find(listed->places, listed->texts[i], strlen(listed->texts[i])) != i)
            return flow_failure(FLOW_EXIT_data, "%s: `%.*s` is there twice", listed->path, SHOWN,
                                listed->texts[i]);
    return flow_ok;
}

static FlowStatus check_numbers(const Listed *listed) {
    FlowStatus status = flow_ok;
    bool *seen = calloc((size_t)listed->limit + 1, sizeof *seen);
    if (!seen) return no_memory(listed);
    for (int i = 0; i < listed->count && !status.exit; i++) {
        if (seen[listed->numbers[i]])
            status = flow_failure(FLOW_EXIT_data, "%s: two texts are %d, one of them is `%.*s`",
                                  listed->path, listed->numbers[i], SHOWN, listed->texts[i]);
        seen[listed->numbers[i]] = true;
    }
    free(seen);
    return status;
}

FlowStatus listed_open(const char *path, Listed *listed) {
    *listed = (Listed){.path = path};
    FlowStatus status = content_read(path, &listed->content);
    if (!status.exit) status = read_all(listed);
    if (status.exit) return status;
    if (!listed->count) return flow_failure(FLOW_EXIT_data, "%s: has no texts", path);
    listed->places = vocabulary_new(listed->texts, listed->count);
    if (!listed->places) return no_memory(listed);
    status = check_texts(listed);
    return status.exit ? status : check_numbers(listed);
}

void listed_close(Listed *listed) {
    vocabulary_free(listed->places);
    free(listed->texts);
    free(listed->numbers);
    content_free(&listed->content);
}

int32_t listed_find(const Listed *listed, const char *text, size_t size) {
    int place = vocabulary_find(listed->places, text, size);
    return place < 0 ? -1 : listed->numbers[place];
}
