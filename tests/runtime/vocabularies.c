/* Vocabularies: what is found in any order, by any threads, is the same; what is written can be
 * read; what a file says is not believed. */
#include "runtime/learner.h"
#include "runtime/vocabularies.h"
#include "tests/runtime/test.h"

#include <pthread.h>

static const FlowVocabulary all[] = {
    {.name = "rows.odd", .size = 8, .unknown = 1, .missing = 4},
    {.name = "rows.two", .size = 2},
};

/* Valid UTF-8 and what is none, in the order of their bytes. */
static const char *const odd[] = {"", "\n\t\\x41", "a", "\xc3\xa9", "\xed\xa0\x80", "\xff"};
enum { ODD = sizeof odd / sizeof *odd };

static void write_file(const char *path, const char *text) {
    static const FlowStorage none[1];
    Metadata metadata = {"vocabulary.rows.odd", text};
    FlowStatus status = safetensors_write(path, none, 0, "", &metadata, 1);
    CHECK(!status.exit, "%s", status.text);
}

static FlowStatus read_file(const char *path, Vocabularies *vocabularies) {
    Safetensors *file;
    FlowStatus status = safetensors_open(path, &file);
    if (!status.exit) status = vocabularies_read(vocabularies, file, path);
    safetensors_close(file);
    return status;
}

static void round_trip(void) {
    Vocabularies *first = vocabularies_new(all, 2), *second = vocabularies_new(all, 2);
    CHECK(vocabularies_set(first, 0, odd, ODD), "no memory");
    CHECK(!vocabularies_metadata(first, 1).value, "the other is known");
    write_file("a", vocabularies_metadata(first, 0).value);
    FlowStatus status = read_file("a", second);
    CHECK(!status.exit, "%s", status.text);
    static const int places[ODD] = {1, 2, 4, 5, 6, 7}; /* 0 is unknown, 3 is missing */
    for (int i = 0; i < ODD; i++) {
        const char *text = vocabularies_text(second, 0, places[i]);
        CHECK(text && !strcmp(text, odd[i]), "text %d is `%s`", i, text ? text : "none");
        CHECK(vocabularies_find(second, 0, odd[i]) == places[i], "text %d", i);
    }
    CHECK(vocabularies_find(second, 0, "b") == 0, "unknown");
    CHECK(vocabularies_find(second, 0, NULL) == 3, "missing");
    CHECK(!vocabularies_text(second, 0, 0) && !vocabularies_text(second, 0, 3) &&
              !vocabularies_text(second, 0, 8) && !vocabularies_text(second, 0, -1),
          "a number that no text stands for");
    CHECK(!strcmp(vocabularies_metadata(first, 0).value, vocabularies_metadata(second, 0).value),
          "written otherwise");
    vocabularies_free(first);
    vocabularies_free(second);
}

static void refuses(const char *text) {
    Vocabularies *vocabularies = vocabularies_new(all, 2);
    write_file("bad", text);
    FlowStatus status = read_file("bad", vocabularies);
    CHECK(status.exit == FLOW_EXIT_data, "`%s` was read", text);
    CHECK_SAYS(status.text, "bad: its vocabulary `rows.odd` is damaged");
    CHECK(!vocabularies_metadata(vocabularies, 0).value, "`%s` is known", text);
    vocabularies_free(vocabularies);
}

static void hostile(void) {
    refuses("a");                     /* no end of line */
    refuses("b\na\n");                /* out of order */
    refuses("a\na\n");                /* twice */
    refuses("\\x00\n");               /* a byte that is 0 */
    refuses("\\x4\n");                /* half a byte */
    refuses("\\xAB\n");               /* capitals are never written */
    refuses("\\");                    /* an escape of nothing */
    refuses("\\n\n");                 /* no escape */
    refuses("1\n2\n3\n4\n5\n6\n7\n"); /* one more than there is room for */
    char large[1200];
    memset(large, 'a', sizeof large);
    large[1100] = '\n';
    large[1101] = 0;
    refuses(large);
}

/* Each thread brings all texts, beginning elsewhere. */
static TextSeer *shared;

static void *bring(void *argument) {
    char text[32];
    int first = *(int *)argument;
    for (int i = 0; i < 5000; i++) {
        int which = (i + first) % 5000;
        int size = snprintf(text, sizeof text, "%d", which % 1000);
        for (int times = 0; times <= which % 1000 / 900; times++)
            shared->count(shared, shared->see(shared, text, (size_t)size));
    }
    return NULL;
}

static void learning(void) {
    enum { THREADS = 3 };
    Learner *learner = learner_new();
    pthread_t threads[THREADS];
    int firsts[THREADS] = {0, 1700, 3100};
    int64_t count;
    shared = learner_seer(learner);
    CHECK(shared->see(shared, "a\0b", 3) < 0, "a byte that is 0");
    for (int i = 0; i < 100; i++) shared->count(shared, shared->see(shared, "1", 1));
    learner_number(learner);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, bring, &firsts[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    const char *const *texts = learner_texts(learner, 2000, &count);
    CHECK(count == 1000, "%lld texts", (long long)count);
    CHECK(!strcmp(texts[0], "0") && !strcmp(texts[1], "1") && !strcmp(texts[2], "10"),
          "their order");
    texts = learner_texts(learner, 101, &count);
    CHECK(!strcmp(texts[0], "0") && !strcmp(texts[1], "900") && !strcmp(texts[100], "999"),
          "those that come most often: %s %s", texts[0], texts[1]);
    learner_free(learner);
}

static void too_much(void) {
    Learner *learner = learner_new();
    TextSeer *seer = learner_seer(learner);
    int64_t count;
    char text[1100];
    memset(text, 'a', sizeof text);
    CHECK(seer->see(seer, text, 1024) >= 0, "a text of 1024 bytes");
    CHECK(seer->see(seer, text, 1025) < 0, "one of 1025");
    for (int i = 0; i < 70000; i++) {
        snprintf(text, 1000, "%d", i);
        text[strlen(text)] = 'a';
        seer->see(seer, text, 1000);
    }
    CHECK(!learner_texts(learner, 10, &count), "64 MiB of texts were remembered");
    learner_free(learner);
}

int main(void) {
    test_folder();
    round_trip();
    hostile();
    learning();
    too_much();
    test_folder_remove();
    return test_result();
}
