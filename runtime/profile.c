#include "runtime/profile_state.h"

#include "runtime/clock.h"
#include "runtime/file.h"
#include "runtime/peak.h"

#include <stdlib.h>
#include <string.h>

/* Noting. */

static void make_call(FlowObserver *observer, const FlowFrame *frame, const FlowCall *call,
                      int number, int thread, int threads) {
    Watched *watched = (Watched *)observer;
    Member *member = watched->members[thread];
    bool outer = !member->inside;
    int last = watched->function->work_count;
    Span *span = &member->spans[number < last ? number : last];
    member->inside = true;
    int64_t before = clock_nanoseconds();
    if (call->barrier) flow_barrier(frame, thread, threads);
    int64_t between = clock_nanoseconds();
    call->kernel(frame, call->operands, thread, threads);
    if (!outer) return;
    int64_t end = clock_nanoseconds();
    member->inside = false;
    span->waiting += between - before;
    span->busy += end - between;
    if (thread) return;
    watched->threads = threads > watched->threads ? threads : watched->threads;
    watched->times += number == 0;
}

/* Opening. */

static FlowStatus no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "--profile: no memory");
}

FlowStatus profile_new(int threads, Profile **profile) {
    *profile = calloc(1, sizeof **profile);
    if (!*profile) return no_memory();
    (*profile)->threads = threads;
    return flow_ok;
}

static void free_watched(Watched *watched, int threads) {
    for (int i = 0; watched->members && i < threads; i++) free(watched->members[i]);
    free(watched->members);
    free(watched);
}

void profile_free(Profile *profile) {
    if (!profile) return;
    for (Watched *watched = profile->functions, *next; watched; watched = next) {
        next = watched->next;
        free_watched(watched, profile->threads);
    }
    free(profile);
}

static Member *new_member(int spans) {
    size_t size = sizeof(Member) + (size_t)spans * sizeof(Span), line = _Alignof(Member);
    Member *member = aligned_alloc(line, (size + line - 1) / line * line);
    if (member) memset(member, 0, size);
    return member;
}

static bool allocate(Watched *watched, int threads) {
    watched->members = calloc((size_t)threads, sizeof *watched->members);
    for (int i = 0; watched->members && i < threads; i++) {
        watched->members[i] = new_member(watched->function->work_count + 1);
        if (!watched->members[i]) return false;
    }
    return watched->members != NULL;
}

FlowStatus profile_watch(Profile *profile, const FlowFunction *function, FlowObserver **observer) {
    *observer = NULL;
    if (!profile) return flow_ok;
    Watched *watched = calloc(1, sizeof *watched), **end = &profile->functions;
    if (!watched) return no_memory();
    watched->observer.make = make_call;
    watched->function = function;
    if (!allocate(watched, profile->threads)) {
        free_watched(watched, profile->threads);
        return no_memory();
    }
    while (*end) end = &(*end)->next;
    *end = watched;
    *observer = &watched->observer;
    return flow_ok;
}

/* What it adds up to. */

Share share_of(const Watched *watched, int number) {
    Share share = {.number = number};
    double scale = 1e-3 / (double)watched->times;
    for (int i = 0; i < watched->threads; i++) {
        const Span *span = &watched->members[i]->spans[number];
        double busy = (double)span->busy * scale;
        share.busy = busy > share.busy ? busy : share.busy;
        share.waiting += (double)span->waiting * scale / watched->threads;
    }
    return share;
}

static Span sum_of(const Watched *watched, int thread) {
    Span sum = {0, 0};
    for (int i = 0; i <= watched->function->work_count; i++) {
        sum.waiting += watched->members[thread]->spans[i].waiting;
        sum.busy += watched->members[thread]->spans[i].busy;
    }
    return sum;
}

double mean_time(const Watched *watched) {
    int64_t longest = 0;
    for (int i = 0; i < watched->threads; i++) {
        Span sum = sum_of(watched, i);
        longest = sum.waiting + sum.busy > longest ? sum.waiting + sum.busy : longest;
    }
    return (double)longest * 1e-3 / (double)watched->times;
}

/* The part of all threads' time, of 1. */
static double waiting_part(const Watched *watched) {
    Span all = {0, 0};
    for (int i = 0; i < watched->threads; i++) {
        Span sum = sum_of(watched, i);
        all.waiting += sum.waiting;
        all.busy += sum.busy;
    }
    return all.waiting ? (double)all.waiting / (double)(all.waiting + all.busy) : 0;
}

const char *work_text(const Watched *watched, int number) {
    bool known = number < watched->function->work_count;
    return known ? watched->function->work[number].text : "weights that were read until the end";
}

static int by_time(const void *a, const void *b) {
    double left = ((const Share *)a)->busy, right = ((const Share *)b)->busy;
    return (left < right) - (left > right);
}

/* The table. */

static void print_kernel(const Watched *watched, const Share *share, double peak) {
    bool known = share->number < watched->function->work_count;
    FlowWork work = known ? watched->function->work[share->number] : (FlowWork){0};
    double rate = share->busy > 0 ? work.operations / share->busy * 1e6 : 0;
    double bytes = share->busy > 0 ? work.bytes / share->busy * 1e6 : 0;
    fprintf(stderr, "%10.2f %6.1f %% %9.2f %9.2f %7.1f %% %8.2f  %s\n", share->busy,
            100 * share->busy / mean_time(watched), share->waiting, rate / 1e9, 100 * rate / peak,
            bytes / 1e9, work_text(watched, share->number));
}

static void print_kernels(const Watched *watched, Share *shares, int count, double peak) {
    for (int i = 0; i < count; i++) shares[i] = share_of(watched, i);
    qsort(shares, (size_t)count, sizeof *shares, by_time);
    fprintf(stderr,
            "\n%s: %lld times %.2f us by %d thread%s, which wait for each other %.0f %% of it\n"
            "        us    share     waits   GFLOP/s   of peak     GB/s  kernel\n",
            watched->function->name, (long long)watched->times, mean_time(watched),
            watched->threads, watched->threads == 1 ? "" : "s", 100 * waiting_part(watched));
    for (int i = 0; i < count; i++)
        if (shares[i].busy > 0) print_kernel(watched, &shares[i], peak);
}

static FlowStatus print_function(const Watched *watched, double peak) {
    int count = watched->function->work_count + 1;
    if (!watched->times) return flow_ok;
    Share *shares = malloc((size_t)count * sizeof *shares);
    if (!shares) return no_memory();
    print_kernels(watched, shares, count, peak);
    free(shares);
    return flow_ok;
}

/* All of it. */

static FlowStatus draw(const Profile *profile, double peak, const char *path) {
    FilePart part = {0};
    char *text = NULL;
    FILE *file = open_memstream(&text, &part.size);
    if (!file) return no_memory();
    profile_draw(profile, peak, file);
    bool whole = !ferror(file);
    FlowStatus status = fclose(file) || !whole ? no_memory() : flow_ok;
    part.bytes = text;
    if (!status.exit) status = file_put(path, part);
    free(text);
    return status;
}

FlowStatus profile_tell(const Profile *profile, const char *path) {
    FlowStatus status = flow_ok;
    if (!profile) return status;
    double peak = peak_operations(profile->threads);
    fprintf(stderr, "\npeak: %.0f GFLOP/s by %d thread%s, f32, as measured now\n", peak / 1e9,
            profile->threads, profile->threads == 1 ? "" : "s");
    for (const Watched *at = profile->functions; at && !status.exit; at = at->next)
        status = print_function(at, peak);
    if (path && !status.exit) status = draw(profile, peak, path);
    return status;
}
