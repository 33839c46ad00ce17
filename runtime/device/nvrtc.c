#define _GNU_SOURCE
#include "runtime/device/nvrtc.h"

#include "runtime/device/apart.h"
#include "runtime/device/image_cache.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Nvrtc {
    void *library;
    char name[DEVICE_TEXT];
#define NVRTC(name, symbol, parameters) int(*name) parameters;
#include "runtime/device/nvrtc.def"
#undef NVRTC
} Nvrtc;

/* The library. */

static const struct {
    const char *name;
    int least; /* of driver_version, that takes what it makes */
} names[] = {{"libnvrtc.so.13", 13000},
             {"libnvrtc.so.12", 12000},
             {"libnvrtc.so.11.2", 11000},
             {"libnvrtc.so", 0}};

enum { NAMES = sizeof names / sizeof *names };

static void *open_named(const char *name, char *found) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) snprintf(found, DEVICE_TEXT, "%.150s", name);
    return library;
}

static void *open_library(int version, char *found) {
    const char *given = getenv("FLOWC_LIBNVRTC");
    void *library = NULL;
    if (given && *given) return open_named(given, found);
    for (int i = 0; i < NAMES && !library; i++)
        if (!version || version >= names[i].least) library = open_named(names[i].name, found);
    return library;
}

int nvrtc_name(int version, char *name) {
    *name = 0;
    int major = 0, minor = 0;
    void *library = open_library(version, name);
    int (*ask)(int *, int *) = NULL;
    if (library) *(void **)&ask = dlsym(library, "nvrtcVersion");
    if (ask) ask(&major, &minor);
    if (library) dlclose(library);
    return major * 1000 + minor * 10;
}

static const char *find_symbols(Nvrtc *nvrtc) {
#define NVRTC(name, symbol, parameters) \
    if (!(*(void **)&nvrtc->name = dlsym(nvrtc->library, #symbol))) return #symbol;
#include "runtime/device/nvrtc.def"
#undef NVRTC
    return NULL;
}

static FlowStatus load(Nvrtc *nvrtc, int version) {
    const char *given = getenv("FLOWC_LIBNVRTC");
    nvrtc->library = open_library(version, nvrtc->name);
    if (!nvrtc->library)
        return flow_failure(FLOW_EXIT_resource,
                            "NVRTC, which compiles for GPUs, is not found (%s); " NVRTC_COMES,
                            given && *given ? given : "libnvrtc.so");
    const char *symbol = find_symbols(nvrtc);
    if (!symbol) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "%s is too old: it has no %s; CUDA 11.2 or later does",
                        nvrtc->name, symbol);
}

/* For which GPU. */

typedef struct Target {
    char option[64];
    bool own; /* the GPU's own code */
} Target;

enum { ARCHITECTURES = 64 };

typedef struct Known {
    int count, numbers[ARCHITECTURES];
} Known;

static FlowStatus ask_known(const Nvrtc *nvrtc, Known *known) {
    if (!nvrtc->count(&known->count) && known->count <= ARCHITECTURES &&
        !nvrtc->architectures(known->numbers))
        return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "%s does not say what it compiles for", nvrtc->name);
}

/* Code for 9.0 runs on nothing else, so it may use all that is there alone. */
static bool is_alone(const Nvrtc *nvrtc, int capability) {
    int major = 0, minor = 0;
    return capability == 90 && !nvrtc->version(&major, &minor) && major >= 12;
}

static void set_option(const Nvrtc *nvrtc, Target *target, bool own, int capability) {
    target->own = own;
    snprintf(target->option, sizeof target->option, "--gpu-architecture=%s_%d%s",
             own ? "sm" : "compute", capability, own && is_alone(nvrtc, capability) ? "a" : "");
}

static FlowStatus choose_target(const Nvrtc *nvrtc, int capability, Target *target) {
    Known known;
    int best = 0;
    FlowStatus status = ask_known(nvrtc, &known);
    if (status.exit) return status;
    for (int i = 0; i < known.count; i++)
        if (known.numbers[i] <= capability && known.numbers[i] > best) best = known.numbers[i];
    if (!best)
        return flow_failure(FLOW_EXIT_resource,
                            "%s no longer compiles for GPUs of compute capability %d.%d; an "
                            "earlier one does",
                            nvrtc->name, capability / 10, capability % 10);
    set_option(nvrtc, target, best == capability, best);
    return flow_ok;
}

/* "sm_75, sm_80" */
static void list_known(const Known *known, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < known->count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%ssm_%d", i ? ", " : "", known->numbers[i]);
}

static FlowStatus target_of_wish(const Nvrtc *nvrtc, const NvrtcWish *wish, Target *target) {
    Known known;
    char list[300];
    FlowStatus status = ask_known(nvrtc, &known);
    if (status.exit) return status;
    if (wish->is_alone && !is_alone(nvrtc, wish->capability))
        return flow_failure(
            FLOW_EXIT_resource,
            "%s does not compile for sm_%da, which NVRTC 12 and later do: " NVRTC_COMES
            "; for sm_%d it does",
            nvrtc->name, wish->capability, wish->capability);
    set_option(nvrtc, target, !wish->is_ptx, wish->capability);
    for (int i = 0; i < known.count; i++)
        if (known.numbers[i] == wish->capability) return flow_ok;
    list_known(&known, list, sizeof list);
    return flow_failure(FLOW_EXIT_usage, "%s does not compile for sm_%d; it does for %s",
                        nvrtc->name, wish->capability, list);
}

/* Compiling. */

/* From its first error on, one line. */
static void first_error(char *log) {
    char *error = strstr(log, "error:");
    while (error && error > log && error[-1] != '\n') error--;
    if (error) memmove(log, error, strlen(error) + 1);
    log[strcspn(log, "\n")] = 0;
}

static FlowStatus refused(const Nvrtc *nvrtc, void *program, int error) {
    enum { OUT_OF_MEMORY = 1 };
    size_t size = 0;
    nvrtc->log_size(program, &size);
    char *log = calloc(size + 1, 1);
    if (log && size) nvrtc->log(program, log);
    if (log) first_error(log);
    FlowStatus status =
        flow_failure(error == OUT_OF_MEMORY ? FLOW_EXIT_resource : FLOW_EXIT_internal,
                     "%s does not compile the kernels: %.300s", nvrtc->name,
                     log && *log ? log : "it does not say why");
    free(log);
    return status;
}

static FlowStatus take_image(const Nvrtc *nvrtc, void *program, bool own, GpuImage *image) {
    int error =
        own ? nvrtc->cubin_size(program, &image->size) : nvrtc->ptx_size(program, &image->size);
    image->bytes = error ? NULL : malloc(image->size + 1);
    if (!image->bytes) return flow_failure(FLOW_EXIT_resource, "no memory for the kernels");
    error = own ? nvrtc->cubin(program, image->bytes) : nvrtc->ptx(program, image->bytes);
    if (!error) return flow_ok;
    free(image->bytes);
    image->bytes = NULL;
    return flow_failure(FLOW_EXIT_internal, "%s gives no kernels (%d)", nvrtc->name, error);
}

static FlowStatus compile(const Nvrtc *nvrtc, const char *text, const Target *target,
                          GpuImage *image) {
    const char *const options[] = {target->option, "-default-device"};
    void *program;
    if (nvrtc->create(&program, text, "program.cu", 0, NULL, NULL))
        return flow_failure(FLOW_EXIT_resource, "%s does not start", nvrtc->name);
    const int error = nvrtc->compile(program, 2, options);
    FlowStatus status =
        error ? refused(nvrtc, program, error) : take_image(nvrtc, program, target->own, image);
    nvrtc->destroy(&program);
    return status;
}

/* Which library it is, and what it is told. */
typedef struct Key {
    char text[1024];
} Key;

static Key key_of(const Nvrtc *nvrtc, const Target *target) {
    Key key;
    Dl_info info;
    struct stat file = {0};
    const char *compiler = getenv("FLOWC_CC"); /* by which the stand-in compiles */
    int major = 0, minor = 0;
    nvrtc->version(&major, &minor);
    if (!dladdr((void *)nvrtc->version, &info) || stat(info.dli_fname, &file))
        info.dli_fname = nvrtc->name;
    snprintf(key.text, sizeof key.text, "%s by %.600s %d.%d, %lld bytes, %lld.%09ld, %.100s",
             target->option, info.dli_fname, major, minor, (long long)file.st_size,
             (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, compiler ? compiler : "");
    return key;
}

/* One compilation. */

enum { SECONDS = 300, TEXT_LIMIT = 64 << 20 };

static const size_t memory_limit = (size_t)8 << 30;

typedef struct Job {
    const Nvrtc *nvrtc;
    const char *text;
    Target target;
    Key key;
    char what[DEVICE_TEXT + 40];
    Apart apart;
    GpuImage image;
} Job;

static ApartResult compile_job(const void *context) {
    const Job *job = context;
    GpuImage image = {0};
    FlowStatus status = compile(job->nvrtc, job->text, &job->target, &image);
    return (ApartResult){status, image.bytes, image.size};
}

static ApartLimits limits(void) {
    const char *given = getenv("FLOWC_NVRTC_SECONDS");
    int seconds = given ? atoi(given) : 0;
    return (ApartLimits){seconds > 0 ? seconds : SECONDS, memory_limit};
}

/* Takes it from the cache, or has it begun. */
static FlowStatus begin(Job *job) {
    if (strlen(job->text) > TEXT_LIMIT)
        return flow_failure(FLOW_EXIT_resource,
                            "the kernels for GPUs are %zu MiB of text, more than %d: place fewer "
                            "of them on a GPU",
                            strlen(job->text) >> 20, TEXT_LIMIT >> 20);
    job->key = key_of(job->nvrtc, &job->target);
    if (image_cache_take(job->key.text, job->text, &job->image)) return flow_ok;
    snprintf(job->what, sizeof job->what, "%s, compiling for GPUs (%s),", job->nvrtc->name,
             strchr(job->target.option, '=') + 1);
    return apart_start(&job->apart, job->what, compile_job, job, limits());
}

static FlowStatus finish(Job *job) {
    if (!job->apart.process) return flow_ok;
    ApartResult made = apart_finish(&job->apart);
    if (made.status.exit) return made.status;
    job->image = (GpuImage){made.bytes, made.size};
    image_cache_keep(job->key.text, job->text, &job->image);
    return flow_ok;
}

FlowStatus nvrtc_compile(const char *text, int capability, int version, GpuImage *image) {
    Nvrtc nvrtc = {0};
    Job job = {.nvrtc = &nvrtc, .text = text};
    FlowStatus status = load(&nvrtc, version);
    if (!status.exit) status = choose_target(&nvrtc, capability, &job.target);
    if (!status.exit) status = begin(&job);
    if (!status.exit) status = finish(&job);
    if (nvrtc.library) dlclose(nvrtc.library);
    *image = job.image;
    return status;
}

/* Several. */

/* Begins those that have their turn; once one has failed, what was begun is finished alone. */
static FlowStatus run_jobs(Job *jobs, int count, int at_once) {
    FlowStatus status = flow_ok;
    int begun = 0;
    for (int done = 0; done < count && (!status.exit || done < begun); done++) {
        for (; begun < count && begun < done + at_once && !status.exit; begun++)
            status = begin(&jobs[begun]);
        FlowStatus one = finish(&jobs[done]);
        if (!status.exit) status = one;
    }
    return status;
}

static FlowStatus compile_wishes(const Nvrtc *nvrtc, const char *text, NvrtcWish *wishes, int count,
                                 int at_once) {
    Job *jobs = calloc((size_t)count + 1, sizeof *jobs);
    FlowStatus status = jobs ? flow_ok : flow_failure(FLOW_EXIT_resource, "no memory for NVRTC");
    for (int i = 0; i < count && !status.exit; i++) {
        jobs[i] = (Job){.nvrtc = nvrtc, .text = text};
        status = target_of_wish(nvrtc, &wishes[i], &jobs[i].target);
    }
    if (!status.exit) status = run_jobs(jobs, count, at_once);
    for (int i = 0; i < count && jobs; i++)
        if (status.exit) free(jobs[i].image.bytes);
        else wishes[i].image = jobs[i].image;
    free(jobs);
    return status;
}

FlowStatus nvrtc_compile_all(const char *text, NvrtcWish *wishes, int count, int at_once) {
    Nvrtc nvrtc = {0};
    FlowStatus status = load(&nvrtc, 0);
    if (!status.exit)
        status = compile_wishes(&nvrtc, text, wishes, count, at_once > 0 ? at_once : 1);
    if (nvrtc.library) dlclose(nvrtc.library);
    return status;
}
