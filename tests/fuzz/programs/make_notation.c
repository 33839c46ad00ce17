/* Index notation: an item by some of its indices, beside a weight that shares some of them. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>
#include <string.h>

enum { INDEX_LIMIT = SHAPE_LIMIT + 2 };

typedef struct Notation {
    char names[INDEX_LIMIT]; /* of indices */
    int sizes[INDEX_LIMIT];
    bool reduced[INDEX_LIMIT];
    int count;
    char left[64], right[64]; /* "$0[i, j]" */
    Shape weight;
    int meeting; /* how many are reduced into one */
    int slid;    /* the index of windows, or -1 */
} Notation;

static void name_axes(Notation *notation, const Shape *shape) {
    size_t at = (size_t)snprintf(notation->left, sizeof notation->left, "$0[");
    for (int i = 0; i < shape->rank; i++) {
        notation->names[i] = (char)('i' + i);
        notation->sizes[i] = shape->sizes[i];
        at += (size_t)snprintf(notation->left + at, sizeof notation->left - at, "%s%c",
                               i ? ", " : "", 'i' + i);
    }
    snprintf(notation->left + at, sizeof notation->left - at, "]");
    notation->count = shape->rank;
}

/* The last axis becomes windows: index p goes along a weight, `stride * i + p` along the axis. */
static bool slide(Generator *generator, Notation *notation) {
    int last = notation->count - 1, size = notation->sizes[last];
    if (size < 2) return false;
    int width = 1 + below(generator, size < 4 ? size : 4), stride = 1 + below(generator, 2);
    char *at = strrchr(notation->left, notation->names[last]);
    size_t room = sizeof notation->left - (size_t)(at - notation->left);
    snprintf(at, room, stride == 1 ? "%c + p]" : "2 * %c + p]", notation->names[last]);
    notation->sizes[last] = (size - width) / stride + 1;
    notation->slid = last;
    notation->names[notation->count] = 'p';
    notation->sizes[notation->count] = width;
    notation->reduced[notation->count++] = true;
    return true;
}

/* A weight of some of the indices and maybe one of its own. */
static void choose_weight(Generator *generator, Notation *notation) {
    int own = notation->count;
    if (chance(generator, 40) && notation->count < INDEX_LIMIT) {
        notation->names[own] = 'q';
        notation->sizes[own] = 1 + below(generator, 4);
        notation->count++;
    }
    size_t at = (size_t)snprintf(notation->right, sizeof notation->right, "$1[");
    notation->weight.rank = 0;
    for (int tries = notation->count; tries > 0; tries--) {
        int i = (tries + own) % notation->count;
        bool wanted = notation->names[i] == 'p' || notation->names[i] == 'q' ||
                      i == notation->slid; /* which would have no range */
        if (notation->sizes[i] < 1 || (!wanted && chance(generator, 50))) continue;
        at += (size_t)snprintf(notation->right + at, sizeof notation->right - at, "%s%c",
                               notation->weight.rank ? ", " : "", notation->names[i]);
        notation->weight.sizes[notation->weight.rank++] = notation->sizes[i];
        if (notation->weight.rank == SHAPE_LIMIT) break;
    }
    snprintf(notation->right + at, sizeof notation->right - at, "]");
}

static void choose_reduced(Generator *generator, Notation *notation) {
    notation->meeting = 1;
    for (int i = 0; i < notation->count; i++) {
        if (notation->names[i] != 'q' && chance(generator, 30)) notation->reduced[i] = true;
        if (notation->reduced[i]) notation->meeting *= size_count(notation->sizes[i]);
    }
}

/* "[j, i]" of those that stay, in any order, and the shape. */
static bool result_text(Generator *generator, const Notation *notation, Shape *shape, char *text,
                        size_t room) {
    size_t at = (size_t)snprintf(text, room, "[");
    int first = below(generator, notation->count);
    shape->rank = 0;
    for (int n = 0; n < notation->count; n++) {
        int i = (first + n) % notation->count;
        if (notation->reduced[i]) continue;
        if (shape->rank == SHAPE_LIMIT) return false;
        at += (size_t)snprintf(text + at, room - at, "%s%c", shape->rank ? ", " : "",
                               notation->names[i]);
        shape->sizes[shape->rank++] = notation->sizes[i];
    }
    snprintf(text + at, room - at, "]");
    return shape->rank > 0;
}

/* "sum(k, p) ", or nothing. */
static void reducer_text(const Notation *notation, const char *name, char *text, size_t room) {
    size_t at = 0;
    *text = 0;
    for (int i = 0; i < notation->count; i++) {
        if (!notation->reduced[i]) continue;
        at += (size_t)snprintf(text + at, room - at, at ? ", " : "%s(", name);
        at += (size_t)snprintf(text + at, room - at, "%c", notation->names[i]);
    }
    if (at) snprintf(text + at, room - at, ") ");
}

/* What is reduced: a product, of the values or of a function of them. */
static const char *body_form(Generator *generator) {
    static const char *const forms[] = {"%s * %s",       "%s * %s",   "%s * %s",
                                        "tanh(%s) * %s", "(%s - %s)", "(%s + 0.5) * %s"};
    return forms[below(generator, 6)];
}

static void body_text(const char *form, const Notation *notation, char *text, size_t room) {
    const char *parts[] = {notation->left, notation->right};
    int part = 0;
    size_t at = 0;
    for (; *form && at + 1 < room; form++) {
        if (*form != '%') {
            text[at++] = *form;
            continue;
        }
        at += (size_t)snprintf(text + at, room - at, "%s", parts[part++]);
        form++;
    }
    text[at] = 0;
}

bool make_notation(Generator *generator) {
    int index =
        pick(generator, &(Wish){.element = TYPE_f32, .rank = 1, .rank_limit = SHAPE_LIMIT - 1});
    if (index < 0) return false;
    Notation notation = {.weight = {.element = TYPE_f32}, .slid = -1};
    name_axes(&notation, &item_at(generator, index)->shape);
    if (chance(generator, 30)) slide(generator, &notation);
    choose_weight(generator, &notation);
    choose_reduced(generator, &notation);
    Item item = item_of(generator, index);
    char result[48], reducer[64], body[160];
    if (!notation.weight.rank ||
        !result_text(generator, &notation, &item.shape, result, sizeof result))
        return false;
    int weight = add_weight(generator, notation.weight);
    if (weight < 0) return false;
    const char *form = body_form(generator);
    reducer_text(&notation, chance(generator, 20) ? "mean" : "sum", reducer, sizeof reducer);
    body_text(form, &notation, body, sizeof body);
    item.statements = true;
    item.operands[item.operand_count++] = weight;
    snprintf(item.text, sizeof item.text, "let v@%s = %s%s", result, reducer, body);
    item.size = (item.size + 0.5) * 2.5 * notation.meeting;
    item.bits = item.places = 0;
    return add_let(generator, item);
}
