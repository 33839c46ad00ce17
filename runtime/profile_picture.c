/* Profile picture: of each function one mean call, a lane for each thread: its kernels in their
 * order, and gaps where it waits; below them what the numbers are. */
#include "runtime/profile_state.h"

enum { WIDTH = 1200, MARGIN = 20, LANE = 34, LINE = 20, LABEL_LEAST = 16, COLOURS = 10 };

static const char *const colours[COLOURS] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                             "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#8cd17d"};

static const double shown_least = 0.005; /* of the time in kernels, to get a line */

typedef struct Sheet {
    FILE *file;
    double y;
} Sheet;

static void write_escaped(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '&') fputs("&amp;", file);
        else if (*text == '<') fputs("&lt;", file);
        else if ((unsigned char)*text < ' ') fputc(' ', file);
        else fputc(*text, file);
    }
}

static void write_box(const Sheet *sheet, double x, double width, int number) {
    fprintf(sheet->file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
            x, sheet->y, width, LANE - 6, colours[number % COLOURS]);
    if (width >= LABEL_LEAST)
        fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
                x + width / 2, sheet->y + LANE / 2 + 2, number);
}

static void draw_lane(Sheet *sheet, const Watched *watched, int thread) {
    double scale = WIDTH / (mean_time(watched) * (double)watched->times * 1e3), x = MARGIN;
    for (int i = 0; i <= watched->function->work_count; i++) {
        const Span *span = &watched->members[thread]->spans[i];
        x += (double)span->waiting * scale;
        write_box(sheet, x, (double)span->busy * scale, i);
        x += (double)span->busy * scale;
    }
    sheet->y += LANE;
}

static void draw_line(Sheet *sheet, const Watched *watched, const Share *share, double peak) {
    bool known = share->number < watched->function->work_count;
    double operations = known ? watched->function->work[share->number].operations : 0;
    write_box(&(Sheet){sheet->file, sheet->y - LANE / 2}, MARGIN, 30, share->number);
    fprintf(sheet->file, "<text x=\"%d\" y=\"%.1f\">%.2f us, %.1f %% of peak: ", MARGIN + 40,
            sheet->y + 4, share->busy,
            share->busy > 0 ? operations / share->busy * 1e8 / peak : 0.0);
    write_escaped(sheet->file, work_text(watched, share->number));
    fputs("</text>\n", sheet->file);
    sheet->y += LANE;
}

static bool is_shown(const Watched *watched, const Share *share) {
    double busy = 0;
    for (int i = 0; i <= watched->function->work_count; i++) busy += share_of(watched, i).busy;
    return share->busy >= shown_least * busy;
}

static void draw_function(Sheet *sheet, const Watched *watched, double peak) {
    fprintf(sheet->file, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">", MARGIN, sheet->y);
    write_escaped(sheet->file, watched->function->name);
    fprintf(sheet->file, ": %.2f us, the mean of %lld; a lane is a thread, a gap is waiting",
            mean_time(watched), (long long)watched->times);
    fputs("</text>\n", sheet->file);
    sheet->y += LINE / 2;
    for (int i = 0; i < watched->threads; i++) draw_lane(sheet, watched, i);
    sheet->y += LINE;
    for (int i = 0; i <= watched->function->work_count; i++) {
        Share share = share_of(watched, i);
        if (is_shown(watched, &share)) draw_line(sheet, watched, &share, peak);
    }
    sheet->y += LINE;
}

static double height_of(const Watched *watched) {
    double height = LINE / 2 + LINE + LINE + watched->threads * LANE;
    for (int i = 0; i <= watched->function->work_count; i++) {
        Share share = share_of(watched, i);
        if (is_shown(watched, &share)) height += LANE;
    }
    return height;
}

void profile_draw(const Profile *profile, double peak, FILE *file) {
    double height = 2 * MARGIN + LINE;
    for (const Watched *at = profile->functions; at; at = at->next)
        if (at->times) height += height_of(at);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH + 2 * MARGIN, height);
    Sheet sheet = {file, MARGIN + LINE};
    for (const Watched *at = profile->functions; at; at = at->next)
        if (at->times) draw_function(&sheet, at, peak);
    fputs("</svg>\n", file);
}
