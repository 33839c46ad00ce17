/* Work: what a kernel takes on each device of a profile, by a roofline: the largest of its
 * operations by the device's arithmetic and its bytes by what caches and memory give (S. Williams,
 * A. Waterman, D. Patterson, "Roofline", 2009), and the time to start it. */
#ifndef FLOW_BALANCE_WORK_H
#define FLOW_BALANCE_WORK_H

#include "compiler/balance/profile.h"
#include "compiler/plan/plan.h"

/* What if: so many times the records in a batch, and the bandwidth of links. */
typedef struct Scene {
    double batch, link;
} Scene;

/* Of the largest batch, in seconds; of scans with all their turns. */
double work_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int kernel, double batch);
double work_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int kernel, double batch);

/* In how many shares the replicas of a function divide a batch; 1: one device has it all. */
double shares_of(const FunctionPlan *plan);

/* Of copies from GPU to GPU, in bytes a second: by their link, or by way of the CPU's memory. */
Figure rate_across(const DeviceProfile *gpu);

/* The same of a function of records: so many of them, which the CPU's cores share, and a GPU makes
 * plan->together at a time of. */
double records_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int kernel,
                      double records);
double records_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int kernel,
                      double records);

/* Where the figure that bounds a kernel's roofline comes from. */
Origin origin_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int kernel);
Origin origin_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int kernel);

/* Of a value that goes over the link; of records, of so many. */
double work_of_copy(const DeviceProfile *gpu, const Type *type, const Scene *scene);
double records_copy(const DeviceProfile *gpu, const FunctionPlan *plan, const Type *type,
                    double records, double link);

#endif
