/* Paragraph: after Oppen, Prettyprinting (1980): a group's width is looked up ahead, never more
 * than a line's worth, so that the time grows with the text alone. */
#include "lang/paragraph.h"

typedef enum ItemKind {
    ITEM_word,
    ITEM_place,
    ITEM_edge,
    ITEM_line,
    ITEM_comment,
    ITEM_open,
    ITEM_close,
} ItemKind;

struct ParagraphItem {
    ItemKind kind;
    GroupKind group;
    const char *bytes;
    size_t size;
    uint32_t width, indent;
    bool forced; /* ITEM_open: it holds a line's end */
    bool hangs;  /* ITEM_open: of a bracket, in any case */
    bool behind; /* ITEM_comment */
};

uint32_t text_columns(const char *bytes, size_t size) {
    uint32_t columns = 0;
    for (size_t i = 0; i < size; i++) columns += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    return columns;
}

Paragraph *paragraph_new(Arena *arena) {
    Paragraph *paragraph = arena_new_item(arena, Paragraph);
    paragraph->arena = arena;
    return paragraph;
}

static void add(Paragraph *paragraph, ParagraphItem item) {
    vector_push(paragraph->arena, &paragraph->items, item);
}

void paragraph_word(Paragraph *paragraph, const char *bytes, size_t size) {
    add(paragraph,
        (ParagraphItem){
            .kind = ITEM_word, .bytes = bytes, .size = size, .width = text_columns(bytes, size)});
}

void paragraph_blanks(Paragraph *paragraph, uint32_t count) {
    if (count) add(paragraph, (ParagraphItem){.kind = ITEM_word, .width = count});
}

void paragraph_place(Paragraph *paragraph, uint32_t blanks) {
    add(paragraph, (ParagraphItem){.kind = ITEM_place, .width = blanks});
}

static void force_open_groups(Paragraph *paragraph) {
    for (size_t i = paragraph->open.count; i-- > 0;) {
        ParagraphItem *item = &paragraph->items.items[paragraph->open.items[i]];
        if (item->forced) return; /* and so are those around it */
        item->forced = true;
    }
}

void paragraph_line(Paragraph *paragraph) {
    force_open_groups(paragraph);
    add(paragraph, (ParagraphItem){.kind = ITEM_line});
}

void paragraph_comment(Paragraph *paragraph, const char *bytes, size_t size, bool behind) {
    add(paragraph,
        (ParagraphItem){.kind = ITEM_comment, .bytes = bytes, .size = size, .behind = behind});
}

void paragraph_open(Paragraph *paragraph, GroupKind kind, uint32_t indent) {
    vector_push(paragraph->arena, &paragraph->open, (uint32_t)paragraph->items.count);
    add(paragraph, (ParagraphItem){.kind = ITEM_open, .group = kind, .indent = indent});
}

void paragraph_close(Paragraph *paragraph) {
    paragraph->open.count--;
    add(paragraph, (ParagraphItem){.kind = ITEM_close});
}

void paragraph_edge(Paragraph *paragraph) {
    add(paragraph, (ParagraphItem){.kind = ITEM_edge});
}

void paragraph_force(Paragraph *paragraph) {
    force_open_groups(paragraph);
}

void paragraph_hang(Paragraph *paragraph) {
    force_open_groups(paragraph);
    vector_each(const uint32_t, at, paragraph->open) paragraph->items.items[*at].hangs = true;
}

/* Whether what begins at item `at` is on one line and at most room columns wide: a group with what
 * follows up to the next place, or a place with what follows up to the next that is not deeper. */
static bool fits(const Paragraph *paragraph, size_t at, uint32_t room) {
    const ParagraphItem *items = paragraph->items.items;
    bool of_group = items[at].kind == ITEM_open;
    size_t depth = of_group;
    uint32_t width = items[at].width;
    for (size_t i = at + 1; i < paragraph->items.count; i++) {
        ItemKind kind = items[i].kind;
        bool ends = kind == ITEM_line || kind == ITEM_comment;
        if (ends || (kind == ITEM_open && items[i].forced)) return !depth && (ends || of_group);
        if (kind == ITEM_place && !depth) return true;
        if (kind == ITEM_open) depth++;
        if (kind == ITEM_close && depth) depth--;
        width += items[i].width;
        if (width > room) return false;
    }
    return true;
}

/* Whether each stretch between two places of the bracket at `at` has room. */
static bool stretches_fit(const Paragraph *paragraph, size_t at, uint32_t room) {
    const ParagraphItem *items = paragraph->items.items;
    size_t depth = 1;
    for (size_t i = at + 1; depth; i++) {
        if (depth == 1 && (items[i].kind == ITEM_place || i == at + 1))
            if (!fits(paragraph, i, room)) return false;
        depth += items[i].kind == ITEM_open;
        depth -= items[i].kind == ITEM_close;
    }
    return true;
}

typedef enum Mode { MODE_flat, MODE_all, MODE_fill, MODE_hang } Mode;

typedef struct Frame {
    Mode mode;
    uint32_t indent, outer; /* of its lines; of a hanging bracket's closing line */
    bool begun;             /* the first edge was passed */
} Frame;

typedef struct Printer {
    const Paragraph *paragraph;
    Text *text;
    Offsets *comments;
    uint32_t column, indent; /* indent: of the line that was begun and is still empty */
    bool at_start;
    Vector(Frame) frames;
} Printer;

static void print_blanks(Text *text, uint32_t count) {
    static const char blanks[] = "                ";
    for (; count > 16; count -= 16) text_add_bytes(text, blanks, 16);
    text_add_bytes(text, blanks, count);
}

/* Two line ends in a row are one. */
static void end_line(Printer *printer, uint32_t indent) {
    if (!printer->at_start) text_add(printer->text, "\n");
    printer->at_start = true;
    printer->column = printer->indent = indent;
}

static void begin_line(Printer *printer) {
    if (printer->at_start) print_blanks(printer->text, printer->indent);
    printer->at_start = false;
}

static uint32_t room(const Printer *printer) {
    return printer->column < PARAGRAPH_WIDTH ? PARAGRAPH_WIDTH - printer->column : 0;
}

static void print_word(Printer *printer, const ParagraphItem *item) {
    if (!item->bytes && printer->at_start) return;
    begin_line(printer);
    if (item->bytes) text_add_bytes(printer->text, item->bytes, item->size);
    else print_blanks(printer->text, item->width);
    printer->column += item->width;
}

static void print_comment(Printer *printer, const ParagraphItem *item) {
    begin_line(printer);
    if (item->behind)
        vector_push(printer->paragraph->arena, printer->comments, printer->text->size);
    text_add_bytes(printer->text, item->bytes, item->size);
}

static Frame *top(Printer *printer) {
    return &printer->frames.items[printer->frames.count - 1];
}

static Mode choose_mode(const Printer *printer, size_t at) {
    const ParagraphItem *item = &printer->paragraph->items.items[at];
    if (!item->forced && fits(printer->paragraph, at, room(printer))) return MODE_flat;
    if (item->group != GROUP_bracket) return item->group == GROUP_all ? MODE_all : MODE_fill;
    bool aligned = !item->hangs && stretches_fit(printer->paragraph, at, room(printer));
    return aligned ? MODE_fill : MODE_hang;
}

static void open_group(Printer *printer, size_t at) {
    const ParagraphItem *item = &printer->paragraph->items.items[at];
    Frame frame = {choose_mode(printer, at), top(printer)->indent, top(printer)->indent, false};
    if (frame.mode == MODE_hang) frame.indent += 2;
    else if (item->group == GROUP_bracket) frame.indent = printer->column;
    else frame.indent += item->indent;
    vector_push(printer->paragraph->arena, &printer->frames, frame);
}

static void print_place(Printer *printer, size_t at) {
    const ParagraphItem *item = &printer->paragraph->items.items[at];
    const Frame *frame = top(printer);
    bool ends = frame->mode == MODE_all ||
                (frame->mode != MODE_flat && !fits(printer->paragraph, at, room(printer)));
    if (ends) return end_line(printer, frame->indent);
    if (printer->at_start) return;
    print_blanks(printer->text, item->width);
    printer->column += item->width;
}

static void print_edge(Printer *printer) {
    Frame *frame = top(printer);
    if (frame->mode == MODE_hang) end_line(printer, frame->begun ? frame->outer : frame->indent);
    frame->begun = true;
}

static void print_item(Printer *printer, size_t at) {
    const ParagraphItem *item = &printer->paragraph->items.items[at];
    switch (item->kind) {
    case ITEM_word: print_word(printer, item); break;
    case ITEM_place: print_place(printer, at); break;
    case ITEM_edge: print_edge(printer); break;
    case ITEM_line: end_line(printer, top(printer)->indent); break;
    case ITEM_comment: print_comment(printer, item); break;
    case ITEM_open: open_group(printer, at); break;
    case ITEM_close: printer->frames.count--; break;
    }
}

void paragraph_print(const Paragraph *paragraph, uint32_t indent, Text *text, Offsets *comments) {
    Printer printer = {.paragraph = paragraph,
                       .text = text,
                       .comments = comments,
                       .column = indent,
                       .indent = indent,
                       .at_start = true};
    vector_push(paragraph->arena, &printer.frames, (Frame){MODE_fill, indent, indent, false});
    for (size_t i = 0; i < paragraph->items.count; i++) print_item(&printer, i);
}

uint32_t paragraph_columns(const Paragraph *paragraph) {
    uint32_t width = 0;
    for (size_t i = 0; i < paragraph->items.count && width <= PARAGRAPH_WIDTH; i++) {
        ItemKind kind = paragraph->items.items[i].kind;
        if (kind == ITEM_line || kind == ITEM_comment) return PARAGRAPH_WIDTH + 1;
        width += paragraph->items.items[i].width;
    }
    return width;
}
