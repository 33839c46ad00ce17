/* Tap of a command: the child has a process group of its own, so that all that it has started can
 * be told to end; Ctrl-C at the terminal does not reach it, the runtime does it the same when it
 * stops. */
#define _GNU_SOURCE
#include "runtime/clock.h"
#include "runtime/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK = 5,              /* milliseconds from one look at an ending child to the next */
    PATIENCE = 2000000000, /* nanoseconds that it has to end when it is told to */
};

typedef struct Command {
    Tap tap;
    pid_t child; /* 0: it has ended */
    int output;
} Command;

/* Ending. */

static FlowStatus judge(Command *command, int how) {
    command->child = 0;
    if (WIFEXITED(how) && !WEXITSTATUS(how)) return flow_ok;
    if (WIFEXITED(how))
        return flow_failure(FLOW_EXIT_data, "%s has ended with exit code %d", command->tap.name,
                            WEXITSTATUS(how));
    return flow_failure(FLOW_EXIT_data, "%s was ended by signal %d (%s)", command->tap.name,
                        WTERMSIG(how), strsignal(WTERMSIG(how)));
}

/* It writes no more, so it is about to end. */
static FlowStatus wait_for_end(Command *command, int stopper, TapRead *got) {
    struct pollfd stopped = {stopper, POLLIN, 0};
    pid_t ended;
    int how = 0;
    *got = (TapRead){command->child ? TAP_stopped : TAP_ended, 0};
    if (!command->child) return flow_ok;
    while (!(ended = waitpid(command->child, &how, WNOHANG)))
        if (poll(&stopped, 1, LOOK) > 0) return flow_ok;
    *got = (TapRead){TAP_ended, 0};
    if (ended > 0) return judge(command, how);
    command->child = 0;
    return flow_failure(FLOW_EXIT_resource, "%s: nobody knows how it has ended: %s",
                        command->tap.name, strerror(errno));
}

static FlowStatus read_command(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    Command *command = (Command *)tap;
    FlowStatus status = tap_read_descriptor(tap, command->output, stopper, bytes, room, got);
    if (status.exit || got->state != TAP_ended) return status;
    return wait_for_end(command, stopper, got);
}

static void end_child(const Command *command) {
    int64_t deadline = clock_nanoseconds() + PATIENCE;
    kill(-command->child, SIGTERM);
    kill(-command->child, SIGCONT);
    while (!waitpid(command->child, NULL, WNOHANG)) {
        if (clock_nanoseconds() < deadline) {
            poll(NULL, 0, LOOK);
            continue;
        }
        kill(-command->child, SIGKILL);
        waitpid(command->child, NULL, 0);
        return;
    }
}

static void close_command(Tap *tap) {
    Command *command = (Command *)tap;
    if (command->output >= 0) close(command->output);
    if (command->child) end_child(command);
    free(command);
}

/* Starting. */

/* Nothing of how the runtime takes signals is the child's. */
static void set_attributes(posix_spawnattr_t *attributes) {
    sigset_t usual, none;
    sigfillset(&usual);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(attributes, &usual);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETSIGMASK);
}

/* Returns errno. */
static int spawn(Command *command, char *const *words, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_attributes(&attributes);
    int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawnp(&command->child, words[0], &actions, &attributes, words, environ);
    if (error) command->child = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static FlowStatus start(Command *command, char *const *words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return flow_failure(FLOW_EXIT_resource, "%s: %s", command->tap.name, strerror(errno));
    command->output = ends[0];
    int error = spawn(command, words, ends[1]);
    close(ends[1]);
    if (!error) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s cannot be started: %s", command->tap.name,
                        error == ENOENT ? "there is no such program" : strerror(error));
}

FlowStatus tap_of_command(const FlowOrigin *origin, Tap **tap) {
    char *name;
    *tap = NULL;
    if (asprintf(&name, "command `%s`", origin->words[0].text) < 0) name = NULL;
    Command *command = name ? tap_new(sizeof *command, name) : NULL;
    char **words = calloc((size_t)origin->word_count + 1, sizeof *words);
    FlowStatus status = tap_no_memory(origin->words[0].text);
    for (int i = 0; words && i < origin->word_count; i++) words[i] = (char *)origin->words[i].text;
    if (command) {
        command->tap.read = read_command;
        command->tap.close = close_command;
        command->output = -1;
        if (words) status = start(command, words);
        if (!status.exit) *tap = &command->tap;
        else tap_close(&command->tap);
    }
    free(words);
    free(name);
    return status;
}
