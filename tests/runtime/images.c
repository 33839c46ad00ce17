/* images: files in order with the places of their folders; what is passed over; and nothing outside
 * of the folder is ever opened, whatever links are there or come later. */
#include "runtime/flow.h"
#include "runtime/holdings.h"
#include "tests/runtime/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void folder(const char *path) {
    if (mkdir(path, 0755)) exit(99);
}

static void file(const char *path, const char *text) {
    write_test_file(path, text, strlen(text));
}

static void link_to(const char *target, const char *path) {
    if (symlink(target, path)) exit(99);
}

static void run(const char *command) {
    if (system(command)) exit(99);
}

static FlowStatus open_as(const char *path, bool labels, FlowReader **reader) {
    static FlowField fields[2];
    fields[0] = (FlowField){.name = "image", .path = path, .type = {FLOW_u8, 1, {3}}};
    fields[1] =
        (FlowField){.name = "label", .path = path, .type = {.element = FLOW_u8}, .digits = true};
    return flow_source_images.open(fields, labels ? 2 : 1, NULL, reader);
}

static void expect(const FlowReader *reader, int64_t record, const char *text, uint8_t label) {
    char bytes[3] = "";
    uint8_t found = 99;
    FlowStatus failure = flow_ok;
    bool made = flow_source_images.make(reader, record, (void *const[]){bytes, &found}, &failure);
    CHECK(made && !memcmp(bytes, text, 3) && found == label, "record %d: %.3s %d %s", (int)record,
          bytes, found, failure.text);
}

static void fails(const FlowReader *reader, int64_t record, const char *says) {
    char bytes[3];
    uint8_t found;
    FlowStatus failure = flow_ok;
    bool made = flow_source_images.make(reader, record, (void *const[]){bytes, &found}, &failure);
    CHECK(!made, "record %d was made: %s", (int)record, says);
    CHECK_SAYS(failure.text, says);
    CHECK(!flow_source_images.make(reader, record, (void *const[]){bytes, &found}, NULL), "%s",
          says);
}

static FlowReader *opened(const char *path, bool labels, int64_t records) {
    FlowReader *reader;
    FlowStatus status = open_as(path, labels, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return NULL;
    CHECK(flow_source_images.records(reader) == records, "%d",
          (int)flow_source_images.records(reader));
    return reader;
}

static void refuses(const char *path, const char *says) {
    FlowReader *reader;
    FlowStatus status = open_as(path, true, &reader);
    CHECK(status.exit == FLOW_EXIT_data, "exit %d: %s", (int)status.exit, says);
    CHECK_SAYS(status.text, says);
    if (!status.exit) flow_source_images.close(reader);
}

/* Folders are in order by themselves: `cat` before `cat-2`, though `-` comes before `/`. */
static void reads_in_order(void) {
    folder("a");
    folder("a/cat-2");
    folder("a/cat");
    folder("a/cat/x");
    folder("a/empty");
    folder("a/B");
    folder("a/.hidden");
    file("a/cat-2/1.jpg", "cd1");
    file("a/cat/x.png", "cx.");
    file("a/cat/x/2.JPEG", "cx2");
    file("a/cat/a\n b\xff.jpeg", "cab");
    file("a/cat/.1.jpg", "no");
    file("a/cat/notes.txt", "no");
    file("a/cat/.jpg", "no");
    file("a/cat/jpg", "no");
    file("a/.hidden/1.jpg", "no");
    file("a/B/1.Png", "B1.");
    file("a/README", "no");
    FlowReader *reader = opened("a", true, 5);
    if (!reader) return;
    expect(reader, 0, "B1.", 0);
    expect(reader, 1, "cab", 1);
    expect(reader, 2, "cx2", 1);
    expect(reader, 3, "cx.", 1);
    expect(reader, 4, "cd1", 2);
    expect(reader, 0, "B1.", 0);
    flow_source_images.close(reader);
}

/* The class `empty` stands between `dog` and `fox` all the same. */
static void keeps_empty_classes(void) {
    folder("e");
    folder("e/dog");
    folder("e/empty");
    folder("e/fox");
    file("e/dog/1.jpg", "dog");
    file("e/fox/1.jpg", "fox");
    FlowReader *reader = opened("e", true, 2);
    if (!reader) return;
    expect(reader, 0, "dog", 0);
    expect(reader, 1, "fox", 2);
    flow_source_images.close(reader);
}

static void reads_without_classes(void) {
    uint8_t bytes[4] = "";
    folder("flat");
    folder("flat/z");
    file("flat/2.jpg", "222");
    file("flat/1.jpg", "111");
    file("flat/z/1.jpg", "z11");
    FlowReader *reader = opened("flat", false, 3);
    if (!reader) return;
    CHECK(flow_source_images.make(reader, 1, (void *const[]){bytes}, NULL) && bytes[0] == '2', "%s",
          bytes);
    flow_source_images.close(reader);
    reader = opened("flat", true, 3);
    if (!reader) return;
    fails(reader, 0, "flat/1.jpg: lies in no folder of a class, so it has no label");
    expect(reader, 2, "z11", 0);
    flow_source_images.close(reader);
}

static void refuses_folders(void) {
    refuses("none", "none: cannot be read: No such file");
    refuses("a/README", "a/README: is no folder");
    folder("b");
    refuses("b", "b: has no images (.jpg, .jpeg, .png)");
    folder("b/cat");
    refuses("b", "b: has no images");
    file("b/cat/1.webp", "www");
    refuses("b", "b/cat: has no .jpg, .jpeg or .png file, but `1.webp`");
    file("b/cat/1.png", "111");
    link_to("../a", "b/dog");
    refuses("b", "b/dog: is a link; links are not followed");
    if (unlink("b/dog")) exit(99);
    link_to("../../a", "b/cat/more");
    refuses("b", "b/cat/more: is a link; links are not followed");
    if (unlink("b/cat/more")) exit(99);
    link_to("nowhere", "b/broken");
    link_to(".", "b/.loop");
    FlowReader *reader = opened("b", true, 1);
    if (reader) flow_source_images.close(reader);
    run("d=b/cat; for i in $(seq 32); do d=$d/d; done; mkdir -p $d");
    refuses("b", "lies more than 32 folders deep");
}

static void refuses_long_paths(void) {
    char name[201];
    memset(name, 'n', sizeof name - 1);
    name[200] = 0;
    folder("long");
    if (chdir("long")) exit(99);
    for (int i = 0; i < 25; i++)
        if (mkdir(name, 0755) || chdir(name)) exit(99);
    for (int i = 0; i < 26; i++)
        if (chdir("..")) exit(99);
    refuses("long", "long: has paths of more than 4096 bytes");
}

/* What is wrong with one file is told when its record is made. */
static void refuses_files(void) {
    folder("f");
    folder("f/c");
    file("secret.jpg", "sec");
    link_to("../../secret.jpg", "f/c/1.jpg");
    if (mkfifo("f/c/2.jpg", 0644)) exit(99);
    file("f/c/3.jpg", "");
    run("truncate -s $((64 * 1024 * 1024 + 1)) f/c/4.jpg");
    run("truncate -s $((64 * 1024 * 1024)) f/c/5.jpg");
    file("f/c/6.jpg", "666");
    FlowReader *reader = opened("f", true, 6);
    if (!reader) return;
    fails(reader, 0, "f/c/1.jpg: is a link; links are not followed");
    fails(reader, 1, "f/c/2.jpg: is not a regular file");
    fails(reader, 2, "f/c/3.jpg: has 0 bytes, the program expects u8[3]");
    fails(reader, 3, "f/c/4.jpg: has more than 64 MiB");
    fails(reader, 4, "f/c/5.jpg: has 67108864 bytes, the program expects u8[3]");
    expect(reader, 5, "666", 0);
    flow_source_images.close(reader);
}

/* What was a file or a folder when names were collected is a link now. */
static void refuses_later_links(void) {
    folder("l");
    folder("l/c");
    folder("l/d");
    folder("outside");
    file("outside/1.jpg", "out");
    file("l/c/1.jpg", "c1.");
    file("l/d/1.jpg", "d1.");
    FlowReader *reader = opened("l", true, 2);
    if (!reader) return;
    run("rm l/c/1.jpg; ln -s ../../outside/1.jpg l/c/1.jpg; rm -r l/d; ln -s ../outside l/d");
    fails(reader, 0, "l/c/1.jpg: is a link; links are not followed");
    fails(reader, 1, "l/d/1.jpg: cannot be read: Not a directory");
    run("rm l/c/1.jpg");
    fails(reader, 0, "l/c/1.jpg: cannot be read: No such file");
    flow_source_images.close(reader);
}

/* That no file can be opened, and that there is no memory for one, is no fault of it. */
static void blames_no_file(void) {
    struct rlimit limit, none;
    unsigned char bytes[3];
    FlowStatus status = flow_ok;
    folder("s");
    folder("s/c");
    file("s/c/1.jpg", "c1.");
    FlowReader *reader = opened("s", false, 1);
    if (!reader || getrlimit(RLIMIT_NOFILE, &limit)) return;
    none = (struct rlimit){0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool made = flow_source_images.make(reader, 0, (void *[]){bytes}, &status);
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(!made && status.exit == FLOW_EXIT_resource, "exit %d: %s", status.exit, status.text);
    holdings_limit(holdings_sum() + 3);
    made = flow_source_images.make(reader, 0, (void *[]){bytes}, &status);
    holdings_limit(0);
    CHECK(!made && status.exit == FLOW_EXIT_resource, "exit %d: %s", status.exit, status.text);
    CHECK(flow_source_images.make(reader, 0, (void *[]){bytes}, &status), "%s", status.text);
    flow_source_images.close(reader);
}

static void refuses_large_labels(void) {
    run("for i in $(seq 1000 1256); do mkdir -p many/$i; done; echo -n abc >many/1256/1.jpg; "
        "echo -n def >many/1255/1.jpg");
    FlowReader *reader = opened("many", true, 2);
    if (!reader) return;
    expect(reader, 0, "def", 255);
    fails(reader, 1, "many/1256/1.jpg: its label 256 is no u8");
    flow_source_images.close(reader);
}

int main(void) {
    test_folder();
    reads_in_order();
    keeps_empty_classes();
    reads_without_classes();
    refuses_folders();
    refuses_long_paths();
    refuses_files();
    refuses_later_links();
    blames_no_file();
    refuses_large_labels();
    test_folder_remove();
    return test_result();
}
