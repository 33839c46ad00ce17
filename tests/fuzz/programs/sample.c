/* Sample. */
#include "tests/fuzz/programs/sample.h"

#include <stdio.h>
#include <string.h>

static char letter(const Item *item) {
    if (item->kind == ITEM_let) return 'v';
    if (item->kind == ITEM_field) return item->rough ? 'r' : 'x';
    return item->rough ? 'z' : 'w';
}

bool is_rough_letter(char letter) {
    return letter == 'r' || letter == 'z';
}

int size_count(int size) {
    return size == BATCH_SIZE ? BATCH : size == BOUND_SIZE ? BOUND : size;
}

bool same_shape(const Shape *a, const Shape *b) {
    bool same = a->element == b->element && a->rank == b->rank;
    for (int i = 0; i < a->rank && same; i++) same = a->sizes[i] == b->sizes[i];
    return same;
}

void shape_text(const Shape *shape, char *text, size_t room) {
    size_t at = (size_t)snprintf(text, room, "[");
    for (int i = 0; i < shape->rank; i++) {
        at += (size_t)snprintf(text + at, room - at, i ? ", " : "");
        int size = shape->sizes[i];
        if (size < 0) at += (size_t)snprintf(text + at, room - at, size == BATCH_SIZE ? "B" : "T");
        else at += (size_t)snprintf(text + at, room - at, "%d", size);
    }
    snprintf(text + at, room - at, "]");
}

/* `record`: without the batch. */
static void print_type(const Shape *shape, bool record, Text *text) {
    Shape mine = *shape;
    char sizes[64];
    if (record) {
        mine.rank--;
        memmove(mine.sizes, mine.sizes + 1, sizeof(int) * (size_t)mine.rank);
    }
    shape_text(&mine, sizes, sizeof sizes);
    text_format(text, "%s%s", element_info[mine.element].name, mine.rank ? sizes : "");
}

static void print_weight(const Item *item, int index, Text *text) {
    char sizes[64];
    shape_text(&item->shape, sizes, sizeof sizes);
    text_format(text, "  weight %c%d: ", letter(item), index);
    print_type(&item->shape, false, text);
    if (item->shape.element == TYPE_f32) text_add(text, " = zeros()\n");
    else
        text_format(text, " = cast(broadcast(0, %s), %s)\n", sizes,
                    element_info[item->shape.element].name);
}

static void print_let(const Sample *sample, int index, Text *text) {
    const Item *item = &sample->items[index];
    if (item->statements) text_add(text, "  ");
    else text_format(text, "  let v%d = ", index);
    for (const char *at = item->text; *at; at++) {
        if (*at == '@') text_format(text, "%d", index);
        else if (*at == '$') {
            int operand = item->operands[*++at - '0'];
            text_format(text, "%c%d", letter(&sample->items[operand]), operand);
        } else text_add_bytes(text, at, 1);
    }
    text_add(text, "\n");
}

static int first_weight(const Sample *sample) {
    int index = 0;
    while (sample->items[index].kind != ITEM_weight) index++;
    return index;
}

/* What is kept, and all that it is made of. */
static void find_needed(const Sample *sample, const bool *kept, bool *needed, bool *used) {
    for (int i = sample->count - 1; i >= 0; i--) {
        const Item *item = &sample->items[i];
        needed[i] |= kept[i] && !used[i];
        for (int j = 0; j < item->operand_count && needed[i]; j++)
            needed[item->operands[j]] = used[item->operands[j]] = true;
    }
}

/* form: # is the number, ? the letter, T the type of a record, L that of a batch. */
static void print_fields(const Sample *sample, const bool *needed, const char *form, Text *text) {
    bool first = true;
    for (int i = 0; i < sample->count; i++) {
        const Item *item = &sample->items[i];
        if (item->kind != ITEM_field || !needed[i]) continue;
        text_add(text, first ? "" : ", ");
        first = false;
        for (const char *at = form; *at; at++) {
            if (*at == '#') text_format(text, "%d", i);
            else if (*at == '?') text_format(text, "%c", letter(item));
            else if (*at == 'T') print_type(&item->shape, true, text);
            else if (*at == 'L') print_type(&item->shape, false, text);
            else text_add_bytes(text, at, 1);
        }
    }
}

static void print_loss(const Sample *sample, const bool *needed, const bool *used, Text *text) {
    text_add(text, "  let loss = 0.0 + sum(0 * x0)\n");
    for (int i = 0; i < sample->count; i++) {
        const Item *item = &sample->items[i];
        if (!needed[i]) continue;
        if (item->kind == ITEM_weight)
            text_format(text, "  loss = loss + 0.125 * sum(cast(%c%d * %c%d, f32))\n", letter(item),
                        i, letter(item), i);
        else if (item->kind == ITEM_let && !used[i])
            text_format(text, "  loss = loss + sum(tanh(cast(v%d, f32)))\n", i);
    }
    text_add(text, "  return loss\n");
}

static void print_pipeline(const Sample *sample, const bool *needed, int number, Text *text) {
    text_format(text, "pipeline data%d(", number);
    print_fields(sample, needed, "f#: path", text);
    text_add(text, ") -> (");
    print_fields(sample, needed, "?#: T", text);
    text_add(text, ") {\n  return idx(");
    print_fields(sample, needed, "a#: f#", text);
    text_add(text, ") |> map(");
    print_fields(sample, needed, "?#: a# |> : T", text);
    text_add(text, ")\n}\n\n");
}

static void print_model(const Sample *sample, const bool *needed, const bool *used, int number,
                        Text *text) {
    text_format(text, "model net%d(", number);
    print_fields(sample, needed, "?#: L", text);
    text_add(text, ") -> f32 {\n");
    for (int i = 0; i < sample->count; i++)
        if (needed[i] && sample->items[i].kind == ITEM_weight)
            print_weight(&sample->items[i], i, text);
    for (int i = 0; i < sample->count; i++)
        if (needed[i] && sample->items[i].kind == ITEM_let) print_let(sample, i, text);
    print_loss(sample, needed, used, text);
    text_add(text, "}\n\n");
}

static void print_train(const Sample *sample, const bool *needed, int number, Text *text) {
    text_format(text, "train fit%d {\n  data = data%d(", number, number);
    print_fields(sample, needed, "\"f#\"", text);
    text_format(text, ") |> batch(%d)\n  loss = net%d(", BATCH, number);
    print_fields(sample, needed, "data.?#", text);
    text_add(text, ")\n  optimizer = descend()\n}\n\n");
}

void sample_print_head(Text *text) {
    text_format(text,
                "dim T <= %d\n\n"
                "model descend(w: E[...], gradient: E[...]) -> E[...] {\n"
                "  return w - 0.125 * gradient\n"
                "}\n\n",
                BOUND);
}

void sample_needed(const Sample *sample, const bool *kept, bool *needed) {
    bool used[ITEM_LIMIT] = {0};
    memset(needed, 0, ITEM_LIMIT * sizeof *needed);
    needed[0] = needed[first_weight(sample)] = true;
    find_needed(sample, kept, needed, used);
}

void sample_print(const Sample *sample, const bool *kept, int number, Text *text) {
    bool needed[ITEM_LIMIT] = {[0] = true}, used[ITEM_LIMIT] = {0};
    needed[first_weight(sample)] = true; /* else there is nothing to train */
    find_needed(sample, kept, needed, used);
    print_pipeline(sample, needed, number, text);
    print_model(sample, needed, used, number, text);
    print_train(sample, needed, number, text);
}
