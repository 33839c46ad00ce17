#define _GNU_SOURCE
#include "runtime/device/nvrtc.h"

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

void nvrtc_name(int version, char *name) {
    *name = 0;
    void *library = open_library(version, name);
    if (library) dlclose(library);
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
                            "NVRTC, which compiles for GPUs, is not found (%s); it comes with the "
                            "CUDA toolkit (Debian: libnvrtc12, pip: nvidia-cuda-nvrtc); "
                            "FLOWC_LIBNVRTC names it when it is elsewhere",
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

static FlowStatus choose_target(const Nvrtc *nvrtc, int capability, Target *target) {
    int known[ARCHITECTURES], count = 0, best = 0;
    if (nvrtc->count(&count) || count > ARCHITECTURES || nvrtc->architectures(known))
        return flow_failure(FLOW_EXIT_resource, "%s does not say what it compiles for",
                            nvrtc->name);
    for (int i = 0; i < count; i++)
        if (known[i] <= capability && known[i] > best) best = known[i];
    if (!best)
        return flow_failure(FLOW_EXIT_resource,
                            "%s no longer compiles for GPUs of compute capability %d.%d; an "
                            "earlier one does",
                            nvrtc->name, capability / 10, capability % 10);
    target->own = best == capability;
    snprintf(target->option, sizeof target->option, "--gpu-architecture=%s_%d",
             target->own ? "sm" : "compute", best);
    return flow_ok;
}

/* Compiling. */

/* From its first error on, one line. */
static void first_error(char *log) {
    char *error = strstr(log, "error:");
    while (error && error > log && error[-1] != '\n') error--;
    if (error) memmove(log, error, strlen(error) + 1);
    log[strcspn(log, "\n")] = 0;
}

static FlowStatus refused(const Nvrtc *nvrtc, void *program) {
    size_t size = 0;
    nvrtc->log_size(program, &size);
    char *log = calloc(size + 1, 1);
    if (log && size) nvrtc->log(program, log);
    if (log) first_error(log);
    FlowStatus status = flow_failure(FLOW_EXIT_internal, "%s does not compile the kernels: %.300s",
                                     nvrtc->name, log && *log ? log : "it does not say why");
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
    FlowStatus status = nvrtc->compile(program, 2, options)
                            ? refused(nvrtc, program)
                            : take_image(nvrtc, program, target->own, image);
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
    int major = 0, minor = 0;
    nvrtc->version(&major, &minor);
    if (!dladdr((void *)nvrtc->version, &info) || stat(info.dli_fname, &file))
        info.dli_fname = nvrtc->name;
    snprintf(key.text, sizeof key.text, "%s by %.700s %d.%d, %lld bytes, %lld.%09ld",
             target->option, info.dli_fname, major, minor, (long long)file.st_size,
             (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
    return key;
}

static FlowStatus take_or_compile(const Nvrtc *nvrtc, const char *text, const Target *target,
                                  GpuImage *image) {
    const Key key = key_of(nvrtc, target);
    if (image_cache_take(key.text, text, image)) return flow_ok;
    FlowStatus status = compile(nvrtc, text, target, image);
    if (!status.exit) image_cache_keep(key.text, text, image);
    return status;
}

FlowStatus nvrtc_compile(const char *text, int capability, int version, GpuImage *image) {
    Nvrtc nvrtc = {0};
    Target target;
    *image = (GpuImage){0};
    FlowStatus status = load(&nvrtc, version);
    if (!status.exit) status = choose_target(&nvrtc, capability, &target);
    if (!status.exit) status = take_or_compile(&nvrtc, text, &target, image);
    if (nvrtc.library) dlclose(nvrtc.library);
    return status;
}
