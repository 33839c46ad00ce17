/* Decide: which kernels of a program run on a GPU where the program does not say it: of each loop
 * (training, a measure, a pipeline by itself) the items and values of balance.h, with what they
 * take by a profile.
 *
 * A round is a batch prepared and a step computed with it. The busiest of the CPU, the GPU, the
 * link and the step itself, whose kernels follow one another, bounds the rate, and is made as small
 * as it gets. Rooflines are floors, so a device that looks better is tried, and then known. With
 * replicas a kernel takes what its share does, and what joins values copies between GPUs (`peer`,
 * or twice the link). Not in the model: the driver's share of the CPU, two kernels of a step at the
 * same time on both devices, and that a step that is split waits for its fields' copies.
 *
 * Kernels of annotated calls are where the program says; loops, C functions and libraries are where
 * plan/ can have them. What prepares records gives them to the CPU's memory; from there the fields
 * of a batch go ahead of the step. A weight goes over when it was changed on the other device. Of
 * several GPUs the first is used. */
#ifndef FLOW_BALANCE_DECIDE_H
#define FLOW_BALANCE_DECIDE_H

#include "compiler/balance/balance.h"
#include "compiler/balance/times.h"
#include "compiler/balance/work.h"

/* A function of a loop: kernel k is item first + k. */
typedef struct Member {
    const Function *function;
    const FunctionPlan *cpu, *gpu; /* planned with all that can on either */
    int first;
    double runs; /* in a round; of what prepares it: records */
    bool prepares;
    const signed char *before;           /* Function.decided for a loop before this one; or NULL */
    const KernelTime **on_cpu, **on_gpu; /* of each kernel what was measured, or NULL */
} Member;

typedef struct Choice {
    const char *name; /* "fit" */
    const Pipeline *data;
    Vector(Member) members; /* what prepares batches, then what computes with them */
    Round round;            /* item 0: files, and who wants results */
    Split split;
    int measured;         /* times of kernels that it rests on; where there are some: */
    double by_rooflines;  /* a round by them, of the split that rooflines alone would give; */
    bool keeps_rooflines; /* and that is kept, as another gains too little */
} Choice;

/* profile: its first GPU is used. */
typedef struct Decisions {
    const Profile *profile;
    const Times *times; /* of the machine that the profile is of; or NULL */
    const Plan *cpu, *gpu;
    double needed; /* bytes of a GPU, where all that can runs on it */
    bool fits;     /* the GPU's memory holds the program; else nothing is put there */
    Vector(Choice) choices;
} Decisions;

/* profile: of a machine with a GPU. times: what was measured on that machine, or NULL. room: bytes
 * of that GPU's memory that the program may use. Sets Function.decided of the program's functions.
 *
 * A time that was measured takes the place of its kernel's roofline. A split by such times has to
 * be better than that by rooflines alone, by a twentieth: small differences move nothing. */
const Decisions *decide(Arena *arena, Program *program, const Profile *profile, const Times *times,
                        double room);

/* The round of a choice in another scene. */
Round choice_round(Arena *arena, const Decisions *decisions, const Choice *choice,
                   const Scene *scene);

/* The functions that it decides about: those that a loop calls in each round. */
FunctionList decided_functions(Arena *arena, const Program *program);

/* With all that nobody placed of these functions on the first GPU, as far as it can be there, or on
 * the CPU. Unsets Function.decided. */
const Plan *plan_with(Arena *arena, Program *program, bool on_gpu);

#endif
