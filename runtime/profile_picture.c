/* Profile picture: where the run's time went as one bar; then of each function one mean call, a
 * lane for each thread: its kernels in their order, and gaps where it waits. Below the lanes is
 * what the numbers are, the longest first, with the part of its limit that each reaches. Long text
 * is cut; a viewer that shows titles has all of it. */
#include "runtime/profile_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1200,
    MARGIN = 20,
    LANE = 34,
    LINE = 22,
    BOX = 30,
    BAR = 80,         /* all of a limit */
    LABEL_LEAST = 18, /* width of a box with a number */
    COLOURS = 12,
    LETTERS = 122, /* that fit behind the bars */
};

static const char *const colours[COLOURS + 1] = {
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1",
    "#9c755f", "#ff9da7", "#8cd17d", "#a0cbe8", "#d4a6c8", "#bbbbbb" /* all others */};

enum { SHOWN_ALWAYS = 10 };
static const double shown_least = 0.005; /* of the time in kernels, for a line behind those */

typedef struct Sheet {
    FILE *file;
    double y;
} Sheet;

/* Text. */

static void write_letter(FILE *file, char letter) {
    if (letter == '&') fputs("&amp;", file);
    else if (letter == '<') fputs("&lt;", file);
    else if ((unsigned char)letter < ' ') fputc(' ', file);
    else fputc(letter, file);
}

static void write_escaped(FILE *file, const char *text) {
    for (; *text; text++) write_letter(file, *text);
}

/* So many letters of UTF-8, the last "…" where there are more. */
static void write_cut(FILE *file, const char *text, int most) {
    for (; *text; text++) {
        bool starts = ((unsigned char)*text & 0xc0) != 0x80;
        if (starts && most-- == 1 && strlen(text) > 1) {
            fputs("…", file);
            return;
        }
        write_letter(file, *text);
    }
}

static const char *colour_of(int place) {
    return colours[place < COLOURS ? place : COLOURS];
}

static void write_box(const Sheet *sheet, double x, double width, int place) {
    fprintf(sheet->file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
            x, sheet->y, width, LANE - 6, colour_of(place));
}

static void write_number(const Sheet *sheet, double x, double width, int number) {
    if (width >= LABEL_LEAST)
        fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
                x + width / 2, sheet->y + LANE / 2 + 2, number);
}

static void start_text(const Sheet *sheet, double x, const char *more) {
    fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, sheet->y, more);
}

/* The run. */

static void draw_shares(Sheet *sheet, const Profile *profile) {
    TimeShare shares[SHARE_LIMIT];
    int count = time_shares(profile, shares), shown = 0;
    double all = (double)(profile->ended - profile->begun) / 1e9, x = MARGIN;
    start_text(sheet, MARGIN, " font-weight=\"bold\"");
    fprintf(sheet->file, "where %.3f s went</text>\n", all);
    sheet->y += LINE / 2;
    for (int i = 0; i < count; x += WIDTH * shares[i++].seconds / all)
        write_box(sheet, x, WIDTH * shares[i].seconds / all, i);
    sheet->y += LANE + LINE / 2;
    for (int i = 0; i < count && shares[i].seconds >= shown_least * all; i++, shown++) {
        double at = MARGIN + shown % 3 * WIDTH / 3.0;
        fprintf(sheet->file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", at,
                sheet->y - 10, colour_of(i));
        start_text(sheet, at + 18, "");
        fprintf(sheet->file, "%.1f %% ", 100 * shares[i].seconds / all);
        write_cut(sheet->file, shares[i].what, 48);
        fputs("</text>\n", sheet->file);
        if (shown % 3 == 2) sheet->y += LINE;
    }
    sheet->y += shown % 3 ? 2 * LINE : LINE;
}

/* Functions. */

static void draw_lane(Sheet *sheet, const Watched *watched, const Rows *rows, int thread) {
    double scale = WIDTH / (rows->time * (double)watched->times * 1e3), x = MARGIN;
    for (int i = 0; i <= watched->function->work_count; i++) {
        const Span *span = &watched->members[thread]->spans[i];
        double width = (double)span->busy * scale;
        x += (double)span->waiting * scale;
        write_box(sheet, x, width, rows->of[i]);
        write_number(sheet, x, width, rows->of[i] + 1);
        x += width;
    }
    sheet->y += LANE;
}

static void draw_limit(const Sheet *sheet, double x, const Row *row) {
    if (!(row->floor > 0)) return;
    fprintf(sheet->file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"12\" fill=\"#eeeeee\"/>"
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"#888888\"/>\n",
            x, sheet->y - 11, BAR, x, sheet->y - 11, BAR * row_percent(row) / 100);
    start_text(sheet, x + BAR + 6, "");
    fprintf(sheet->file, "%.0f %% %s</text>\n", row_percent(row), row->floor_name);
}

/* The mean time and its share, at the left. */
static void draw_time(const Sheet *sheet, const Rows *rows, double busy) {
    start_text(sheet, MARGIN + 120, " text-anchor=\"end\"");
    fprintf(sheet->file, "%.2f us</text>\n", busy);
    start_text(sheet, MARGIN + 180, " text-anchor=\"end\"");
    fprintf(sheet->file, "%.1f %%</text>\n", 100 * busy / rows->time);
}

static void draw_text(const Sheet *sheet, const Row *row) {
    char text[512], calls[32] = "";
    const FlowWork *work = &row->work;
    if (row->calls > 1) snprintf(calls, sizeof calls, " (%d calls)", row->calls);
    snprintf(text, sizeof text, "%s%s%s%s", work->text, *work->how ? "; " : "", work->how, calls);
    start_text(sheet, MARGIN + 400, " text-anchor=\"end\" fill=\"#888888\"");
    if (work->kernel >= 0) fprintf(sheet->file, "%d", work->kernel);
    fputs("</text>\n", sheet->file);
    start_text(sheet, MARGIN + 410, "");
    write_cut(sheet->file, text, LETTERS);
    fputs("<title>", sheet->file);
    write_escaped(sheet->file, text);
    fputs("</title></text>\n", sheet->file);
}

static void draw_line(Sheet *sheet, const Rows *rows, const Row *row) {
    Sheet box = {sheet->file, sheet->y - LANE / 2 - 2};
    write_box(&box, MARGIN, BOX, row->place);
    write_number(&box, MARGIN, BOX, row->place + 1);
    draw_time(sheet, rows, row->busy);
    draw_limit(sheet, MARGIN + 195, row);
    draw_text(sheet, row);
    sheet->y += LANE - 2;
}

static bool has_line(const Rows *rows, int i) {
    double least = i < SHOWN_ALWAYS ? 0 : shown_least * rows->busy;
    return rows->items[i].busy > least;
}

static void draw_others(Sheet *sheet, const Rows *rows, int first) {
    double busy = 0;
    int calls = 0;
    for (int i = first; i < rows->count; i++) {
        busy += rows->items[i].busy;
        calls += rows->items[i].busy > 0 ? rows->items[i].calls : 0;
    }
    if (!calls) return;
    draw_time(sheet, rows, busy);
    start_text(sheet, MARGIN + 410, "");
    fprintf(sheet->file, "%d more that take less than %g %%</text>\n", calls, 100 * shown_least);
    sheet->y += LANE - 2;
}

static FlowStatus draw_function(Sheet *sheet, const Watched *watched, const Peaks *peaks) {
    Rows rows = rows_of(watched, peaks);
    int i = 0;
    if (!rows.items) return profile_no_memory();
    start_text(sheet, MARGIN, " font-weight=\"bold\"");
    write_escaped(sheet->file, watched->function->name);
    fprintf(sheet->file,
            ": %.2f us, the mean of %lld; a lane is a thread, a gap is waiting</text>\n", rows.time,
            (long long)watched->times);
    sheet->y += LINE / 2;
    for (int thread = 0; thread < watched->threads; thread++)
        draw_lane(sheet, watched, &rows, thread);
    sheet->y += LINE;
    for (; i < rows.count && has_line(&rows, i); i++) draw_line(sheet, &rows, &rows.items[i]);
    draw_others(sheet, &rows, i);
    sheet->y += LINE;
    rows_free(&rows);
    return flow_ok;
}

static FlowStatus draw_all(Sheet *sheet, const Profile *profile, const Peaks *peaks) {
    FlowStatus status = flow_ok;
    char text[160];
    peaks_text(peaks, text, sizeof text);
    start_text(sheet, MARGIN, "");
    fprintf(sheet->file, "limits by %d threads as measured: %s</text>\n", peaks->threads, text);
    sheet->y += 2 * LINE;
    draw_shares(sheet, profile);
    for (const Watched *at = profile->functions; at && !status.exit; at = at->next)
        if (at->times) status = draw_function(sheet, at, peaks);
    return status;
}

/* How high it is stands at the front and is known at the end. */
FlowStatus profile_draw(const Profile *profile, const Peaks *peaks, FILE *file) {
    char *body = NULL;
    size_t size = 0;
    Sheet sheet = {open_memstream(&body, &size), MARGIN + LINE};
    if (!sheet.file) return profile_no_memory();
    FlowStatus status = draw_all(&sheet, profile, peaks);
    if (fclose(sheet.file) && !status.exit) status = profile_no_memory();
    if (!status.exit)
        fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
                WIDTH + 2 * MARGIN, sheet.y, body);
    free(body);
    return status;
}
