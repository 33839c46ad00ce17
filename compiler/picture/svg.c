/* SVG: a graph as a page of its own. Colours are chosen to read on white and on black alike. */
#include "compiler/picture/layout.h"
#include "compiler/picture/picture.h"

#include <string.h>

enum { LINE_LIMIT = 14, NAME_COLUMNS = 44, BOX_LIMIT = 1500 };
static const double line_height = 16, column_width = 7.3, padding = 9;

typedef struct Line {
    const char *left, *right;
    bool strong; /* read by other boxes */
} Line;

/* A box as text. */
typedef struct Label {
    Vector(Line) lines;
    bool titled;
    double width, height;
} Label;

typedef struct Page {
    Arena *arena;
    const Boxes *boxes;
    const Layout *layout;
    const Label *labels;
    Text *text;
} Page;

static const char *const class_names[] = {
    [BOX_input] = "input", [BOX_weight] = "weight", [BOX_kernel] = "kernel",
    [BOX_node] = "node",   [BOX_output] = "output",
};

static const char style[] =
    "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".box rect{stroke-width:1.2}"
    ".box text{fill:#1f2733}"
    ".box .shape{fill:#6b7688}"
    ".box .stored{font-weight:bold}"
    ".kernel rect,.node rect{fill:#f5f7fb;stroke:#5f7197}"
    ".kernel .head{fill:#5f7197}"
    ".kernel .title{fill:#ffffff;font-weight:bold}"
    ".weight rect{fill:#fdf0d8;stroke:#c48a2a}"
    ".input rect{fill:#e0f2e4;stroke:#4b9460}"
    ".output rect{fill:#f3e3f3;stroke:#93589a}"
    ".arrow{fill:none;stroke:#8a94a6;stroke-width:1.4}"
    ".tip{fill:#8a94a6;stroke:none}"
    ".link:hover .arrow{stroke:#d9542b;stroke-width:3}"
    ".link:hover .tip{fill:#d9542b}"
    ".reach{fill:none;stroke:transparent;stroke-width:10}";

static const char script[] =
    "const svg = document.querySelector('svg');\n"
    "let view = svg.getAttribute('viewBox').split(' ').map(Number), held = null;\n"
    "const whole = view.slice();\n"
    "const show = () => svg.setAttribute('viewBox', view.join(' '));\n"
    "const scale = () => Math.max(view[2] / svg.clientWidth, view[3] / svg.clientHeight);\n"
    "const at = event => {\n"
    "  const point = new DOMPoint(event.clientX, event.clientY);\n"
    "  return point.matrixTransform(svg.getScreenCTM().inverse());\n"
    "};\n"
    "svg.addEventListener('wheel', event => {\n"
    "  event.preventDefault();\n"
    "  const point = at(event), factor = Math.exp(event.deltaY * 0.0015);\n"
    "  view = [point.x - (point.x - view[0]) * factor, point.y - (point.y - view[1]) * factor,\n"
    "          view[2] * factor, view[3] * factor];\n"
    "  show();\n"
    "}, {passive: false});\n"
    "svg.addEventListener('pointerdown', event => {\n"
    "  held = [event.clientX, event.clientY];\n"
    "  svg.setPointerCapture(event.pointerId);\n"
    "});\n"
    "svg.addEventListener('pointermove', event => {\n"
    "  if (!held) return;\n"
    "  const unit = scale();\n"
    "  view[0] -= (event.clientX - held[0]) * unit;\n"
    "  view[1] -= (event.clientY - held[1]) * unit;\n"
    "  held = [event.clientX, event.clientY];\n"
    "  show();\n"
    "});\n"
    "svg.addEventListener('pointerup', () => { held = null; });\n"
    "svg.addEventListener('dblclick', () => { view = whole.slice(); show(); });\n";

/* Text. */

static void add_escaped(Text *text, const char *string) {
    for (; *string; string++) switch (*string) {
        case '&': text_add(text, "&amp;"); break;
        case '<': text_add(text, "&lt;"); break;
        case '>': text_add(text, "&gt;"); break;
        case '"': text_add(text, "&quot;"); break;
        default: text_add_bytes(text, (unsigned char)*string < ' ' ? "?" : string, 1);
        }
}

static int columns(const char *string) {
    int count = 0;
    for (; *string; string++) count += (*string & 0xc0) != 0x80;
    return count;
}

/* The end of a long name says more than its beginning. */
static const char *shortened(Arena *arena, const char *name) {
    int over = columns(name) - NAME_COLUMNS;
    if (over <= 0) return name;
    for (over++; over > 0; over--) do
            name++;
        while ((*name & 0xc0) == 0x80);
    return arena_format(arena, "…%s", name);
}

/* Labels. */

static void add_line(Arena *arena, Label *label, const char *left, const char *right, bool strong) {
    left = shortened(arena, left);
    int width = columns(left) + columns(right) + (*left && *right ? 3 : 0);
    vector_push(arena, &label->lines, (Line){left, right, strong});
    if (width * column_width + 2 * padding > label->width)
        label->width = width * column_width + 2 * padding;
}

static bool is_listed(const Boxes *all, NodeId id) {
    return graph_node(all->graph, id)->op != OP_constant;
}

static void add_members(Arena *arena, Label *label, const Boxes *all, int box) {
    size_t more = 0;
    vector_each(NodeId, member, all->boxes.items[box].members) {
        const Type *type = &graph_node(all->graph, *member)->type;
        if (!is_listed(all, *member)) continue;
        if (label->lines.count >= LINE_LIMIT) more++;
        else
            add_line(arena, label, node_summary(arena, all->graph, *member), type_text(arena, type),
                     label->titled && all->owner[*member] == box && all->leaves[*member]);
    }
    if (more) add_line(arena, label, arena_format(arena, "… and %zu more", more), "", false);
}

static Label label_of(Arena *arena, const Boxes *all, int box) {
    const Box *labelled = &all->boxes.items[box];
    Label label = {.titled = labelled->kind == BOX_kernel};
    if (labelled->kind == BOX_kernel) {
        add_line(arena, &label, labelled->title, "", true);
        add_members(arena, &label, all, box);
    } else if (labelled->kind == BOX_node) {
        add_members(arena, &label, all, box);
    } else {
        add_line(arena, &label, labelled->title, "", false);
        if (labelled->kind != BOX_output)
            add_line(arena, &label, "",
                     type_text(arena, &graph_node(all->graph, labelled->members.items[0])->type),
                     false);
    }
    label.height = line_height * (double)label.lines.count + padding + (label.titled ? 6 : 3);
    return label;
}

/* Shapes. */

static void add_rectangle(const Page *page, const char *class, double x, double y, double width,
                          double height, double radius) {
    text_format(page->text,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                "height=\"%.1f\" rx=\"%.1f\"/>",
                class, x, y, width, height, radius);
}

static void add_words(const Page *page, const char *class, const char *anchor, double x, double y,
                      const char *words) {
    if (!*words) return;
    text_format(page->text, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class,
                anchor, x, y);
    add_escaped(page->text, words);
    text_add(page->text, "</text>");
}

static void add_lines(const Page *page, const Label *label, double x, double y) {
    bool single = !label->titled;
    for (size_t i = 0; i < label->lines.count; i++) {
        const Line *line = &label->lines.items[i];
        const char *class = label->titled && !i ? "title" : line->strong ? "stored" : "";
        double baseline = y + padding + 6 + line_height * (double)i + (label->titled && i ? 4 : 0);
        bool centred = single && (!*line->left || !*line->right);
        if (centred) {
            const char *words = *line->left ? line->left : line->right;
            add_words(page, *line->left ? class : "shape", "middle", x + label->width / 2, baseline,
                      words);
            continue;
        }
        add_words(page, class, "start", x + padding, baseline, line->left);
        add_words(page, "shape", "end", x + label->width - padding, baseline, line->right);
    }
}

static double top_of(const Page *page, int box) {
    const Place *place = &page->layout->places.items[box];
    double room = page->layout->heights[place->layer] - place->height;
    return page->layout->tops[place->layer] + room / 2;
}

static void add_tooltip(const Page *page, const NodeIds *values) {
    text_add(page->text, "<title>");
    vector_each(NodeId, value, *values) {
        if (value != values->items) text_add(page->text, "\n");
        text_format(page->text, "%%%u ", *value);
        add_escaped(page->text, node_summary(page->arena, page->boxes->graph, *value));
        text_add(page->text, " : ");
        add_escaped(page->text, value_summary(page->arena, page->boxes->graph, *value));
    }
    text_add(page->text, "</title>");
}

static void add_box(const Page *page, int box) {
    const Label *label = &page->labels[box];
    const Box *drawn = &page->boxes->boxes.items[box];
    double x = page->layout->places.items[box].x - label->width / 2, y = top_of(page, box);
    bool round = drawn->kind != BOX_kernel && drawn->kind != BOX_node;
    text_format(page->text, "<g class=\"box %s\">", class_names[drawn->kind]);
    if (drawn->members.count) add_tooltip(page, &drawn->members);
    add_rectangle(page, "body", x, y, label->width, label->height, round ? 12 : 4);
    if (label->titled) add_rectangle(page, "head", x, y, label->width, line_height + 6, 4);
    add_lines(page, label, x, y);
    text_add(page->text, "</g>\n");
}

/* Down through a layer in a straight line, from layer to layer in a curve that starts and ends
 * upright. Bends right below each other make one line. */
static void add_curve(const Page *page, const Path *path) {
    const Layout *layout = page->layout;
    int last = path->count - 1, layer = layout->places.items[path->places[0]].layer;
    double x = path->start, y = layout->tops[layer] + layout->heights[layer];
    text_format(page->text, "M%.1f %.1f", x,
                top_of(page, path->places[0]) + layout->places.items[path->places[0]].height);
    for (int i = 1; i <= last; i++) {
        const Place *place = &layout->places.items[path->places[i]];
        double next_x = i == last ? path->end : place->x, next_y = layout->tops[place->layer];
        double middle = (y + next_y) / 2, aside = next_x - x;
        if (aside > 0.5 || aside < -0.5) {
            text_format(page->text, "V%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", y, x, middle, next_x,
                        middle, next_x, next_y);
            x = next_x;
        }
        y = next_y + layout->heights[place->layer];
    }
    text_format(page->text, "V%.1f", top_of(page, path->places[last]) - 6);
}

static void add_arrow(const Page *page, size_t arrow) {
    const Path *path = &page->layout->paths[arrow];
    double end = top_of(page, path->places[path->count - 1]);
    text_add(page->text, "<g class=\"link\">");
    add_tooltip(page, &page->boxes->arrows.items[arrow].values);
    text_add(page->text, "<path class=\"reach\" d=\"");
    add_curve(page, path);
    text_add(page->text, "\"/><path class=\"arrow\" d=\"");
    add_curve(page, path);
    text_format(page->text, "\"/><path class=\"tip\" d=\"M%.1f %.1fl-4 -8h8z\"/></g>\n", path->end,
                end);
}

static void add_drawing(const Page *page) {
    text_format(page->text,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n<style>%s"
                "</style>\n",
                page->layout->width, page->layout->height, style);
    for (size_t i = 0; i < page->boxes->arrows.count; i++) add_arrow(page, i);
    for (size_t i = 0; i < page->boxes->boxes.count; i++) add_box(page, (int)i);
    text_add(page->text, "</svg>\n");
}

/* The page. */

static void draw(Arena *arena, const Boxes *boxes, Text *text) {
    size_t count = boxes->boxes.count;
    Label *labels = arena_new_array(arena, Label, count + 1);
    double(*sizes)[2] = arena_allocate(arena, sizeof *sizes * (count + 1));
    for (size_t i = 0; i < count; i++) {
        labels[i] = label_of(arena, boxes, (int)i);
        sizes[i][0] = labels[i].width;
        sizes[i][1] = labels[i].height;
    }
    const Layout *layout = layout_new(arena, boxes, (const double(*)[2])sizes);
    add_drawing(&(Page){arena, boxes, layout, labels, text});
}

void picture_html(const Graph *graph, Text *text) {
    Arena *arena = arena_new();
    const Boxes *boxes = boxes_new(arena, graph);
    text_add(text, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>");
    add_escaped(text, graph->name ? graph->name : "graph");
    text_add(text, "</title>\n<style>:root{color-scheme:light dark}html,body{height:100%;margin:0}"
                   "svg{width:100%;height:100%;display:block;touch-action:none}</style></head>\n"
                   "<body>\n");
    if (boxes->boxes.count > BOX_LIMIT)
        text_format(text, "<p>%zu boxes are too many to draw; look at the graph as text.</p>\n",
                    boxes->boxes.count);
    else draw(arena, boxes, text);
    text_format(text, "<script>\n%s</script>\n</body></html>\n", script);
    arena_free(arena);
}
