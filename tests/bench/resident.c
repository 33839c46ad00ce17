/* Resident: runs the command that its arguments are, and writes the most KiB that were resident to
 * the file that the first one is. (A process counts what its parent had when it was made, so the
 * parent has to be small.) */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    pid_t child = fork();
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    struct rusage usage;
    int status;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) return 3;
    FILE *file = fopen(argv[1], "w");
    if (!file) return 3;
    fprintf(file, "%ld\n", usage.ru_maxrss);
    if (fclose(file)) return 3;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
