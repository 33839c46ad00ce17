/* Process. */
#define _GNU_SOURCE
#include "compiler/driver/process.h"

#include "compiler/driver/files.h"
#include "lang/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 256 << 20 };

extern char **environ;

static char **word_list(Arena *arena, const Strings *words) {
    char **list = arena_new_array(arena, char *, words->count + 1);
    for (size_t i = 0; i < words->count; i++) list[i] = (char *)words->items[i];
    return list;
}

static char **clean_environment(Arena *arena) {
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR"};
    char **list = arena_new_array(arena, char *, sizeof kept / sizeof *kept + 2);
    size_t count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (getenv(kept[i])) list[count++] = arena_format(arena, "%s=%s", kept[i], getenv(kept[i]));
    list[count] = "LC_ALL=C";
    return list;
}

Process process_start(Arena *arena, const Strings *words, bool show) {
    pid_t id;
    if (show) {
        for (size_t i = 0; i < words->count; i++)
            fprintf(stderr, "%s%s", i ? " " : "", words->items[i]);
        fprintf(stderr, "\n");
    }
    int error = posix_spawnp(&id, words->items[0], NULL, NULL, word_list(arena, words),
                             clean_environment(arena));
    if (error) fprintf(stderr, "flowc: %s: %s\n", words->items[0], strerror(error));
    return (Process){error ? -1 : id, words->items[0]};
}

int process_wait(Process process) {
    int status;
    if (process.id < 0) return 127;
    while (waitpid(process.id, &status, 0) < 0)
        if (errno != EINTR) return 127;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code) fprintf(stderr, "flowc: %s failed with exit code %d\n", process.name, code);
    return code;
}

static Process take(Processes *processes, size_t i) {
    Process process = processes->items[i];
    processes->items[i] = processes->items[--processes->count];
    return process;
}

/* That of one which could not be started, else of the first that ends, which it waits for but does
 * not ask. */
static int id_of_any(const Processes *processes) {
    siginfo_t ended;
    vector_each(Process, process, *processes)
        if (process->id < 0) return process->id;
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT))
        if (errno != EINTR) return -1;
    return ended.si_pid;
}

int process_wait_any(Processes *processes) {
    size_t i = 0;
    int id = id_of_any(processes);
    while (i + 1 < processes->count && processes->items[i].id != id) i++;
    return process_wait(take(processes, i));
}

/* The process, with its standard output going to the pipe. */
static pid_t start_into(Arena *arena, const Strings *words, const int ends[2]) {
    pid_t id;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return -1;
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(&id, words->items[0], &actions, NULL, word_list(arena, words),
                             clean_environment(arena));
    posix_spawn_file_actions_destroy(&actions);
    if (error) fprintf(stderr, "flowc: %s: %s\n", words->items[0], strerror(error));
    return error ? -1 : id;
}

static bool read_all(int from, Text *text) {
    char bytes[1 << 16];
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) != 0) {
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 || text->size + (size_t)size > OUTPUT_LIMIT) return false;
        text_add_bytes(text, bytes, (size_t)size);
    }
    return true;
}

const char *process_output(Arena *arena, const Strings *words, size_t *size) {
    int ends[2];
    Text text = text_new(arena);
    if (pipe2(ends, O_CLOEXEC)) return NULL;
    Process process = {start_into(arena, words, ends), words->items[0]};
    close(ends[1]);
    bool whole = process.id >= 0 && read_all(ends[0], &text);
    close(ends[0]);
    if (process_wait(process) || !whole) return NULL;
    *size = text.size;
    return text_string(&text);
}

void process_become(Arena *arena, const char *path, const Strings *words, const char *folder) {
    int program = open(path, O_RDONLY | O_CLOEXEC);
    if (program >= 0 && folder) folder_remove(folder);
    if (program >= 0) fexecve(program, word_list(arena, words), environ);
}
