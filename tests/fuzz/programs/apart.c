/* Apart. */
#include "tests/fuzz/programs/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

Trouble compare_apart(const Text *text, int count, const bool *users, bool told,
                      Findings *findings) {
    size_t size = sizeof *findings * (size_t)count;
    Findings *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return TROUBLE_code;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        Trouble trouble = compare_programs(text, count, users, told, shared);
        fflush(stdout);
        _exit((int)trouble);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    if (told && WIFSIGNALED(status)) printf("ends by %s\n", strsignal(WTERMSIG(status)));
    memcpy(findings, shared, size);
    munmap(shared, size);
    return WIFEXITED(status) ? (Trouble)WEXITSTATUS(status) : TROUBLE_code;
}
