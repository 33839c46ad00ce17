/* flowc doctor: what flowc needs and finds here, what is missing, and how to get it. */
#define _GNU_SOURCE
#include "compiler/codegen/flags.h"
#include "compiler/driver/all_reduce.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/machine.h"
#include "compiler/driver/place.h"
#include "compiler/driver/toolchain.h"
#include "lang/base/path.h"
#include "runtime/device/nvrtc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef enum Finding {
    FINDING_ok,
    FINDING_none,    /* flowc does without it */
    FINDING_missing, /* it does not */
} Finding;

typedef struct Doctor {
    Arena *arena;
    const Arguments *arguments;
    bool wants_gpu; /* --device=gpu: a GPU has to work */
    bool failed;
} Doctor;

/* fix: or NULL */
static void tell(Doctor *doctor, Finding finding, const char *what, const char *found,
                 const char *fix) {
    static const char *const words[] = {"ok", "none", "MISSING"};
    printf("%-8s %-11s %s\n", words[finding], what, found);
    if (fix && finding != FINDING_ok) printf("%-8s %-11s -> %s\n", "", "", fix);
    if (finding == FINDING_missing) doctor->failed = true;
}

/* Of what only GPUs need. */
static Finding lacking(const Doctor *doctor) {
    return doctor->wants_gpu ? FINDING_missing : FINDING_none;
}

/* Compiling. */

/* Some of gcc_flags came with gcc 11. */
static bool is_old_gcc(const char *compiler, const char *version) {
    return is_gcc(compiler) && atoi(version) < 11;
}

static void look_for_compiler(Doctor *doctor) {
    Strings words = {0};
    size_t size;
    const char *compiler = toolchain_compiler(doctor->arguments->compiler);
    if (!compiler) {
        tell(doctor, FINDING_missing, "compiler", "no C compiler in PATH",
             "Debian: apt-get install gcc; --cc or FLOWC_CC name another one");
        return;
    }
    vector_push(doctor->arena, &words, compiler);
    vector_push(doctor->arena, &words, "-dumpfullversion");
    vector_push(doctor->arena, &words, "-dumpversion");
    const char *version = process_output(doctor->arena, &words, &size);
    const char *found =
        arena_format(doctor->arena, "%s %.*s", compiler, version ? (int)strcspn(version, "\n") : 0,
                     version ? version : "");
    const bool old = version && is_old_gcc(compiler, version);
    tell(doctor, version && !old ? FINDING_ok : FINDING_missing, "compiler", found,
         old ? "gcc 11 and later do, and clang: --cc or FLOWC_CC name another one"
             : "it does not run; install it anew (Debian: apt-get install --reinstall gcc)");
}

static void look_for_omp(Doctor *doctor) {
    const char *omp = toolchain_omp(doctor->arena);
    tell(doctor, omp ? FINDING_ok : FINDING_missing, "libomp",
         omp ? arena_format(doctor->arena, "%s/libomp.so", omp)
             : "LLVM's OpenMP runtime is not there",
         "Debian: apt-get install libomp-19-dev");
}

static void look_for_library(Doctor *doctor, const char *name, const char *package,
                             const char *used) {
    const char *header = arena_format(doctor->arena, "/usr/include/%s", name);
    const char *local = arena_format(doctor->arena, "/usr/local/include/%s", name);
    if (file_exists(header) || file_exists(local)) return;
    tell(doctor, FINDING_none, "library",
         arena_format(doctor->arena, "no %s, which programs need that %s", name, used),
         arena_format(doctor->arena, "Debian: apt-get install %s", package));
}

static void look_for_libraries(Doctor *doctor) {
    look_for_library(doctor, "zlib.h", "zlib1g-dev", "read gzip or tables");
    look_for_library(doctor, "jpeglib.h", "libjpeg-dev", "read or write JPEG");
    look_for_library(doctor, "png.h", "libpng-dev", "read or write PNG");
    look_for_library(doctor, "zstd.h", "libzstd-dev", "read zstd");
    look_for_library(doctor, "sqlite3.h", "libsqlite3-dev", "read SQLite files");
}

/* Room. */

static const char *space_text(Doctor *doctor, const char *folder) {
    struct statvfs disk;
    if (statvfs(folder, &disk)) return folder;
    return arena_format(doctor->arena, "%s, %s free", folder,
                        memory_text(doctor->arena, (uint64_t)disk.f_bavail * disk.f_frsize));
}

static void look_at_cache(Doctor *doctor) {
    const char *cache = cache_folder(doctor->arena);
    bool made = cache && folder_make(cache, 0700);
    const char *why = !cache                      ? "neither HOME nor XDG_CACHE_HOME is set"
                      : !made                     ? strerror(errno)
                      : !folder_is_private(cache) ? "others could write there"
                      : access(cache, W_OK)       ? strerror(errno)
                                                  : NULL;
    if (why)
        tell(doctor, FINDING_none, "cache",
             arena_format(doctor->arena, "%s: %s", cache ? cache : "no folder", why),
             "each run builds anew; set XDG_CACHE_HOME to a folder of your own");
    else tell(doctor, FINDING_ok, "cache", space_text(doctor, cache), NULL);
}

static void look_at_scratch(Doctor *doctor) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    bool good = !access(base, W_OK | X_OK);
    tell(doctor, good ? FINDING_ok : FINDING_missing, "scratch",
         good ? space_text(doctor, base)
              : arena_format(doctor->arena, "%s: %s", base, strerror(errno)),
         "set TMPDIR to a folder that can be written");
}

/* The processor and its memory, less what affinity and control groups take of them. */
static void look_at_machine(Doctor *doctor, const Processor *processor) {
    Arena *arena = doctor->arena;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t whole = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const char *limited =
        processor->cores < cores
            ? arena_format(arena, " of %ld, as affinity or a control group says", cores)
            : "";
    tell(doctor, FINDING_ok, "processor",
         arena_format(arena, "%s, %d core%s%s%s%s", processor->device.name, processor->cores,
                      processor->cores == 1 ? "" : "s", limited, processor->level[0] ? ", " : "",
                      processor->level),
         NULL);
    limited =
        processor->device.memory < whole
            ? arena_format(arena, " of %s, as a control group says", memory_text(arena, whole))
            : "";
    tell(doctor, FINDING_ok, "memory",
         arena_format(arena, "%s%s", memory_text(arena, processor->device.memory), limited), NULL);
}

/* GPUs. */

static void look_at_gpu(Doctor *doctor, const Device *gpu, int number) {
    char why[DEVICE_TEXT];
    Arena *arena = doctor->arena;
    const char *name = arena_format(arena, "gpu(%d)", number);
    const uint64_t available = gpu_start(gpu->ordinal, why);
    if (available)
        tell(doctor, FINDING_ok, name,
             arena_format(arena, "%s, sm_%d, %s of %s free", gpu->name, gpu->capability,
                          memory_text(arena, available), memory_text(arena, gpu->memory)),
             NULL);
    else
        tell(doctor, FINDING_missing, name,
             arena_format(arena, "%s does not start: %s", gpu->name, why),
             "`nvidia-smi` says who uses it, and whether it works");
}

static void look_at_nvrtc(Doctor *doctor, const Gpus *gpus) {
    Arena *arena = doctor->arena;
    char any[DEVICE_TEXT];
    if (gpus->compiler[0]) {
        tell(doctor, FINDING_ok, "NVRTC",
             arena_format(arena, "%s, CUDA %s", gpus->compiler, version_text(gpus->compiles).text),
             NULL);
        return;
    }
    int version = nvrtc_name(0, any);
    tell(doctor, lacking(doctor), "NVRTC",
         *any ? arena_format(arena,
                             "%s is of CUDA %s, the driver of %s: it does not take what that makes",
                             any, version_text(version).text, version_text(gpus->driver).text)
              : "libnvrtc.so is not found, which compiles for GPUs",
         *any ? "update the driver, or install NVRTC of its version; " NVRTC_COMES
              : NVRTC_COMES "; programs built with --target=sm_… do without it");
}

static void look_at_gpus(Doctor *doctor, const Gpus *gpus) {
    if (gpus->driver)
        tell(doctor, FINDING_ok, "driver",
             arena_format(doctor->arena, "NVIDIA, for CUDA up to %s%s",
                          version_text(gpus->driver).text,
                          doctor->arguments->simulate ? " (simulated)" : ""),
             NULL);
    if (!gpus->count)
        tell(doctor, lacking(doctor), "GPU", gpus->missing,
             "a GPU by NVIDIA needs its driver; " DRIVER_COMES "; --device=cpu needs none");
    for (int i = 0; i < gpus->count; i++) look_at_gpu(doctor, &gpus->items[i], i);
    look_at_nvrtc(doctor, gpus);
}

/* Several GPUs do without it, unless it is there and no good. */
static void look_at_nccl(Doctor *doctor, const Gpus *gpus) {
    static const Finding findings[] = {[ALL_REDUCE_nccl] = FINDING_ok,
                                       [ALL_REDUCE_peer] = FINDING_none,
                                       [ALL_REDUCE_wrong] = FINDING_missing};
    AllReduceText how;
    if (gpus->count < 2) return;
    const AllReduce found = all_reduce_find(false, &how);
    const char *said = found == ALL_REDUCE_wrong
                           ? how.text
                           : arena_format(doctor->arena, "replicas add up %s", how.text);
    tell(doctor, findings[found], "NCCL", said, how.fix);
}

static void look_for_standin(Doctor *doctor, const Home *home) {
    const char *library = arena_format(doctor->arena, "%s/libflowsimcuda.so",
                                       path_folder(doctor->arena, home->runtime));
    bool there = file_exists(library);
    tell(doctor, there ? FINDING_ok : FINDING_none, "stand-in",
         there ? arena_format(doctor->arena, "--simulate=gpu:1 stands in for a GPU: %s", library)
               : arena_format(doctor->arena, "%s is not there", library),
         "`make install` brings it; only --simulate needs it");
}

int command_doctor(Arguments *arguments) {
    Doctor doctor = {.arena = arena_new(), .arguments = arguments};
    Processor processor;
    Gpus gpus;
    const char *device = arguments->device;
    if (device && strcmp(device, "cpu") && strcmp(device, "gpu")) {
        fprintf(stderr, "flowc doctor: --device is cpu or gpu, which then has to work, not `%s`\n",
                device);
        return EXIT_usage;
    }
    const Home *home = home_find(doctor.arena);
    if (!home) return EXIT_resource;
    if (!machine_ask(arguments, &processor, &gpus)) return EXIT_usage;
    doctor.wants_gpu = device && !strcmp(device, "gpu");
    tell(&doctor, FINDING_ok, "flowc",
         arena_format(doctor.arena, "%s, %s", FLOWC_VERSION, home->share), NULL);
    look_for_compiler(&doctor);
    look_for_omp(&doctor);
    look_for_libraries(&doctor);
    look_at_machine(&doctor, &processor);
    look_at_cache(&doctor);
    look_at_scratch(&doctor);
    look_at_gpus(&doctor, &gpus);
    look_at_nccl(&doctor, &gpus);
    look_for_standin(&doctor, home);
    return doctor.failed ? EXIT_resource : EXIT_ok;
}
