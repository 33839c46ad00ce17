/* Profile rows: what was noted adds up to. */
#include "runtime/profile_state.h"

#include <stdlib.h>
#include <string.h>

/* Kernels. */

/* Copies of weights have no entry among the function's work. */
static FlowWork work_of(const Watched *watched, int call) {
    static const FlowWork copies = {
        .kernel = -1, .text = "weights that were read until the end", .how = ""};
    bool known = call < watched->function->work_count;
    return known ? watched->function->work[call] : copies;
}

static bool is_like(const FlowWork *a, const FlowWork *b) {
    return !strcmp(a->text, b->text) && !strcmp(a->how, b->how);
}

/* The row that the call belongs to, or a new one. */
static int find_row(Rows *rows, const FlowWork *work, int call) {
    for (int i = 0; i < rows->count; i++)
        if (is_like(&rows->items[i].work, work)) return i;
    rows->items[rows->count] =
        (Row){.first = call,
              .place = rows->count,
              .work = {.kernel = work->kernel, .text = work->text, .how = work->how}};
    return rows->count++;
}

static void add_times(Row *row, const Watched *watched, int call) {
    double scale = 1e-3 / (double)watched->times, longest = 0;
    for (int i = 0; i < watched->threads; i++) {
        const Span *span = &watched->members[i]->spans[call];
        double busy = (double)span->busy * scale;
        longest = busy > longest ? busy : longest;
        row->waiting += (double)span->waiting * scale / watched->threads;
    }
    row->busy += longest;
}

static void add_call(Rows *rows, const Watched *watched, int call, const Peaks *peaks) {
    FlowWork work = work_of(watched, call);
    Row *row = &rows->items[rows->of[call] = find_row(rows, &work, call)];
    Floor floor = peaks_floor(peaks, &work);
    row->calls++;
    row->floor += floor.seconds * 1e6;
    row->floor_name = floor.name;
    row->work.operations += work.operations;
    row->work.bytes += work.bytes;
    row->work.far += work.far;
    add_times(row, watched, call);
}

static int by_time(const void *a, const void *b) {
    double left = ((const Row *)a)->busy, right = ((const Row *)b)->busy;
    return left != right ? (left < right) - (left > right)
                         : ((const Row *)a)->first - ((const Row *)b)->first;
}

static int new_place(const Rows *rows, int old) {
    int i = 0;
    while (rows->items[i].place != old) i++;
    return i;
}

static void sort(Rows *rows, int calls) {
    qsort(rows->items, (size_t)rows->count, sizeof *rows->items, by_time);
    for (int i = 0; i < calls; i++) rows->of[i] = new_place(rows, rows->of[i]);
    for (int i = 0; i < rows->count; i++) rows->items[i].place = i;
}

static double mean_time(const Watched *watched, int calls) {
    int64_t longest = 0;
    for (int i = 0; i < watched->threads; i++) {
        int64_t sum = 0;
        for (int call = 0; call < calls; call++) {
            const Span *span = &watched->members[i]->spans[call];
            sum += span->waiting + span->busy;
        }
        longest = sum > longest ? sum : longest;
    }
    return (double)longest * 1e-3 / (double)watched->times;
}

double threads_of(const Watched *watched) {
    return (double)watched->threads_sum / (double)watched->times;
}

Rows rows_of(const Watched *watched, const Peaks *peaks) {
    int calls = watched->function->work_count + 1;
    Rows rows = {.items = malloc((size_t)calls * sizeof *rows.items),
                 .of = malloc((size_t)calls * sizeof *rows.of)};
    if (!rows.items || !rows.of) {
        rows_free(&rows);
        return (Rows){0};
    }
    Peaks own = peaks_of(peaks, threads_of(watched));
    for (int call = 0; call < calls; call++) add_call(&rows, watched, call, &own);
    for (int i = 0; i < rows.count; i++) rows.busy += rows.items[i].busy;
    rows.time = mean_time(watched, calls);
    sort(&rows, calls);
    return rows;
}

void rows_free(Rows *rows) {
    free(rows->items);
    free(rows->of);
}

double row_percent(const Row *row) {
    double percent = row->busy > 0 ? 100 * row->floor / row->busy : 0;
    return percent < 100 ? percent : 100;
}

/* The run. */

static void add_share(TimeShare *shares, int *count, const char *before, const char *what,
                      double seconds) {
    if (*count == SHARE_LIMIT || seconds <= 0) return;
    TimeShare *share = &shares[(*count)++];
    snprintf(share->what, sizeof share->what, "%s%s", before, what);
    share->seconds = seconds;
}

static int by_seconds(const void *a, const void *b) {
    double left = ((const TimeShare *)a)->seconds, right = ((const TimeShare *)b)->seconds;
    return (left < right) - (left > right);
}

int time_shares(const Profile *profile, TimeShare *shares) {
    int count = 0;
    for (const Watched *at = profile->functions; at; at = at->next)
        add_share(shares, &count, "kernels of ", at->function->name, (double)at->time / 1e9);
    for (int i = 0; i < profile->spending_count; i++) {
        const Spending *spending = &profile->spendings[i];
        add_share(shares, &count, "", spending->what, (double)spending->time / 1e9);
    }
    int64_t rest = profile->ended - profile->begun - profile->known;
    add_share(shares, &count, "", "the rest", (double)rest / 1e9);
    qsort(shares, (size_t)count, sizeof *shares, by_seconds);
    return count;
}
