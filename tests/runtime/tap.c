/* Taps: a child is ended and reaped however its feed ends, and what it had to say comes before why
 * it has failed; sockets; a folder tells each file once, when it is complete. */
#include "runtime/clock.h"
#include "runtime/feed.h"
#include "tests/runtime/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static Feed *open_feed(Tap *tap, FeedCut *cut) {
    Feed *feed;
    FlowStatus status = feed_open(tap, cut, NULL, &feed);
    CHECK(!status.exit, "%s", status.text);
    return feed;
}

/* The records that have come in all, with lines in one text. */
static int64_t count_all(Feed *feed, FlowStatus *status) {
    int64_t count = feed_wait(feed, INT64_MAX, 0, NULL);
    CHECK(feed_has_ended(feed, status), "it has not ended");
    return count;
}

/* A child. */

static FlowStatus start(const char *script, Tap **tap) {
    const FlowWord words[] = {{"sh", 0}, {"-c", 0}, {script, 0}};
    const FlowOrigin origin = {FLOW_ORIGIN_command, words, 3};
    return tap_open(&origin, tap);
}

static Feed *run(const char *script) {
    Tap *tap;
    FlowStatus status = start(script, &tap);
    CHECK(!status.exit, "%s", status.text);
    return open_feed(tap, feed_cut_line);
}

static void no_child_is_left(const char *what) {
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "%s: a child is left", what);
}

static void check_child(const char *script, int64_t records, const char *failure) {
    FlowStatus status;
    Feed *feed = run(script);
    int64_t count = count_all(feed, &status);
    CHECK(count == records, "%s: %lld records", script, (long long)count);
    CHECK(strstr(status.text, failure) && !!status.exit == !!*failure, "%s: %s", script,
          status.text);
    feed_close(feed);
    no_child_is_left(script);
}

static void children_end(void) {
    check_child("echo one; echo two; printf three", 3, "");
    check_child("true", 0, "");
    check_child("echo one; printf 'half a rec'; exit 7", 1,
                "command `sh` has ended with exit code 7");
    check_child("echo one; kill -9 $$", 1, "command `sh` was ended by signal 9");
    check_child("exec 1>&-; sleep 0.1; exit 2", 0, "exit code 2");
    check_child("cat", 0, ""); /* its standard input is empty */
}

/* Whether the process is there. */
static bool is_alive(long process) {
    return !kill((pid_t)process, 0);
}

static void a_child_is_ended(const char *script) {
    size_t size;
    Feed *feed = run(script);
    CHECK(feed_wait(feed, 1, 0, NULL) >= 1, "no record");
    long grandchild = strtol(feed_record(feed, 0, &size), NULL, 10);
    feed_close(feed);
    no_child_is_left(script);
    for (int i = 0; grandchild > 1 && is_alive(grandchild) && i < 6000; i++) usleep(10000);
    CHECK(grandchild <= 1 || !is_alive(grandchild), "%s: %ld is still there", script, grandchild);
}

static void children_are_ended(void) {
    a_child_is_ended("echo 0; exec sleep 1000");
    a_child_is_ended("echo 0; while :; do echo more; done");
    a_child_is_ended("sleep 1000 & echo $!; wait");
    a_child_is_ended("trap '' TERM; echo 0; while :; do sleep 1000; done");
    a_child_is_ended("echo 0; exec >&-; exec sleep 1000");
}

static void a_missing_program_is_an_error(void) {
    const FlowWord words[] = {{"no such program", 0}};
    const FlowOrigin origin = {FLOW_ORIGIN_command, words, 1};
    Tap *tap;
    FlowStatus status = tap_open(&origin, &tap);
    CHECK(status.exit && !tap && strstr(status.text, "there is no such program"), "%s",
          status.text);
    no_child_is_left("no such program");
}

/* Sockets. */

typedef struct Server {
    int listener, port;
    const char *says;
} Server;

static Server serve(const char *says) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Server server = {.listener = socket(AF_INET, SOCK_STREAM, 0), .says = says};
    CHECK(!bind(server.listener, (struct sockaddr *)&address, sizeof address) &&
              !listen(server.listener, 1) &&
              !getsockname(server.listener, (struct sockaddr *)&address, &size),
          "listen");
    server.port = ntohs(address.sin_port);
    return server;
}

static void *answer(void *argument) {
    const Server *server = argument;
    int client = accept(server->listener, NULL, NULL);
    CHECK(write(client, server->says, strlen(server->says)) > 0, "write");
    close(client);
    return NULL;
}

static FlowStatus connect_to(int port, Tap **tap) {
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    return tap_of_connection(address, tap);
}

static void a_connection_is_read_to_its_end(void) {
    Server server = serve("one\ntwo");
    pthread_t thread;
    Tap *tap;
    FlowStatus status;
    pthread_create(&thread, NULL, answer, &server);
    status = connect_to(server.port, &tap);
    CHECK(!status.exit, "%s", status.text);
    Feed *feed = open_feed(tap, feed_cut_line);
    CHECK(count_all(feed, &status) == 2 && !status.exit, "%s", status.text);
    feed_close(feed);
    pthread_join(thread, NULL);
    close(server.listener);
    status = connect_to(server.port, &tap);
    CHECK(status.exit && strstr(status.text, "refused"), "%s", status.text);
}

static void an_address_may_be_wrong(void) {
    static const char *const wrong[] = {
        "nowhere", ":", "unix:", "localhost:", "unix:/no/such/socket", "localhost:no such service"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Tap *tap;
        FlowStatus status = tap_of_connection(wrong[i], &tap);
        CHECK(status.exit && !tap && strstr(status.text, wrong[i]), "%s: %s", wrong[i],
              status.text);
    }
}

static void say_to(const char *path, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, path);
    CHECK(!connect(client, (struct sockaddr *)&address, sizeof address), "connect");
    CHECK(write(client, text, strlen(text)) == (ssize_t)strlen(text), "write");
    close(client);
}

static void clients_come_one_after_the_other(void) {
    char path[] = "/tmp/flow-tap-XXXXXX", address[64];
    Tap *tap, *second;
    size_t size;
    close(mkstemp(path));
    unlink(path);
    snprintf(address, sizeof address, "unix:%s", path);
    FlowStatus status = tap_of_listener(address, &tap);
    CHECK(!status.exit, "%s", status.text);
    Feed *feed = open_feed(tap, feed_cut_line);
    status = tap_of_listener(address, &second);
    CHECK(status.exit && strstr(status.text, "in use"), "%s", status.text);
    say_to(path, "one\ntwo");
    say_to(path, "three\n");
    CHECK(feed_wait(feed, 3, 0, NULL) == 3, "three records");
    CHECK(!memcmp(feed_record(feed, 1, &size), "two", 3) && size == 3, "%zu bytes", size);
    feed_close(feed);
    CHECK(access(path, F_OK), "the socket's file is left");
}

/* What a program that was killed has left is taken over. */
static void a_dead_socket_is_taken_over(void) {
    char path[] = "/tmp/flow-tap-XXXXXX", address[64];
    struct sockaddr_un dead = {.sun_family = AF_UNIX};
    Tap *tap;
    close(mkstemp(path));
    unlink(path);
    strcpy(dead.sun_path, path);
    int number = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(!bind(number, (struct sockaddr *)&dead, sizeof dead), "bind");
    close(number);
    snprintf(address, sizeof address, "unix:%s", path);
    FlowStatus status = tap_of_listener(address, &tap);
    CHECK(!status.exit, "%s", status.text);
    tap_close(tap);
}

/* A folder. */

static char folder[] = "/tmp/flow-folder-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int begin_file(const char *name) {
    int file = open(in_folder(name), O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0 && write(file, "x", 1) == 1, "%s", name);
    return file;
}

static void make_file(const char *name) {
    close(begin_file(name));
}

static size_t cut_name(void *context, const char *bytes, size_t size, FeedScan *scan) {
    (void)context;
    (void)scan;
    const char *end = memchr(bytes, 0, size);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

static void comes(Feed *feed, int64_t record, const char *name) {
    size_t size;
    CHECK(feed_wait(feed, record + 1, 0, NULL) > record, "%s", name);
    const char *path = feed_record(feed, record, &size);
    CHECK(!strcmp(path, in_folder(name)), "record %lld is %s, not %s", (long long)record, path,
          name);
}

static void files_come_once_and_whole(void) {
    char pattern[64], other[128];
    Tap *tap;
    FlowStatus status;
    CHECK(mkdtemp(folder), "mkdtemp");
    snprintf(pattern, sizeof pattern, "%s/*.x", folder);
    make_file("b.x");
    make_file("a.x");
    make_file("a.y");
    make_file(".c.x");
    mkdir(in_folder("d.x"), 0700);
    int growing = begin_file("aa.x");
    status = tap_of_folder(pattern, &tap);
    CHECK(!status.exit, "%s", status.text);
    Feed *feed = open_feed(tap, cut_name);
    comes(feed, 0, "a.x");
    comes(feed, 1, "b.x");
    int late = begin_file("e.x");
    make_file("f.x");
    comes(feed, 2, "f.x");
    close(late);
    comes(feed, 3, "e.x");
    close(growing);
    comes(feed, 4, "aa.x");
    make_file("f.x"); /* written again: no new file */
    make_file("part");
    snprintf(other, sizeof other, "%s", in_folder("part"));
    CHECK(!rename(other, in_folder("g.x")), "rename");
    comes(feed, 5, "g.x");
    unlink(in_folder("f.x"));
    make_file("f.x");
    comes(feed, 6, "f.x");
    static const char *const names[] = {"a.x", "a.y", "aa.x", "b.x", ".c.x", "e.x", "f.x", "g.x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in_folder(names[i]));
    CHECK(!rmdir(in_folder("d.x")) && !rmdir(folder), "rmdir");
    CHECK(count_all(feed, &status) == 7 && strstr(status.text, "the folder has gone"), "%s",
          status.text);
    feed_close(feed);
}

/* More than the kernel remembers. */
static void many_files_come_once(void) {
    enum { FILES = 20000 };
    char pattern[64], name[32];
    static char seen[FILES];
    Tap *tap;
    size_t size;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CHECK(mkdtemp(folder), "mkdtemp");
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    FlowStatus status = tap_of_folder(pattern, &tap);
    CHECK(!status.exit, "%s", status.text);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%d", i);
        make_file(name);
    }
    Feed *feed = open_feed(tap, cut_name);
    CHECK(feed_wait(feed, FILES, 0, NULL) == FILES, "files");
    for (int i = 0; i < FILES; i++) {
        int number = atoi(strrchr(feed_record(feed, i, &size), '/') + 1);
        CHECK(!seen[number], "%d comes twice", number);
        seen[number] = 1;
        snprintf(name, sizeof name, "%d", number);
        unlink(in_folder(name));
    }
    CHECK(feed_wait(feed, FILES + 1, clock_nanoseconds() + 1000000, NULL) == FILES, "too many");
    feed_close(feed);
    rmdir(folder);
}

static void a_wrong_folder_is_an_error(void) {
    static const char *const wrong[] = {"/no such folder/*.x", "/tmp/*/x", "/etc/passwd/*"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Tap *tap;
        FlowStatus status = tap_of_folder(wrong[i], &tap);
        CHECK(status.exit && !tap && strstr(status.text, wrong[i]), "%s", status.text);
    }
}

int main(void) {
    children_end();
    children_are_ended();
    a_missing_program_is_an_error();
    a_connection_is_read_to_its_end();
    an_address_may_be_wrong();
    clients_come_one_after_the_other();
    a_dead_socket_is_taken_over();
    files_come_once_and_whole();
    many_files_come_once();
    a_wrong_folder_is_an_error();
    return test_result();
}
