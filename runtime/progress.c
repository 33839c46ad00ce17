/* Progress: a terminal gets one line, drawn at most ten times a second; a file or a pipe
 * gets a line an epoch, and one each ten seconds of a long epoch. */
#define _GNU_SOURCE
#include "runtime/progress.h"

#include "runtime/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_CELLS = 20, TEXT_SIZE = 512 };

static const double second = 1e9;
static const int64_t redraw_time = 100000000, plain_time = 10000000000;

static atomic_bool is_drawn; /* a line that others would write behind */

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static ProgressMode mode_from_environment(void) {
    const char *value = getenv("FLOWC_PROGRESS");
    if (value && !strcmp(value, "plain")) return PROGRESS_plain;
    return value && !strcmp(value, "off") ? PROGRESS_off : PROGRESS_auto;
}

static bool is_terminal(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");
}

bool progress_is_off(ProgressMode mode) {
    return (mode == PROGRESS_auto ? mode_from_environment() : mode) == PROGRESS_off;
}

Progress progress_new(ProgressMode mode, const FlowTrain *train, int64_t epochs, int64_t batches) {
    if (mode == PROGRESS_auto) mode = mode_from_environment();
    bool line = mode == PROGRESS_auto && is_terminal();
    int64_t now = clock_nanoseconds();
    return (Progress){
        .train = train,
        .line = line,
        .quiet = mode == PROGRESS_off,
        .colour = line && !is_set("NO_COLOR"),
        .epochs = epochs,
        .batches = batches,
        .start = now,
        .epoch_start = now,
        .last = now,
    };
}

void progress_start_epoch(Progress *progress, int64_t batch) {
    progress->epoch_start = clock_nanoseconds();
    progress->epoch_first = batch;
}

/* "0.4s", "3:07", "2:03:07" */
static void time_text(double seconds, char *text, size_t size) {
    int64_t whole = (int64_t)seconds;
    if (seconds < 60) snprintf(text, size, "%.1fs", seconds);
    else if (whole < 3600) snprintf(text, size, "%d:%02d", (int)(whole / 60), (int)(whole % 60));
    else
        snprintf(text, size, "%lld:%02d:%02d", (long long)(whole / 3600), (int)(whole / 60 % 60),
                 (int)(whole % 60));
}

/* "1.1M records/s" */
static void rate_text(double rate, char *text, size_t size) {
    static const char *const units[] = {"", "k", "M", "G"};
    int unit = 0;
    for (; rate >= 999.5 && unit < 3; unit++) rate /= 1000;
    snprintf(text, size, rate < 9.95 ? "%.1f%s records/s" : "%.0f%s records/s", rate, units[unit]);
}

static void bar_text(const Progress *progress, double done, char *text, size_t size) {
    int halves = (int)(done * 2 * BAR_CELLS);
    size_t used = (size_t)snprintf(text, size, "%s", progress->colour ? "\033[32m" : "");
    for (int i = 0; i < BAR_CELLS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s",
                                 2 * i + 1 < halves    ? "━"
                                 : 2 * i + 1 == halves ? "╸"
                                                       : " ");
    if (progress->colour && used < size) snprintf(text + used, size - used, "\033[0m");
}

/* Cuts the text to so many columns; escape sequences take none. */
static void cut(char *text, int columns) {
    for (char *c = text; *c; c++) {
        if (*c == '\033') {
            while (*c != 'm' && c[1]) c++;
            continue;
        }
        bool continues = ((unsigned char)*c & 0xc0) == 0x80;
        if (!continues && columns-- == 0) {
            *c = 0;
            return;
        }
    }
}

static int terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

static double epoch_seconds(const Progress *progress, int64_t now) {
    return (double)(now - progress->epoch_start) / second;
}

static double seconds_left(const Progress *progress, Standing standing, double elapsed) {
    int64_t done = standing.batch - progress->epoch_first;
    return done > 0 ? elapsed / (double)done * (double)(progress->batches - standing.batch) : 0;
}

static void draw(Progress *progress, Standing standing, int64_t now) {
    char bar[256], elapsed[32], left[32], metrics[TEXT_SIZE], rate[64], text[2 * TEXT_SIZE];
    double seconds = epoch_seconds(progress, now);
    bar_text(progress, (double)standing.batch / (double)progress->batches, bar, sizeof bar);
    time_text(seconds, elapsed, sizeof elapsed);
    time_text(seconds_left(progress, standing, seconds), left, sizeof left);
    averages_text(standing.averages, progress->train->step, metrics, sizeof metrics);
    rate_text(progress->rate, rate, sizeof rate);
    snprintf(text, sizeof text, "epoch %lld/%lld %s %lld/%lld %s<%s%s %s%s%s",
             (long long)standing.epoch + 1, (long long)progress->epochs, bar,
             (long long)standing.batch, (long long)progress->batches, elapsed, left, metrics, rate,
             *progress->bound ? ", " : "", progress->bound);
    cut(text, terminal_columns() - 1);
    fprintf(stderr, "\r\033[K%s%s", text, progress->colour ? "\033[0m" : "");
    fflush(stderr);
    is_drawn = true;
}

static void print_plain(const Progress *progress, Standing standing, int64_t now) {
    char elapsed[32], metrics[TEXT_SIZE], rate[64], place[64] = "";
    time_text(epoch_seconds(progress, now), elapsed, sizeof elapsed);
    averages_text(standing.averages, progress->train->step, metrics, sizeof metrics);
    rate_text(progress->rate, rate, sizeof rate);
    if (standing.batch < progress->batches)
        snprintf(place, sizeof place, " %lld/%lld", (long long)standing.batch,
                 (long long)progress->batches);
    fprintf(stderr, "epoch %lld/%lld%s:%s %s %s%s%s\n", (long long)standing.epoch + 1,
            (long long)progress->epochs, place, metrics, elapsed, rate,
            *progress->bound ? ", " : "", progress->bound);
}

static void measure_pace(Progress *progress, const Pace *pace) {
    Pace since = pace_since(pace, &progress->last_pace);
    pace_short(&since, NULL, progress->bound, sizeof progress->bound);
    progress->last_pace = *pace;
}

/* The rate since the last time, smoothed with the ones before. */
static void measure_rate(Progress *progress, int64_t now) {
    enum { NEW_PERCENT = 30 };
    double seconds = (double)(now - progress->last) / second;
    double rate =
        (double)(progress->records - progress->last_records) / (seconds > 0 ? seconds : 1);
    progress->rate = progress->rate > 0
                         ? (rate * NEW_PERCENT + progress->rate * (100 - NEW_PERCENT)) / 100
                         : rate;
    progress->last = now;
    progress->last_records = progress->records;
}

bool progress_is_due(Progress *progress, int64_t records, int64_t now) {
    progress->records += records;
    return !progress->quiet && now - progress->last >= (progress->line ? redraw_time : plain_time);
}

void progress_tell(Progress *progress, Standing standing, int64_t now) {
    if (!progress->line && standing.batch == progress->batches) return; /* the epoch's own line */
    measure_rate(progress, now);
    measure_pace(progress, &standing.pace);
    if (progress->line) draw(progress, standing, now);
    else print_plain(progress, standing, now);
}

void progress_end_epoch(Progress *progress, Standing standing) {
    if (progress->quiet) return;
    int64_t now = clock_nanoseconds();
    double seconds = epoch_seconds(progress, now);
    progress->rate = (double)standing.averages->records / (seconds > 0 ? seconds : 1) *
                     (double)(progress->batches - progress->epoch_first) /
                     (double)progress->batches;
    measure_pace(progress, &standing.pace);
    if (progress->line) {
        draw(progress, standing, now);
        fputc('\n', stderr);
        is_drawn = false;
    } else {
        print_plain(progress, standing, now);
    }
    progress->last = now;
    progress->last_records = progress->records;
}

void progress_clear(void) {
    if (!atomic_exchange(&is_drawn, false)) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

void progress_finish(Progress *progress, const Pace *pace, const Bottleneck *bottleneck,
                     const char *split) {
    char total[32], rate[64], verdict[TEXT_SIZE];
    progress_clear();
    if (progress->quiet) return;
    double elapsed = (double)(clock_nanoseconds() - progress->start);
    time_text(elapsed / second, total, sizeof total);
    rate_text((double)progress->records / (elapsed / second), rate, sizeof rate);
    pace_text(pace, bottleneck, NULL, verdict, sizeof verdict);
    fprintf(stderr, "%s: %s in all, %s; %s; %s\n", progress->train->name, total, rate, verdict,
            split);
}
