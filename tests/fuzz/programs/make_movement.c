/* Movement: the same elements at other places. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>

typedef struct Line {
    char *text;
    size_t at, room;
} Line;

#define line_add(line, ...) \
    ((line)->at +=          \
     (size_t)snprintf((line)->text + (line)->at, (line)->room - (line)->at, __VA_ARGS__))

static Line line_of(Item *item) {
    return (Line){item->text, 0, sizeof item->text};
}

static int pick_any(Generator *generator, int rank) {
    return pick(generator, &(Wish){.any_element = true, .rank = rank});
}

static bool make_permutation(Generator *generator) {
    int index = pick_any(generator, 2);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    Shape from = item.shape;
    int order[SHAPE_LIMIT];
    for (int i = 0; i < from.rank; i++) order[i] = i;
    for (int i = from.rank - 1; i > 0; i--) {
        int j = below(generator, i + 1), was = order[i];
        order[i] = order[j], order[j] = was;
    }
    Line line = line_of(&item);
    line_add(&line, "permute($0, [");
    for (int i = 0; i < from.rank; i++) {
        line_add(&line, "%s%d", i ? ", " : "", order[i]);
        item.shape.sizes[i] = from.sizes[order[i]];
    }
    line_add(&line, "])");
    return add_let(generator, item);
}

static bool make_transposition(Generator *generator) {
    int index = pick_any(generator, 2);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int *sizes = item.shape.sizes + item.shape.rank - 2, first = sizes[0];
    sizes[0] = sizes[1], sizes[1] = first;
    snprintf(item.text, sizeof item.text, "transpose($0)");
    return add_let(generator, item);
}

/* Two neighbouring axes become one, or one two. */
static bool make_reshape(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int at = below(generator, item.shape.rank), *size = &item.shape.sizes[at];
    bool merges = at + 1 < item.shape.rank && size[0] > 0 && size[1] > 0;
    if (merges && chance(generator, 70)) {
        size[0] *= size[1];
        remove_axis(&item.shape, at + 1);
    } else {
        if (item.shape.rank == SHAPE_LIMIT || *size < 1) return false;
        int part = *size % 2 ? 1 : 2;
        *size /= part;
        insert_axis(&item.shape, chance(generator, 50) ? at : at + 1, part);
    }
    char shape[64];
    shape_text(&item.shape, shape, sizeof shape);
    snprintf(item.text, sizeof item.text, "reshape($0, %s)", shape);
    return add_let(generator, item);
}

static bool make_expansion(Generator *generator) {
    int index = pick_any(generator, 0);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = below(generator, item.shape.rank + 1);
    for (int i = 0; i < item.shape.rank && chance(generator, 70); i++)
        if (item.shape.sizes[i] == 1) {
            remove_axis(&item.shape, i);
            snprintf(item.text, sizeof item.text, "squeeze($0, %d)", i);
            return add_let(generator, item);
        }
    if (item.shape.rank == SHAPE_LIMIT) return false;
    insert_axis(&item.shape, axis, 1);
    snprintf(item.text, sizeof item.text, "expand($0, %d)", axis);
    return add_let(generator, item);
}

/* Axes of size 1 are stretched, and maybe new ones come in front. */
static bool make_broadcast(Generator *generator) {
    int index = pick_any(generator, 0);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    if (item.shape.rank == SHAPE_LIMIT) return false;
    for (int i = 0; i < item.shape.rank; i++)
        if (item.shape.sizes[i] == 1) item.shape.sizes[i] = 1 + below(generator, 4);
    if (chance(generator, 60)) insert_axis(&item.shape, 0, 2 + below(generator, 4));
    char shape[64];
    shape_text(&item.shape, shape, sizeof shape);
    snprintf(item.text, sizeof item.text, "broadcast($0, %s)", shape);
    return add_let(generator, item);
}

/* One axis of a slice: ":", "2", "1:4", "-3:", "::2". */
static void slice_axis(Generator *generator, Line *line, Shape *shape, int *axis) {
    int size = shape->sizes[*axis];
    if (size < 2 || chance(generator, 40)) {
        line_add(line, ":");
        ++*axis;
        return;
    }
    int first = below(generator, size), last = first + 1 + below(generator, size - first);
    int step = chance(generator, 40) ? 2 + below(generator, 2) : 1;
    if (chance(generator, 25)) {
        line_add(line, "%d", chance(generator, 50) ? first : first - size);
        remove_axis(shape, *axis);
        return;
    }
    line_add(line, "%d:", first);
    if (last < size) line_add(line, "%d", chance(generator, 50) ? last : last - size);
    if (step > 1) line_add(line, ":%d", step);
    shape->sizes[(*axis)++] = (last - first + step - 1) / step;
}

static bool make_slice(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int rank = item.shape.rank, axis = 0;
    Line line = line_of(&item);
    line_add(&line, "$0[");
    for (int i = 0; i < rank; i++) {
        line_add(&line, i ? ", " : "");
        slice_axis(generator, &line, &item.shape, &axis);
    }
    line_add(&line, "]");
    return add_let(generator, item);
}

static bool make_turn(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = pick_axis(generator, &item.shape, 1);
    if (axis < 0) return false;
    if (chance(generator, 50)) snprintf(item.text, sizeof item.text, "flip($0, %d)", axis);
    else snprintf(item.text, sizeof item.text, "roll($0, %d, %d)", below(generator, 5) - 2, axis);
    return add_let(generator, item);
}

/* Some axes grow at their ends, or lose what is there. */
static void pad_axes(Generator *generator, Line *line, Shape *shape, const char *name) {
    line_add(line, ", %s = [", name);
    for (int i = 0; i < shape->rank; i++) {
        bool constant = shape->sizes[i] > 0 && chance(generator, 50);
        int by = constant ? below(generator, 4) - (shape->sizes[i] > 2) : 0;
        line_add(line, "%s%d", i ? ", " : "", by);
        shape->sizes[i] += constant ? by : 0;
    }
    line_add(line, "]");
}

static bool make_pad(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_number, .any_element = true, .rank = 1});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    Line line = line_of(&item);
    bool floating = is_floating(item.shape.element);
    line_add(&line, "pad($0");
    pad_axes(generator, &line, &item.shape, "before");
    pad_axes(generator, &line, &item.shape, "after");
    int value = below(generator, 4);
    if (value) line_add(&line, floating ? ", value = 0.%d" : ", value = %d", value * 25 % 100);
    line_add(&line, ")");
    item.places = 0;
    if (!floating) item.bits += item.bits < 8 ? 8 - item.bits : 0, item.size += 75;
    return add_let(generator, item);
}

bool make_movement(Generator *generator) {
    switch (below(generator, 11)) {
    case 0: return make_permutation(generator);
    case 1: return make_transposition(generator);
    case 2:
    case 3: return make_reshape(generator);
    case 4: return make_expansion(generator);
    case 5: return make_broadcast(generator);
    case 6:
    case 7: return make_slice(generator);
    case 8: return make_turn(generator);
    default: return make_pad(generator);
    }
}

/* Windows. */

static int window_count(int size, int window, int stride, int dilation) {
    return (size - (window - 1) * dilation - 1) / stride + 1;
}

typedef struct WindowAxis {
    int axis, size, stride, dilation;
} WindowAxis;

static bool choose_window(Generator *generator, const Shape *shape, WindowAxis *window) {
    int size = shape->sizes[window->axis];
    window->size = 1 + below(generator, 3);
    window->stride = 1 + below(generator, 2);
    window->dilation = 1 + (chance(generator, 25) ? 1 : 0);
    return size > 0 && (window->size - 1) * window->dilation < size;
}

static void windows_text(const WindowAxis *windows, int count, Item *item) {
    Line line = line_of(item);
    static const char *const names[] = {"axes", "size", "stride", "dilation"};
    line_add(&line, "windows($0");
    for (int which = 0; which < 4; which++) {
        line_add(&line, ", %s = [", names[which]);
        for (int i = 0; i < count; i++) {
            int numbers[] = {windows[i].axis, windows[i].size, windows[i].stride,
                             windows[i].dilation};
            line_add(&line, "%s%d", i ? ", " : "", numbers[which]);
        }
        line_add(&line, "]");
    }
    line_add(&line, ")");
}

static bool make_windows(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int rank = item.shape.rank, count = rank > 1 && chance(generator, 50) ? 2 : 1;
    WindowAxis windows[2] = {{.axis = below(generator, rank - count + 1)}};
    windows[1].axis = windows[0].axis + 1;
    if (rank + count > SHAPE_LIMIT) return false;
    for (int i = 0; i < count; i++)
        if (!choose_window(generator, &item.shape, &windows[i])) return false;
    int behind = windows[count - 1].axis + 1;
    for (int i = 0; i < count; i++) {
        int *size = &item.shape.sizes[windows[i].axis];
        *size = window_count(*size, windows[i].size, windows[i].stride, windows[i].dilation);
        insert_axis(&item.shape, behind + i, windows[i].size);
    }
    windows_text(windows, count, &item);
    return add_let(generator, item);
}

static bool make_overlap(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_floating, .any_element = true, .rank = 2});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = below(generator, item.shape.rank - 1), *sizes = &item.shape.sizes[axis];
    int stride = 1 + below(generator, 2), dilation = 1 + chance(generator, 25);
    if (sizes[0] < 1 || sizes[1] < 1) return false;
    int meeting = sizes[1];
    sizes[0] = (sizes[0] - 1) * stride + (sizes[1] - 1) * dilation + 1;
    remove_axis(&item.shape, axis + 1);
    snprintf(item.text, sizeof item.text,
             "overlap_add($0, axes = [%d], stride = [%d], dilation = [%d])", axis, stride,
             dilation);
    item.size *= meeting;
    item.bits += item.bits ? bits_for(meeting) : 0;
    return add_let(generator, item);
}

bool make_window(Generator *generator) {
    return chance(generator, 70) ? make_windows(generator) : make_overlap(generator);
}

/* Several into one. */

static bool make_concat(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = pick_axis(generator, &item.shape, 1);
    if (axis < 0) return false;
    int other = pick(generator, &(Wish){.element = item.shape.element, .like = &item.shape});
    if (other < 0) return false;
    const Item *second = item_at(generator, other);
    item.operands[item.operand_count++] = other;
    snprintf(item.text, sizeof item.text, "concat([$0, $1], axis = %d)", axis);
    item.shape.sizes[axis] *= 2;
    item.size = item.size > second->size ? item.size : second->size;
    item.bits = item.bits && second->bits ? item.bits + second->bits : 0;
    item.places = 0;
    return add_let(generator, item);
}

static bool make_stack(Generator *generator) {
    int index = pick_any(generator, 0);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int other = pick(generator, &(Wish){.element = item.shape.element, .like = &item.shape});
    if (other < 0 || item.shape.rank == SHAPE_LIMIT) return false;
    const Item *second = item_at(generator, other);
    int axis = below(generator, item.shape.rank + 1);
    item.operands[item.operand_count++] = other;
    snprintf(item.text, sizeof item.text, "stack([$0, $1, $0], axis = %d)", axis);
    insert_axis(&item.shape, axis, 3);
    item.size = item.size > second->size ? item.size : second->size;
    item.bits = item.bits && second->bits ? item.bits + second->bits : 0;
    item.places = 0;
    return add_let(generator, item);
}

static bool make_tile(Generator *generator) {
    int index = pick_any(generator, 1);
    if (index < 0) return false;
    Item item = item_of(generator, index);
    Line line = line_of(&item);
    line_add(&line, "tile($0, [");
    int room = RANK_LIMIT - item.shape.rank; /* each repeated axis takes another on the way */
    for (int i = 0; i < item.shape.rank; i++) {
        int times = item.shape.sizes[i] > 0 && room > 0 && chance(generator, 50) ? 2 : 1;
        room -= times - 1;
        line_add(&line, "%s%d", i ? ", " : "", times);
        if (times > 1) item.shape.sizes[i] *= times;
    }
    line_add(&line, "])");
    return add_let(generator, item);
}

static bool make_parts(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_number, .any_element = true, .rank = 1});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = pick_axis(generator, &item.shape, 2);
    if (axis < 0 || item.shape.sizes[axis] % 2) return false;
    item.shape.sizes[axis] /= 2;
    item.statements = true;
    snprintf(item.text, sizeof item.text,
             "let (p@, q@) = split($0, 2, axis = %d)\n  let v@ = q@ %s p@", axis,
             chance(generator, 50) ? "-" : "+");
    item.size *= 2;
    item.bits += item.bits ? 1 : 0;
    item.places = 0;
    return add_let(generator, item);
}

bool make_joined(Generator *generator) {
    switch (below(generator, 4)) {
    case 0: return make_concat(generator);
    case 1: return make_stack(generator);
    case 2: return make_tile(generator);
    default: return make_parts(generator);
    }
}
