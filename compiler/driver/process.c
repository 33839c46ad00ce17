/* Process. */
#define _GNU_SOURCE
#include "compiler/driver/process.h"

#include "compiler/driver/files.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

void process_become(Arena *arena, const char *path, const Strings *words, const char *folder) {
    int program = open(path, O_RDONLY | O_CLOEXEC);
    if (program >= 0 && folder) folder_remove(folder);
    if (program >= 0) fexecve(program, word_list(arena, words), environ);
    fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
}
