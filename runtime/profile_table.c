/* Profile table: of the run where its time went, of each function its kernels. */
#include "runtime/profile_state.h"

#include "runtime/plural.h"

enum { SHOWN_ALWAYS = 20 };
static const double shown_least = 0.001; /* of the time in kernels, for a line behind those */

/* The part of all threads' time, in percent. */
static double waiting_percent(const Watched *watched) {
    double waiting = 0, all = 0;
    for (int i = 0; i < watched->threads; i++)
        for (int call = 0; call <= watched->function->work_count; call++) {
            const Span *span = &watched->members[i]->spans[call];
            waiting += (double)span->waiting;
            all += (double)(span->waiting + span->busy);
        }
    return all > 0 ? 100 * waiting / all : 0;
}

static void print_work(const Row *row) {
    const FlowWork *work = &row->work;
    if (work->kernel >= 0) fprintf(stderr, "%4d", work->kernel);
    else fprintf(stderr, "%4s", "");
    fprintf(stderr, "  %s%s%s", work->text, *work->how ? "; " : "", work->how);
    if (row->calls > 1) fprintf(stderr, " (%d calls)", row->calls);
    fprintf(stderr, "\n");
}

static void print_row(const Rows *rows, const Row *row) {
    double scale = row->busy > 0 ? 1e-3 / row->busy : 0;
    fprintf(stderr, "%10.2f %6.1f %% %9.2f %9.2f %9.2f", row->busy, 100 * row->busy / rows->time,
            row->waiting, row->work.operations * scale, row->work.bytes * scale);
    if (row->floor > 0) fprintf(stderr, " %5.1f %% %-10s ", row_percent(row), row->floor_name);
    else fprintf(stderr, " %18s ", "");
    print_work(row);
}

static bool has_line(const Rows *rows, int i) {
    double least = i < SHOWN_ALWAYS ? 0 : shown_least * rows->busy;
    return rows->items[i].busy > least;
}

static void print_others(const Rows *rows, int first) {
    double busy = 0, waiting = 0;
    int calls = 0;
    for (int i = first; i < rows->count; i++) {
        busy += rows->items[i].busy;
        waiting += rows->items[i].waiting;
        calls += rows->items[i].busy > 0 ? rows->items[i].calls : 0;
    }
    if (calls)
        fprintf(stderr, "%10.2f %6.1f %% %9.2f %39s       %d more that take less than %g %%\n",
                busy, 100 * busy / rows->time, waiting, "", calls, 100 * shown_least);
}

static void print_title(const Watched *watched, double time) {
    double threads = threads_of(watched);
    fprintf(stderr, "\n%s: %lld times %.2f us by ", watched->function->name,
            (long long)watched->times, time);
    if (threads < watched->threads) fprintf(stderr, "%.2f of ", threads);
    fprintf(stderr,
            "%d thread%s, which wait for each other %.0f %% of it\n"
            "        us    share     waits   GFLOP/s      GB/s  of the limit      kernel\n",
            watched->threads, plural(watched->threads), waiting_percent(watched));
}

static FlowStatus print_function(const Watched *watched, const Peaks *peaks) {
    if (!watched->times) return flow_ok;
    Rows rows = rows_of(watched, peaks);
    int i = 0;
    if (!rows.items) return profile_no_memory();
    print_title(watched, rows.time);
    for (; i < rows.count && has_line(&rows, i); i++) print_row(&rows, &rows.items[i]);
    print_others(&rows, i);
    rows_free(&rows);
    return flow_ok;
}

static void print_shares(const Profile *profile) {
    TimeShare shares[SHARE_LIMIT];
    int count = time_shares(profile, shares);
    double all = (double)(profile->ended - profile->begun) / 1e9;
    fprintf(stderr, "\nwhere %.3f s went\n         s    share\n", all);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "%10.4f %6.1f %%  %s\n", shares[i].seconds, 100 * shares[i].seconds / all,
                shares[i].what);
}

FlowStatus profile_print(const Profile *profile, const Peaks *peaks) {
    FlowStatus status = flow_ok;
    char text[160];
    peaks_text(peaks, text, sizeof text);
    print_shares(profile);
    fprintf(stderr, "\nlimits: %s, by %d thread%s as measured now\n", text, peaks->threads,
            plural(peaks->threads));
    for (const Watched *at = profile->functions; at && !status.exit; at = at->next)
        status = print_function(at, peaks);
    return status;
}
