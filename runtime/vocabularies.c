/* Vocabularies: a known one has an array with a place for each number, NULL where no text stands
 * for it. In a file each text is a line. Bytes that JSON or a reader of lines would take for
 * something else, and those of no valid UTF-8, are written \xHH there, a backslash \\. */
#include "runtime/vocabularies.h"

#include "runtime/bounds.h"
#include "runtime/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 320 };

typedef struct Known {
    char name[NAME_SIZE]; /* of its metadata */
    char *bytes;          /* all texts, a 0 behind each */
    const char **places;  /* NULL: it is not known */
    char *metadata;
} Known;

struct Vocabularies {
    const FlowVocabulary *all;
    int count;
    TextSeer *const *seers; /* or NULL */
    bool skims;
    Known known[];
};

Vocabularies *vocabularies_new(const FlowVocabulary *all, int count) {
    Vocabularies *vocabularies =
        calloc(1, sizeof *vocabularies + (size_t)count * sizeof *vocabularies->known);
    if (!vocabularies) return NULL;
    vocabularies->all = all;
    vocabularies->count = count;
    for (int i = 0; i < count; i++)
        snprintf(vocabularies->known[i].name, NAME_SIZE, "vocabulary.%s", all[i].name);
    return vocabularies;
}

static void forget(Known *known) {
    free(known->bytes);
    free(known->places);
    free(known->metadata);
    known->bytes = known->metadata = NULL;
    known->places = NULL;
}

void vocabularies_free(Vocabularies *vocabularies) {
    for (int i = 0; vocabularies && i < vocabularies->count; i++) forget(&vocabularies->known[i]);
    free(vocabularies);
}

int vocabularies_count(const Vocabularies *vocabularies) {
    return vocabularies ? vocabularies->count : 0;
}

/* Is it a number that no text stands for? */
static bool is_reserved(const FlowVocabulary *vocabulary, int place) {
    return place + 1 == vocabulary->unknown || place + 1 == vocabulary->missing;
}

int64_t vocabularies_room(const FlowVocabulary *vocabulary) {
    bool both = vocabulary->unknown && vocabulary->unknown != vocabulary->missing;
    return vocabulary->size - (vocabulary->missing > 0) - both;
}

/* Texts to lines. */

static void write_byte(FILE *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    const char text[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    for (size_t i = 0; i < sizeof text; i++) putc_unlocked(text[i], out);
}

static void write_line(FILE *out, const char *text) {
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    while (at < end) {
        uint32_t code;
        size_t size = utf8_first(at, end, &code);
        bool plain = code != UTF8_NONE && code >= 0x20 && code != 0x7f;
        if (*at == '\\') fputs("\\\\", out);
        else if (plain) fwrite(at, 1, size, out);
        else write_byte(out, *at);
        at += size;
    }
    putc_unlocked('\n', out);
}

static char *lines_of(const char *const *texts, int64_t count) {
    char *lines = NULL;
    size_t size;
    FILE *out = open_memstream(&lines, &size);
    if (!out) return NULL;
    for (int64_t i = 0; i < count; i++) write_line(out, texts[i]);
    bool written = !ferror(out);
    if (!fclose(out) && written) return lines;
    free(lines);
    return NULL;
}

/* Getting texts. */

static char *copy_texts(const char *const *texts, int64_t count) {
    size_t size = 1;
    for (int64_t i = 0; i < count; i++) size += strlen(texts[i]) + 1;
    char *bytes = malloc(size), *end = bytes;
    for (int64_t i = 0; bytes && i < count; i++) end = stpcpy(end, texts[i]) + 1;
    return bytes;
}

bool vocabularies_set(Vocabularies *vocabularies, int index, const char *const *texts,
                      int64_t count) {
    const FlowVocabulary *vocabulary = &vocabularies->all[index];
    Known fresh = {.bytes = copy_texts(texts, count),
                   .places = calloc((size_t)vocabulary->size, sizeof *fresh.places),
                   .metadata = lines_of(texts, count)};
    if (!fresh.bytes || !fresh.places || !fresh.metadata) {
        forget(&fresh);
        return false;
    }
    const char *text = fresh.bytes;
    for (int place = 0; place < vocabulary->size && count > 0; place++) {
        if (is_reserved(vocabulary, place)) continue;
        fresh.places[place] = text;
        text += strlen(text) + 1;
        count--;
    }
    Known *known = &vocabularies->known[index];
    forget(known);
    known->bytes = fresh.bytes;
    known->places = fresh.places;
    known->metadata = fresh.metadata;
    return true;
}

/* Binding. */

void vocabularies_learn(Vocabularies *vocabularies, TextSeer *const *seers) {
    vocabularies->seers = seers;
}

void vocabularies_skim(Vocabularies *vocabularies, bool skims) {
    vocabularies->skims = skims;
}

bool vocabularies_are_learned(const Vocabularies *vocabularies) {
    return vocabularies && vocabularies->seers;
}

FlowStatus vocabularies_bind(const Vocabularies *vocabularies, FlowField *field) {
    int index = field->vocabulary - 1;
    if (vocabularies_are_learned(vocabularies)) field->skims = &vocabularies->skims;
    if (index < 0) return flow_ok;
    if (!vocabularies || index >= vocabularies->count)
        return flow_failure(FLOW_EXIT_internal, "`%s` has no vocabulary", field->name);
    if (vocabularies->seers) {
        field->seer = vocabularies->seers[index];
        return flow_ok;
    }
    if (!vocabularies->known[index].places)
        return flow_failure(
            FLOW_EXIT_data,
            "nothing says what the texts of `%s` stand for: `%s` is neither found in "
            "training data nor in weights that are loaded",
            field->name, vocabularies->all[index].name);
    field->categories = vocabularies->known[index].places;
    field->category_count = vocabularies->all[index].size;
    return flow_ok;
}

/* Lines to texts. */

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Reads the line into the text, which has room; moves *line behind it. False: it is damaged. */
static bool read_line(const char **line, char *text) {
    const char *at = *line;
    size_t size = 0;
    while (*at && *at != '\n') {
        char byte = *at++;
        if (byte == '\\' && *at == 'x') {
            int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0 || high * 16 + low == 0) return false;
            byte = (char)(high * 16 + low);
            at += 3;
        } else if (byte == '\\' && *at++ != '\\') {
            return false;
        }
        if (size == CATEGORY_SIZE) return false;
        text[size++] = byte;
    }
    text[size] = 0;
    if (*at != '\n') return false;
    *line = at + 1;
    return true;
}

/* Texts, each larger than the one before; how many, or -1: they are damaged. */
static int64_t read_lines(const char *lines, char *bytes, const char **texts, int64_t most) {
    int64_t count = 0;
    while (*lines) {
        if (count == most || !read_line(&lines, bytes)) return -1;
        if (count && strcmp(texts[count - 1], bytes) >= 0) return -1;
        texts[count++] = bytes;
        bytes += strlen(bytes) + 1;
    }
    return count;
}

/* A text takes no more bytes than its line; one that is too long for that is noticed in time. */
static FlowStatus read_texts(Vocabularies *vocabularies, int index, const char *lines,
                             const char *path) {
    int64_t room = vocabularies_room(&vocabularies->all[index]);
    char *bytes = malloc(strlen(lines) + CATEGORY_SIZE + 1);
    const char **texts = malloc(((size_t)room + 1) * sizeof *texts);
    FlowStatus status = flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
    if (bytes && texts) {
        int64_t count = read_lines(lines, bytes, texts, room);
        if (count < 0)
            status = flow_failure(FLOW_EXIT_data,
                                  "%s: its vocabulary `%s` is damaged, or has more "
                                  "than %lld texts",
                                  path, vocabularies->all[index].name, (long long)room);
        else if (vocabularies_set(vocabularies, index, texts, count)) status = flow_ok;
    }
    free(texts);
    free(bytes);
    return status;
}

FlowStatus vocabularies_read(Vocabularies *vocabularies, const Safetensors *file,
                             const char *path) {
    FlowStatus status = flow_ok;
    for (int i = 0; vocabularies && i < vocabularies->count && !status.exit; i++) {
        const Known *known = &vocabularies->known[i];
        const char *lines = known->places ? NULL : safetensors_metadata(file, known->name);
        if (lines) status = read_texts(vocabularies, i, lines, path);
    }
    return status;
}

/* Asking. */

Metadata vocabularies_metadata(const Vocabularies *vocabularies, int index) {
    return (Metadata){vocabularies->known[index].name, vocabularies->known[index].metadata};
}

int32_t vocabularies_find(const Vocabularies *vocabularies, int index, const char *text) {
    const FlowVocabulary *vocabulary = &vocabularies->all[index];
    if (!text && vocabulary->missing) return vocabulary->missing - 1;
    for (int32_t i = 0; text && i < vocabulary->size; i++) {
        const char *other = vocabularies->known[index].places[i];
        if (other && !strcmp(other, text)) return i;
    }
    return vocabulary->unknown - 1;
}

const char *vocabularies_text(const Vocabularies *vocabularies, int index, int32_t category) {
    if (category < 0 || category >= vocabularies->all[index].size) return NULL;
    return vocabularies->known[index].places[category];
}
