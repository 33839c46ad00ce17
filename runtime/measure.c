/* Measure: what is asked is read once, calls are timed, and answers are added to the file. */
#define _GNU_SOURCE
#include "runtime/measure.h"

#include "runtime/clock.h"
#include "runtime/device/gpus.h"
#include "runtime/device/times.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIPPED = 2, LEAST_STEPS = 3, STEPS = 8, ASKED_ROOM = 16 << 20 };

/* A line. */
typedef struct Asked {
    int call;
    bool on_gpu;
    double share;
    const char *key, *rest;
} Asked;

/* Of a call, in nanoseconds. */
typedef struct Taken {
    int64_t now, least; /* on the CPU: in this step; in the one where it took least */
    int64_t on_gpu;     /* in all steps */
} Taken;

static struct Measure {
    FlowObserver observer;        /* first: calls are made through a pointer to it */
    const FlowFunction *function; /* NULL: nothing is measured */
    int64_t records;
    int threads, skipped, steps;
    char *text;       /* of the file, cut into words */
    const char *path; /* of the file that gets the answers */
    Asked *asked;
    int asked_count;
    Taken *taken;  /* of each call, and one for those behind them */
    char **names;  /* of each call, by where they lie: texts of several calls may be one */
    int64_t ended; /* the last call, at that time; */
    int last;      /* this one; -1: none yet in this step */
    bool inside;   /* a call, whose own calls are part of it */
} measure;

/* Reading what is asked. */

/* A FIFO is not waited for. */
static int open_regular(const char *path, int flags) {
    struct stat status;
    const int file = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
    if (file < 0 || (!fstat(file, &status) && S_ISREG(status.st_mode))) return file;
    close(file);
    errno = EINVAL;
    return -1;
}

static char *read_asked(const char *path) {
    int file = open_regular(path, O_RDONLY);
    char *text = file < 0 ? NULL : calloc(1, ASKED_ROOM);
    size_t size = 0;
    for (ssize_t got = 1; text && got > 0 && size < ASKED_ROOM - 1; size += (size_t)got) {
        got = read(file, text + size, ASKED_ROOM - 1 - size);
        if (got < 0) got = 0;
    }
    if (file >= 0) close(file), unlink(path);
    return text;
}

static char *take_line(char **rest) {
    return *rest && **rest ? strsep(rest, "\n") : NULL;
}

static bool read_line(char *line, Asked *asked) {
    char device[4];
    int key = 0, end = 0;
    bool good =
        sscanf(line, "%d %3s %lf %n%*s%n", &asked->call, device, &asked->share, &key, &end) == 3 &&
        end && line[end] == ' ';
    if (!good || asked->call < 0 || asked->call >= measure.function->work_count) return false;
    line[end] = '\0';
    asked->key = line + key;
    asked->rest = line + end + 1;
    asked->on_gpu = !strcmp(device, "gpu");
    return true;
}

/* The lines of the function. */
static void read_lines(char *rest) {
    bool own = false;
    for (char *line; (line = take_line(&rest));) {
        Asked asked;
        if (!strncmp(line, "function ", 9)) own = !strcmp(line + 9, measure.function->name);
        else if (own && read_line(line, &asked)) measure.asked[measure.asked_count++] = asked;
    }
}

static int count_lines(const char *text) {
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

static bool read_all(void) {
    char *rest = measure.text;
    const size_t lines = (size_t)count_lines(rest), calls = (size_t)measure.function->work_count;
    measure.path = take_line(&rest);
    const char *threads = take_line(&rest);
    measure.asked = calloc(lines + 1, sizeof *measure.asked);
    measure.taken = calloc(calls + 1, sizeof *measure.taken);
    measure.names = calloc(calls + 1, sizeof *measure.names);
    for (size_t i = 0; measure.names && i < calls; i++)
        measure.names[i] = strdup(measure.function->work[i].text);
    if (!threads || sscanf(threads, "threads %d", &measure.threads) != 1) return false;
    if (measure.asked && measure.taken && measure.names) read_lines(rest);
    return measure.asked_count;
}

/* Measuring. */

static int call_of(int number) {
    return number < measure.function->work_count ? number : measure.function->work_count;
}

static void note_call(FlowObserver *observer, const FlowFrame *frame, const FlowCall *call,
                      int number, int thread, int threads) {
    (void)observer;
    if (call->barrier) flow_barrier(frame, thread, threads);
    if (thread || measure.inside) {
        call->kernel(frame, call->operands, thread, threads);
        return;
    }
    const int64_t begun = clock_nanoseconds();
    const char *name = call_of(number) == number ? measure.names[number] : NULL;
    if (measure.last >= 0) measure.taken[measure.last].now += begun - measure.ended;
    measure.inside = true;
    times_name((GpuName){name, name});
    call->kernel(frame, call->operands, thread, threads);
    times_name((GpuName){NULL, NULL});
    measure.inside = false;
    measure.ended = clock_nanoseconds();
    measure.last = call_of(number);
    measure.taken[measure.last].now += measure.ended - begun;
}

/* Only what note_call has named. Several threads may be told of, of which the one that makes steps
 * names. */
static void note_gpu(const GpuTime *time) {
    enum { KERNELS };
    if (!time->detail || time->line != KERNELS || !measure.function) return;
    for (int i = 0; i < measure.function->work_count; i++)
        if (measure.names[i] == time->detail) {
            measure.taken[i].on_gpu += time->end - time->begin;
            return;
        }
}

/* Answering. */

static double nanoseconds_of(const Asked *asked) {
    const Taken *taken = &measure.taken[asked->call];
    double time = asked->on_gpu ? (double)taken->on_gpu / measure.steps : (double)taken->least;
    return time * asked->share;
}

static void write_answers(FILE *file) {
    for (int i = 0; i < measure.asked_count; i++) {
        const Asked *asked = &measure.asked[i];
        const double time = nanoseconds_of(asked);
        if (time > 0) fprintf(file, "%s %.4g %s\n", asked->key, time * 1e-9, asked->rest);
    }
}

/* In one piece: other runs add theirs. A piece that is cut short goes, unless others followed. */
static bool write_whole(int file, const char *text, size_t size) {
    const ssize_t written = write(file, text, size);
    if (written < 0 || (size_t)written == size) return written >= 0;
    const off_t end = lseek(file, 0, SEEK_CUR);
    const bool goes = lseek(file, 0, SEEK_END) == end && !ftruncate(file, end - written);
    errno = ENOSPC;
    (void)goes; /* else the line is broken: who reads it leaves it out */
    return false;
}

static bool append(const char *text, size_t size) {
    int file = open_regular(measure.path, O_WRONLY | O_APPEND | O_CREAT);
    bool good = file >= 0 && write_whole(file, text, size);
    const int error = errno;
    if (file >= 0) close(file);
    errno = error;
    return good;
}

static void answer(void) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file) return;
    write_answers(file);
    if (!fclose(file) && size && !append(text, size))
        fprintf(stderr, "times of kernels are not kept: %s: %s\n", measure.path, strerror(errno));
    free(text);
}

static void free_names(void) {
    for (int i = 0; measure.names && i < measure.function->work_count; i++) free(measure.names[i]);
    free(measure.names);
}

static void stop(void) {
    times_tell(NULL);
    free(measure.text);
    free(measure.asked);
    free(measure.taken);
    free_names();
    measure = (struct Measure){0};
}

void measure_open(const Call *call, int64_t records) {
    const char *path = getenv("FLOWC_TIMES");
    if (!path || call->observer || call->sizes.program->bound_count) return;
    measure = (struct Measure){.observer = {.make = note_call, .goes_on = true},
                               .function = call->function,
                               .records = records,
                               .text = read_asked(path)};
    if (measure.text && read_all()) times_tell(note_gpu);
    else stop();
}

void measure_close(void) {
    if (!measure.function) return;
    gpus_tell_times();
    if (measure.steps >= LEAST_STEPS) answer();
    stop();
}

void measure_begin(Call *call, int64_t records, int threads) {
    if (call->function != measure.function || records != measure.records ||
        threads != measure.threads || measure.skipped++ < SKIPPED)
        return;
    call->observer = &measure.observer;
    measure.last = -1;
    for (int i = 0; i <= measure.function->work_count; i++) measure.taken[i].now = 0;
}

void measure_end(Call *call) {
    if (!measure.function || call->observer != &measure.observer) return;
    call->observer = NULL;
    for (int i = 0; i <= measure.function->work_count; i++) {
        Taken *taken = &measure.taken[i];
        if (!measure.steps || taken->now < taken->least) taken->least = taken->now;
    }
    if (++measure.steps == STEPS) measure_close();
}
