/* exhausted: whichever request for memory is refused, a pipeline fails to open with a message, and
 * so it does when the run is interrupted; nothing is left behind. Linked with --wrap, so that
 * requests of the runtime come here. */
#define _GNU_SOURCE
#include "runtime/interrupt.h"
#include "runtime/mixture.h"
#include "runtime/stage.h"
#include "tests/runtime/archive.h"
#include "tests/runtime/arrays.h"
#include "tests/runtime/examples.h"
#include "tests/runtime/test.h"

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <zstd.h>

enum { REQUESTS_LIMIT = 1000 };

static atomic_int allowed, held; /* requests that are granted; blocks that are not freed yet */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);

static bool granted(void) {
    return atomic_fetch_sub(&allowed, 1) > 0;
}

static void *counted(void *block) {
    held += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size) {
    return granted() ? counted(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size) {
    return granted() ? counted(__real_calloc(count, size)) : NULL;
}

void *__wrap_realloc(void *block, size_t size) {
    if (!granted()) return NULL;
    return block ? __real_realloc(block, size) : counted(__real_realloc(NULL, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return granted() ? counted(__real_aligned_alloc(alignment, size)) : NULL;
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
    if (!granted()) return 12;
    int error = __real_posix_memalign(block, alignment, size);
    held += !error;
    return error;
}

char *__wrap_strdup(const char *text) {
    return granted() ? counted(__real_strdup(text)) : NULL;
}

void __wrap_free(void *block) {
    held -= block != NULL;
    __real_free(block);
}

static int64_t passes(char *memory, const int64_t *sizes, const FlowRows *rows, FlowUnmet *unmet) {
    (void)memory, (void)sizes, (void)unmet;
    for (int64_t i = 0; i < rows->count; i++) ((bool *)rows->outputs[0])[i] = true;
    return rows->count;
}

/* Opens the pipeline and takes a batch. */
static FlowStatus try(const FlowPipeline *pipeline, int workers) {
    Stage *stage;
    Team team = {.threads = 1};
    const Batch *batch;
    FlowStatus status = stage_open(pipeline, (Places){.folder = "folder"}, (Sizes){0}, 0, &stage);
    CHECK(!status.exit == !!stage, "a stage without success, or the other way");
    if (!status.exit) status = stage_start(stage, NULL, 1, workers, &team);
    if (!status.exit) status = stage_take(stage, &batch);
    stage_close(stage);
    return status;
}

static const char query[] = "select x from t";

/* A source, and a field that it has. */
typedef struct Case {
    const FlowSource *source;
    FlowField field;
} Case;

static FlowSection section_of(const FlowField *field, bool filters) {
    static const FlowOrder filter = {.kind = FLOW_ORDER_filter, .condition = passes};
    return (FlowSection){.window = 1,
                         .stride = 1,
                         .fields = field,
                         .field_count = 1,
                         .orders = &filter,
                         .order_count = filters,
                         .outputs = field,
                         .output_count = 1};
}

static FlowPipeline pipeline_of(const FlowSource *source, const FlowSection *section) {
    return (FlowPipeline){.name = "p",
                          .line = "p.flow:1",
                          .source = source,
                          .arguments = {.header = true, .records = 3, .query = query},
                          .sections = section,
                          .section_count = 1,
                          .batch = 2};
}

static void check(const Case *tried, int workers) {
    const FlowSource *source = tried->source;
    FlowSection section = section_of(&tried->field, true);
    FlowPipeline pipeline = pipeline_of(source, &section);
    FlowStatus status = {.exit = FLOW_EXIT_resource};
    int requests = 0;
    for (; status.exit == FLOW_EXIT_resource && requests < REQUESTS_LIMIT; requests++) {
        allowed = requests;
        held = 0;
        status = try(&pipeline, workers);
        CHECK(!status.exit == !status.text[0], "%s: request %d: no message", source->name,
              requests);
        CHECK(!held, "%s: request %d: %d blocks are left", source->name, requests, (int)held);
    }
    CHECK(!status.exit, "%s: request %d: %s", source->name, requests, status.text);
    CHECK(requests > 5, "%s: only %d requests", source->name, requests);
}

/* filters: it is a filter that takes long, else the source. */
static void check_interrupted(const Case *tried, bool filters) {
    FlowSection section = section_of(&tried->field, filters);
    FlowPipeline pipeline = pipeline_of(tried->source, &section);
    held = 0;
    FlowStatus status = try(&pipeline, 0);
    CHECK(status.exit == FLOW_EXIT_interrupted, "%s: exit %d: %s", tried->source->name, status.exit,
          status.text);
    CHECK(!held, "%s: %d blocks are left", tried->source->name, (int)held);
}

static void check_mixture_interrupted(void) {
    Mixture *mixture;
    FlowStatus status = mixture_new((double[]){1, 1}, (int64_t[]){1000, 1000}, 2, 1, &mixture);
    CHECK(status.exit == FLOW_EXIT_interrupted && !mixture, "mix: %s", status.text);
}

/* In a thread of its own: what it keeps for texts goes with it. */
static void *try_pack(void *result) {
    static const FlowTokens merged = {.kind = FLOW_TOKENS_bpe,
                                      .vocabulary = "vocab.json",
                                      .merges = "merges.txt",
                                      .use = FLOW_TOKENS_span};
    static const FlowField line = {
        .name = "x", .path = "lines.txt", .type = {FLOW_i64, 1, {2}}, .tokens = &merged};
    static const FlowField row = {.name = "x", .type = {FLOW_i32, 1, {3}}};
    static const FlowSection sections[] = {
        {.window = 1,
         .stride = 1,
         .fields = &line,
         .field_count = 1,
         .outputs = &line,
         .output_count = 1},
        {.window = 3,
         .stride = 3,
         .fields = &row,
         .field_count = 1,
         .outputs = &row,
         .output_count = 1,
         .packs = true,
         .separator = -1},
    };
    static const FlowPipeline pipeline = {.name = "p",
                                          .line = "p.flow:1",
                                          .source = &flow_source_lines,
                                          .sections = sections,
                                          .section_count = 2,
                                          .batch = 2};
    *(FlowStatus *)result = try(&pipeline, 0);
    return NULL;
}

static void check_pack(void) {
    static const char lines[] = "abababababababababababababababab ab\nba\nab\n";
    static const char vocabulary[] = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"\\u0120\": 3}";
    FlowStatus status = {.exit = FLOW_EXIT_resource};
    int requests = 0;
    write_test_file("lines.txt", lines, sizeof lines - 1);
    write_test_file("vocab.json", vocabulary, sizeof vocabulary - 1);
    write_test_file("merges.txt", "a b\n", 4);
    for (; status.exit == FLOW_EXIT_resource && requests < REQUESTS_LIMIT; requests++) {
        pthread_t thread;
        allowed = requests;
        held = 0;
        if (pthread_create(&thread, NULL, try_pack, &status) || pthread_join(thread, NULL))
            exit(99);
        CHECK(!status.exit == !status.text[0], "pack: request %d: no message", requests);
        CHECK(!held, "pack: request %d: %d blocks are left", requests, (int)held);
    }
    CHECK(!status.exit, "pack: request %d: %s", requests, status.text);
    CHECK(requests > 20, "pack: only %d requests", requests);
}

/* Writes records as a sink. */
static FlowStatus try_sink(const FlowSink *sink, const FlowSinkField *field, const char *path) {
    FlowSinkArguments arguments = {.path = path, .quality = 90};
    FlowWriter *writer;
    FlowStatus status = sink->open(&arguments, field, 1, 2, &writer);
    CHECK(!status.exit == !!writer, "%s: a writer without success, or the other way", sink->name);
    if (!writer) return status;
    status = sink->share ? sink->share(writer, 0, 2, 0, 1) : sink->write(writer, 0, 2);
    FlowStatus closed = sink->close(writer, status.exit ? FLOW_END_failed : FLOW_END_whole);
    return status.exit ? status : closed;
}

/* uncounted: it frees blocks that it did not ask for itself. */
static void check_sink(const FlowSink *sink, const FlowSinkField *field, const char *path,
                       bool uncounted) {
    FlowStatus status = {.exit = FLOW_EXIT_resource};
    int requests = 0;
    for (; status.exit == FLOW_EXIT_resource && requests < REQUESTS_LIMIT; requests++) {
        unlink(path);
        allowed = requests;
        held = 0;
        status = try_sink(sink, field, path);
        CHECK(!status.exit == !status.text[0], "%s: request %d: no message", sink->name, requests);
        CHECK(uncounted || !held, "%s: request %d: %d blocks are left", sink->name, requests,
              (int)held);
        CHECK(!status.exit == !access(path, F_OK), "%s: request %d: the file", sink->name,
              requests);
    }
    CHECK(!status.exit, "%s: request %d: %s", sink->name, requests, status.text);
    CHECK(requests > 2, "%s: only %d requests", sink->name, requests);
}

static void check_sinks(void) {
    static const char values[2 * 12] = "one\0two\0three, four";
    const FlowSinkField bytes = {
        .name = "x", .type = {FLOW_u8, 1, {12}}, .values = values, .text = true};
    const FlowSinkField numbers = {.name = "x", .type = {FLOW_f32, 1, {3}}, .values = values};
    FlowSinkField image = {.name = "png",
                           .type = {FLOW_u8, 3, {2, 2, 3}},
                           .values = values,
                           .encoder = &flow_encoder_png};
    check_sink(&flow_sink_csv, &bytes, "a.csv", false);
    check_sink(&flow_sink_jsonl, &bytes, "a.jsonl", false);
    check_sink(&flow_sink_text, &bytes, "a.txt", false);
    check_sink(&flow_sink_npy, &numbers, "a.npy", false);
    check_sink(&flow_sink_safetensors, &numbers, "a.safetensors", true);
    check_sink(&flow_sink_tar, &image, "b.tar", true);
    image.encoder = &flow_encoder_jpeg;
    check_sink(&flow_sink_tar, &image, "b.tar", true);
}

static void write_tar(void) {
    char archive[4 * 512] = "x.cls";
    unsigned sum = 0;
    memcpy(archive + 124, "00000000001", 11);
    memset(archive + 148, ' ', 8);
    archive[156] = '0';
    for (int i = 0; i < 512; i++) sum += (unsigned char)archive[i];
    snprintf(archive + 148, 8, "%06o", sum);
    archive[512] = '7';
    write_test_file("a.tar", archive, sizeof archive);
}

static void write_arrays(void) {
    static const float values[] = {1, 2, 3};
    static char bytes[1024];
    size_t size = make_npy(bytes, 1, literal_of("<f4", "(3,)"), values, sizeof values);
    write_test_file("x.npy", bytes, size);
    archive_begin();
    add_member("x.npy", bytes, size, 8, true);
    write_archive("x.npz", false, "");
}

static void write_folder(void) {
    if (mkdir("photos", 0755) || mkdir("photos/a", 0755)) exit(99);
    write_test_file("photos/a/1.jpg", "abc", 3);
    write_test_file("photos/a/2.jpg", "def", 3);
}

static void write_examples(void) {
    Bytes file = {.size = 0}, features = {.size = 0};
    add_floats(&features, "x", (float[]){1}, 1, 1);
    for (int i = 0; i < 3; i++) add_example(&file, &features);
    write_test_file("a.tfrecord", file.at, file.size);
}

static void write_base(void) {
    sqlite3 *base;
    if (sqlite3_open("a.db", &base) ||
        sqlite3_exec(base, "create table t(x); insert into t values (1), (2), (null)", NULL, NULL,
                     NULL))
        exit(99);
    sqlite3_close(base);
}

int main(void) {
    static const FlowType real = {.element = FLOW_f32}, byte = {.element = FLOW_u8};
    static const FlowType whole = {.element = FLOW_i32}, number = {.element = FLOW_i64};
    static const Case cases[] = {
        {&flow_source_csv, {.name = "x", .path = "table.csv", .type = real}},
        {&flow_source_text, {.name = "byte", .path = "table.csv", .type = byte}},
        {&flow_source_idx, {.name = "label", .path = "labels.idx", .type = whole}},
        {&flow_source_tar, {.name = "cls", .path = "*.tar", .type = whole, .digits = true}},
        {&flow_source_npz, {.name = "x", .path = "x.npz", .type = real}},
        {&flow_source_images, {.name = "image", .path = "photos", .type = {FLOW_u8, 1, {3}}}},
        {&flow_source_jsonl, {.name = "x", .path = "x.jsonl", .type = real}},
        {&flow_source_lines, {.name = "line", .path = "table.csv", .type = {FLOW_u8, 1, {8}}}},
        {&flow_source_csv, {.name = "x", .path = "table.csv.zst", .type = real}},
        {&flow_source_tfrecord, {.name = "x", .path = "*.tfrecord", .type = real}},
        {&flow_source_binary, {.name = "x", .path = "table.csv*", .type = byte}},
        {&flow_source_sqlite, {.name = "x", .path = "a.db", .type = real, .fills = true}},
        {&flow_source_npy, {.name = "x", .path = "x.npy", .type = real}},
        {&flow_source_range, {.name = "index", .type = number}},
    };
    enum { CASES = sizeof cases / sizeof *cases, BRIEF = 3 /* open at once */ };
    static const char table[] = "x,y\n1,\"2\"\n3,4\n";
    allowed = INT_MAX;
    test_folder();
    write_test_file("table.csv", table, strlen(table));
    write_test_file("labels.idx", "\0\0\10\1\0\0\0\2\5\6", 10);
    write_test_file("x.jsonl", "{\"x\":1}\n{\"x\":2}\n", 16);
    write_tar();
    write_arrays();
    write_folder();
    write_examples();
    write_base();
    char packed[100];
    size_t packed_size = ZSTD_compress(packed, sizeof packed, table, strlen(table), 3);
    write_test_file("table.csv.zst", packed, packed_size);
    for (int i = 0; i < CASES; i++)
        for (int workers = 0; workers <= 2; workers += 2) check(&cases[i], workers);
    check_pack();
    check_sinks();
    interrupt_now();
    allowed = INT_MAX;
    for (int i = 0; i < CASES; i++) check_interrupted(&cases[i], i >= CASES - BRIEF);
    check_mixture_interrupted();
    test_folder_remove();
    return test_result();
}
