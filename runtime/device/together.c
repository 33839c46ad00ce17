/* Together: functions of records whose kernels run on GPUs. Any thread makes records at any time,
 * so each call takes a station, which nobody else has: of each GPU a stream of its own and room for
 * values. Stations are kept for the calls to come; there are never more than threads. */
#include "runtime/device/gpus_state.h"
#include "runtime/device/times.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Memory of a GPU, which grows. */
typedef struct Room {
    uint64_t address;
    size_t size;
} Room;

typedef struct StationGpu {
    Gpu gpu; /* without a context: not used yet */
    Room scratch, inputs[FLOW_LAUNCH_INPUTS];
} StationGpu;

typedef struct FlowStation {
    struct FlowStation *next; /* idle */
    int number;               /* from 1 on */
    char *staging;            /* what is copied next, or was last: all records' values */
    size_t room;
    GpuCounts counts;
    StationGpu gpus[]; /* those of the program */
} FlowStation;

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

/* Stations. */

static FlowStation *take_idle(void) {
    pthread_mutex_lock(&taking);
    FlowStation *station = gpus_state.idle;
    if (station) gpus_state.idle = station->next;
    pthread_mutex_unlock(&taking);
    return station;
}

static bool no_memory(void) {
    return gpus_fail(FLOW_EXIT_resource, "no memory for records on GPUs");
}

static FlowStation *new_station(void) {
    const size_t gpus = (size_t)gpus_state.count;
    FlowStation *station = calloc(1, sizeof(FlowStation) + gpus * sizeof(StationGpu));
    pthread_mutex_lock(&taking);
    if (station) station->number = ++gpus_state.stations;
    pthread_mutex_unlock(&taking);
    return station;
}

bool flow_together_begin(FlowTogether *together) {
    together->station = NULL;
    if (!gpus_state.count)
        return gpus_fail(FLOW_EXIT_internal, "records for GPUs, and none is open");
    if (!gpus_work()) return false;
    together->station = take_idle();
    if (!together->station) together->station = new_station();
    return together->station || no_memory();
}

bool flow_together_end(FlowTogether *together) {
    FlowStation *station = together->station;
    if (!station) return false;
    for (int i = 0; i < gpus_state.count; i++) times_look(&station->gpus[i].gpu, false);
    pthread_mutex_lock(&taking);
    station->next = gpus_state.idle;
    gpus_state.idle = station;
    pthread_mutex_unlock(&taking);
    return gpus_work();
}

static void free_room(Gpu *gpu, Room *room) {
    if (room->address) gpu->driver->deallocate(room->address);
    *room = (Room){0};
}

static void close_gpu(StationGpu *own) {
    Gpu *gpu = &own->gpu;
    if (!gpu->context) return;
    gpu->driver->use(gpu->context);
    if (gpu->streams[GPU_KERNELS]) gpu->driver->finish(gpu->streams[GPU_KERNELS]);
    free_room(gpu, &own->scratch);
    for (int i = 0; i < FLOW_LAUNCH_INPUTS; i++) free_room(gpu, &own->inputs[i]);
    gpu_close_beside(gpu);
}

void together_close(void) {
    for (FlowStation *station; (station = take_idle());) {
        for (int i = 0; i < gpus_state.count; i++) close_gpu(&station->gpus[i]);
        free(station->staging);
        free(station);
    }
}

/* What was asked for may still read the memory that is given back. */
static bool grow(Gpu *gpu, Room *room, size_t size) {
    if (room->address && size <= room->size) return true;
    if (!gpu_finish(gpu)) return false;
    free_room(gpu, room);
    if (!gpu_allocate(gpu, &room->address, size, "records")) return false;
    room->size = size;
    return true;
}

/* The station's GPU, with room for the scratch of all records; NULL: it can't be had. */
static StationGpu *gpu_of(const FlowTogether *together, int device) {
    if (!together->station || !gpus_work()) return NULL;
    if (device < 0 || device >= gpus_state.count) {
        gpus_fail(FLOW_EXIT_internal, "there is no gpu(%d) in this program", device);
        return NULL;
    }
    FlowStation *station = together->station;
    StationGpu *own = &station->gpus[device];
    size_t size = (size_t)(together->scratch * together->rows->count);
    if (!own->gpu.context &&
        !gpu_open_beside(&own->gpu, &station->counts, &gpus_state.gpus[device], station->number))
        return NULL;
    return !size || grow(&own->gpu, &own->scratch, size) ? own : NULL;
}

/* Values. */

static char *value_of(const FlowTogether *together, int64_t place, int64_t size, int64_t row) {
    const FlowRows *rows = together->rows;
    const int64_t input = ~place;
    if (place >= 0) return together->frame.memory + row * together->scratch + place;
    if (input >= together->fields)
        return (char *)rows->outputs[input - together->fields] + row * size;
    return (char *)rows->fields[row * rows->stride + input];
}

/* Where the value of record 0 lies on the GPU; 0: there is no room for all. */
static uint64_t address_of(const FlowTogether *together, StationGpu *own, int64_t place,
                           int64_t step) {
    const int64_t count = together->rows->count;
    if (place >= 0) return own->scratch.address + (uint64_t)(place * count);
    if (~place >= FLOW_LAUNCH_INPUTS) {
        gpus_fail(FLOW_EXIT_internal, "records have no input %d on a GPU", (int)~place);
        return 0;
    }
    Room *room = &own->inputs[~place];
    return grow(&own->gpu, room, (size_t)(step * count)) ? room->address : 0;
}

bool flow_together_room(const FlowTogether *together, int64_t place, int64_t step, int device) {
    StationGpu *own = gpu_of(together, device);
    return own && address_of(together, own, place, step);
}

static bool make_staging(FlowStation *station, size_t size) {
    if (size <= station->room) return true;
    char *staging = realloc(station->staging, size);
    if (!staging) return no_memory();
    station->staging = staging;
    station->room = size;
    return true;
}

static void gather(const FlowTogether *together, int64_t place, int64_t size, int64_t step) {
    for (int64_t row = 0; row < together->rows->count; row++)
        memcpy(together->station->staging + row * step, value_of(together, place, size, row),
               (size_t)size);
}

static void scatter(const FlowTogether *together, int64_t place, int64_t size, int64_t step) {
    for (int64_t row = 0; row < together->rows->count; row++)
        memcpy(value_of(together, place, size, row), together->station->staging + row * step,
               (size_t)size);
}

static bool copy_in(const FlowTogether *together, Gpu *gpu, uint64_t address, size_t size) {
    times_name((GpuName){together->what, NULL});
    bool good = gpu_copy_in(gpu, GPU_KERNELS, address, together->station->staging, size);
    times_name((GpuName){NULL, NULL});
    return good;
}

static bool copy_out(const FlowTogether *together, Gpu *gpu, uint64_t address, size_t size) {
    times_name((GpuName){together->what, NULL});
    bool good = gpu_copy_out(gpu, GPU_KERNELS, together->station->staging, address, size);
    times_name((GpuName){NULL, NULL});
    return good && gpu_finish(gpu);
}

/* The driver has read what is not pinned when it returns, so the next copy may be gathered. */
bool flow_together_copy(const FlowTogether *together, int64_t place, int64_t size, int64_t step,
                        int from, int to) {
    if (from != GPU_CPU && to != GPU_CPU)
        return gpus_fail(FLOW_EXIT_internal, "records can't be copied from gpu(%d) to gpu(%d)",
                         from, to);
    if (!together->rows->count) return true;
    StationGpu *own = gpu_of(together, from == GPU_CPU ? to : from);
    uint64_t address = own ? address_of(together, own, place, step) : 0;
    const size_t all = (size_t)(step * (together->rows->count - 1) + size);
    if (!address || !make_staging(together->station, all)) return false;
    if (from == GPU_CPU) {
        gather(together, place, size, step);
        return copy_in(together, &own->gpu, address, all);
    }
    if (!copy_out(together, &own->gpu, address, all)) return false;
    scatter(together, place, size, step);
    return true;
}

void flow_together_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                          const int64_t *operands, int64_t blocks) {
    const FlowTogether *together = (const FlowTogether *)frame;
    FlowArguments arguments; /* what the kernel does not look at is not set */
    StationGpu *own = gpu_of(together, (int)operands[kernel->operands - 1]);
    void *function = own ? gpu_find(&own->gpu, kernel->name) : NULL;
    if (!function) return;
    gpus_fill(&arguments, frame, kernel, operands, own->scratch.address);
    arguments.batch = 1;
    arguments.records = together->rows->count;
    for (int i = 0; i < kernel->inputs; i++) arguments.inputs[i] = (char *)own->inputs[i].address;
    const GpuShape shape = {blocks, kernel->threads, 0};
    times_name((GpuName){together->what, NULL});
    gpu_launch(&own->gpu, function, kernel->name, &arguments, shape);
    times_name((GpuName){NULL, NULL});
}
