#include "runtime/profile_state.h"

#include "runtime/clock.h"
#include "runtime/file.h"

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
    watched->time += end - before;
    watched->profile->known += end - before;
    watched->threads = threads > watched->threads ? threads : watched->threads;
    watched->times += number == 0;
    watched->threads_sum += number == 0 ? threads : 0;
}

/* Beside kernels. */

const char profile_opening[] = "opening files and memory", profile_closing[] = "closing them",
           profile_batches_awaited[] = "waiting for batches",
           profile_batches_made[] = "making batches between steps",
           profile_threads_meet[] = "beginning and ending steps together";

int64_t profile_enter(const Profile *profile) {
    return profile ? clock_nanoseconds() - profile->known : 0;
}

void profile_spend(Profile *profile, int64_t nanoseconds, const char *what) {
    int i = 0;
    if (!profile || nanoseconds <= 0) return;
    while (i < profile->spending_count && strcmp(profile->spendings[i].what, what)) i++;
    if (i == SPENDING_LIMIT) return;
    if (i == profile->spending_count) profile->spendings[profile->spending_count++].what = what;
    profile->spendings[i].time += nanoseconds;
    profile->spendings[i].times++;
    profile->known += nanoseconds;
}

void profile_leave(Profile *profile, int64_t entered, const char *what) {
    if (profile) profile_spend(profile, profile_enter(profile) - entered, what);
}

/* Opening. */

FlowStatus profile_no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "--profile: no memory");
}

FlowStatus profile_new(int threads, Profile **profile) {
    *profile = calloc(1, sizeof **profile);
    if (!*profile) return profile_no_memory();
    (*profile)->threads = threads;
    (*profile)->begun = clock_nanoseconds();
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
    if (!watched) return profile_no_memory();
    watched->observer.make = make_call;
    watched->function = function;
    watched->profile = profile;
    if (!allocate(watched, profile->threads)) {
        free_watched(watched, profile->threads);
        return profile_no_memory();
    }
    while (*end) end = &(*end)->next;
    *end = watched;
    *observer = &watched->observer;
    return flow_ok;
}

/* All of it. */

static FlowStatus draw(const Profile *profile, const Peaks *peaks, const char *path) {
    FilePart part = {0};
    char *text = NULL;
    FILE *file = open_memstream(&text, &part.size);
    if (!file) return profile_no_memory();
    FlowStatus status = profile_draw(profile, peaks, file);
    bool whole = !ferror(file);
    if ((fclose(file) || !whole) && !status.exit) status = profile_no_memory();
    part.bytes = text;
    if (!status.exit) status = file_put(path, part);
    free(text);
    return status;
}

FlowStatus profile_tell(const Profile *profile, const char *path) {
    if (!profile) return flow_ok;
    Profile ended = *profile;
    ended.ended = clock_nanoseconds();
    Peaks peaks = peaks_measure(profile->threads);
    FlowStatus status = profile_print(&ended, &peaks);
    if (path && !status.exit) status = draw(&ended, &peaks, path);
    return status;
}
