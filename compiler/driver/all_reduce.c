/* All-reduce: the option is handed on by the environment; the runtime finds the library. */
#define _GNU_SOURCE
#include "compiler/driver/all_reduce.h"

#include "compiler/driver/compilation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int all_reduce_set(const Command *command, const Arguments *arguments) {
    const char *kind = arguments->all_reduce;
    if (!kind) return EXIT_ok;
    if (strcmp(kind, "nccl") && strcmp(kind, "peer")) {
        fprintf(stderr, "flowc %s: --all-reduce is nccl or peer, not `%s`\n", command->name, kind);
        return EXIT_usage;
    }
    if (arguments->exact && !strcmp(kind, "nccl")) {
        fprintf(stderr,
                "flowc %s: --exact adds up in the order of the replicas, by copies between GPUs: "
                "not with --all-reduce=nccl\n",
                command->name);
        return EXIT_usage;
    }
    setenv("FLOWC_ALL_REDUCE", kind, true);
    return EXIT_ok;
}

const char *all_reduce_elsewhere(bool exact) {
    const char *asked = getenv("FLOWC_ALL_REDUCE");
    if (!exact && asked && !strcmp(asked, "nccl")) return "by NCCL, if it is there";
    return exact || (asked && !strcmp(asked, "peer"))
               ? "by copies between GPUs"
               : "by NCCL where it is there, else by copies between GPUs";
}

AllReduce all_reduce_find(bool exact, AllReduceText *text) {
    Nccl nccl;
    return nccl_choose(&nccl, exact, text);
}
