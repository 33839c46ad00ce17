/* Generate. */
#include "tests/fuzz/programs/generate.h"

#include "compiler/graph/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXACT_BITS = 22, JUMP_BITS = 11, DATA_BITS = 5, ELEMENTS = 512 };
static const double LARGE = 8;

typedef struct Generator {
    Sample *made;
    uint64_t state;
} Generator;

/* Chance. */

static uint64_t next(Generator *generator) {
    generator->state ^= generator->state << 13;
    generator->state ^= generator->state >> 7;
    generator->state ^= generator->state << 17;
    return generator->state >> 11;
}

static int below(Generator *generator, int count) {
    return (int)(next(generator) % (uint64_t)count);
}

static bool chance(Generator *generator, int percent) {
    return below(generator, 100) < percent;
}

/* Shapes. */

static int elements(const Shape *shape) {
    int count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->sizes[i] == BATCH_SIZE ? BATCH : shape->sizes[i];
    return count;
}

/* Sizes grow with the batch at most in its square. */
static bool is_small(const Shape *shape) {
    int batches = 0;
    for (int i = 0; i < shape->rank; i++) batches += shape->sizes[i] == BATCH_SIZE;
    return batches <= 2 && elements(shape) <= ELEMENTS;
}

static int size_at(const Shape *shape, int from_end) {
    return from_end < shape->rank ? shape->sizes[shape->rank - 1 - from_end] : 1;
}

/* result may be one of the two. */
static bool broadcast(const Shape *a, const Shape *b, Shape *result) {
    Shape both = {.element = a->element, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < both.rank; i++) {
        int x = size_at(a, i), y = size_at(b, i);
        if (x != y && x != 1 && y != 1) return false;
        both.sizes[both.rank - 1 - i] = x == 1 ? y : x;
    }
    *result = both;
    return is_small(result);
}

static Shape random_shape(Generator *generator, Element element, bool batch) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 17};
    Shape shape = {.element = element};
    int rank = below(generator, 3);
    if (batch) shape.sizes[shape.rank++] = BATCH_SIZE;
    for (int i = 0; i < rank; i++) shape.sizes[shape.rank++] = sizes[below(generator, 9)];
    return shape;
}

static void shape_text(const Shape *shape, char *text, size_t room) {
    size_t at = (size_t)snprintf(text, room, "[");
    for (int i = 0; i < shape->rank; i++) {
        at += (size_t)snprintf(text + at, room - at, i ? ", " : "");
        if (shape->sizes[i] == BATCH_SIZE) at += (size_t)snprintf(text + at, room - at, "B");
        else at += (size_t)snprintf(text + at, room - at, "%d", shape->sizes[i]);
    }
    snprintf(text + at, room - at, "]");
}

/* Items. */

static Item *item_at(Generator *generator, int index) {
    return &generator->made->items[index];
}

static int add(Generator *generator, Item item) {
    if (generator->made->count == ITEM_LIMIT) return -1;
    generator->made->items[generator->made->count] = item;
    return generator->made->count++;
}

static int bits_for(int count) {
    return (int)ceil(log2(count));
}

/* Large values are made small again, which keeps exact ones exact. */
static bool add_let(Generator *generator, Item item) {
    if (item.bits > EXACT_BITS) item.bits = 0;
    bool whole = element_info[item.shape.element].class == CLASS_integer;
    if (whole && (!item.bits || item.bits > EXACT_BITS - 2)) return false;
    if (!is_small(&item.shape) || !isfinite(item.size) || item.size > 1e4) return false;
    for (int i = 0; i < item.operand_count; i++)
        item.trained |= item_at(generator, item.operands[i])->trained;
    if (item.shape.element == TYPE_f32 && item.size > LARGE) {
        char inner[sizeof item.text];
        double factor = exp2(-ceil(log2(item.size / LARGE * 2)));
        snprintf(inner, sizeof inner, "%s", item.text);
        int size = snprintf(item.text, sizeof item.text, "(%s) * %.10g", inner, factor);
        if (size >= (int)sizeof item.text) return false;
        item.size *= factor;
    }
    item.kind = ITEM_let;
    return add(generator, item) >= 0;
}

static Item field_or_weight(Generator *generator, ItemKind kind, Shape shape) {
    (void)generator;
    bool whole = shape.element == TYPE_i32;
    return (Item){.kind = kind,
                  .shape = shape,
                  .bits = DATA_BITS,
                  .size = whole ? 7 : 2,
                  .trained = kind == ITEM_weight};
}

static int add_weight(Generator *generator, Shape shape) {
    return add(generator, field_or_weight(generator, ITEM_weight, shape));
}

/* Picking: a random item that will do, later ones rather than early ones; or -1. */

typedef struct Wish {
    Takes takes;
    bool any_element; /* else: element */
    Element element;
    int bits;            /* exact, and at most so many; 0: any */
    int rank;            /* at least */
    const Shape *beside; /* broadcasts with it; or NULL */
    bool untrained;
} Wish;

static bool element_fits(Takes takes, Element element) {
    ElementClass class = element_info[element].class;
    switch (takes) {
    case TAKES_boolean: return class == CLASS_boolean;
    case TAKES_floating: return class == CLASS_floating;
    case TAKES_integer: return class == CLASS_integer;
    case TAKES_number: return class != CLASS_boolean;
    default: return true;
    }
}

static bool grants(const Item *item, const Wish *wish) {
    Shape shape;
    if (!element_fits(wish->takes, item->shape.element)) return false;
    if (!wish->any_element && item->shape.element != wish->element) return false;
    if (wish->bits && (!item->bits || item->bits > wish->bits)) return false;
    if (item->shape.rank < wish->rank || (wish->untrained && item->trained)) return false;
    return !wish->beside || broadcast(&item->shape, wish->beside, &shape);
}

static int pick(Generator *generator, const Wish *wish) {
    int count = generator->made->count;
    for (int tries = 0; tries < 40; tries++) {
        int index = below(generator, count);
        if (chance(generator, 50)) index = count - 1 - below(generator, count < 6 ? count : 6);
        if (grants(item_at(generator, index), wish)) return index;
    }
    return -1;
}

/* Elementwise ops, by their entries. */

/* Near a jump of its value or of its gradient, an op needs operands that are the same everywhere. */
static bool jumps(Op op) {
    const OpInfo *info = &op_info[op];
    if (op == OP_divide) return false;
    if (info->gives == GIVES_boolean && info->takes != TAKES_boolean) return true;
    return info->domain && strcmp(info->domain, "positive") && strcmp(info->domain, "any");
}

static bool is_positive(Op op, int operand) {
    const char *domain = op_info[op].domain;
    if (domain && !strcmp(domain, "positive")) return true;
    return op == OP_divide && operand == 1;
}

/* "name($0, $1)", with what an operand has to be written in. */
static void call_text(Op op, char *text, size_t room) {
    if (op == OP_not) snprintf(text, room, "not $0");
    if (op == OP_and || op == OP_or) snprintf(text, room, "$0 %s $1", op_info[op].name);
    if (op == OP_not || op == OP_and || op == OP_or) return;
    size_t at = (size_t)snprintf(text, room, "%s(", op_info[op].name);
    for (int i = 0; i < op_info[op].arity; i++)
        at += (size_t)snprintf(text + at, room - at,
                               is_positive(op, i) ? "%s$%d * $%d + 0.5" : "%s$%d", i ? ", " : "", i,
                               i);
    snprintf(text + at, room - at, ")");
}

/* The largest value of the formula over a few places where its operands may lie. */
static double formula_size(Op op, const double *sizes) {
    enum { PLACES = 5 };
    double largest = 0;
    for (int place = 0; place < PLACES * PLACES * PLACES; place++) {
        double operands[OPERAND_LIMIT];
        for (int i = 0, rest = place; i < OPERAND_LIMIT; i++, rest /= PLACES) {
            operands[i] = sizes[i] * ((rest % PLACES) / 2.0 - 1);
            if (is_positive(op, i)) operands[i] = operands[i] * operands[i] + 0.5;
        }
        double value = fabs(
            formula_evaluate(op, &(Scalars){.a = operands[0], .b = operands[1], .c = operands[2]}));
        if (!(value <= largest)) largest = value;
    }
    return largest;
}

static int result_bits(Op op, const Item *item, Generator *generator) {
    int sum = 0, most = 0;
    for (int i = 0; i < item->operand_count; i++) {
        int bits = item_at(generator, item->operands[i])->bits;
        if (!bits) return 0;
        sum += bits;
        if (bits > most) most = bits;
    }
    if (item->shape.element == TYPE_bool) return 1;
    if (op == OP_multiply) return sum;
    if (op == OP_remainder || op == OP_quotient) return sum;
    return op_info[op].cost <= 1 ? most + 1 : 0;
}

static bool pick_operands(Generator *generator, Op op, Item *item) {
    const OpInfo *info = &op_info[op];
    Wish wish = {.takes = info->takes,
                 .any_element = true,
                 .bits = jumps(op) ? JUMP_BITS : 0,
                 .untrained = !info->gradient};
    for (int i = 0; i < info->arity; i++) {
        Wish mine = wish;
        if (op == OP_select && i == 0) mine.takes = TAKES_boolean, mine.any_element = true;
        int index = pick(generator, &mine);
        if (index < 0) return false;
        item->operands[item->operand_count++] = index;
        Shape shape = item_at(generator, index)->shape;
        if (i && !broadcast(&shape, &item->shape, &item->shape)) return false;
        if (!i) item->shape = shape;
        if (op == OP_select && i == 0) continue;
        item->shape.element = wish.element = shape.element;
        wish.any_element = false;
        wish.beside = &item->shape;
    }
    return true;
}

static bool add_elementwise(Generator *generator, Op op) {
    Item item = {0};
    double sizes[OPERAND_LIMIT] = {1, 1, 1};
    if (op == OP_cast || !pick_operands(generator, op, &item)) return false;
    for (int i = 0; i < item.operand_count; i++)
        sizes[i] = item_at(generator, item.operands[i])->size;
    bool divides = op == OP_remainder || op == OP_quotient;
    call_text(op, item.text, sizeof item.text);
    if (divides) snprintf(item.text, sizeof item.text, "%s($0, 3)", op_info[op].name);
    if (divides) item.operand_count = 1, item.shape = item_at(generator, item.operands[0])->shape;
    if (op_info[op].gives == GIVES_boolean) item.shape.element = TYPE_bool;
    item.size = divides ? sizes[0] + 3 : formula_size(op, sizes);
    item.bits = result_bits(op, &item, generator);
    return add_let(generator, item);
}

static bool add_cast(Generator *generator) {
    int index = pick(generator, &(Wish){.any_element = true, .bits = JUMP_BITS});
    if (index < 0) return false;
    const Item *from = item_at(generator, index);
    Item item = *from;
    item.operands[0] = index;
    item.operand_count = 1;
    item.shape.element = from->shape.element == TYPE_f32 ? TYPE_i32 : TYPE_f32;
    snprintf(item.text, sizeof item.text, "cast($0, %s)", element_info[item.shape.element].name);
    return add_let(generator, item);
}

/* Other classes. */

static bool add_reduction(Generator *generator, Op op) {
    const OpInfo *info = &op_info[op];
    int index = pick(generator, &(Wish){.takes = info->takes,
                                        .any_element = true,
                                        .bits = jumps(op) ? EXACT_BITS : 0,
                                        .rank = 1,
                                        .untrained = !info->gradient});
    if (index < 0) return false;
    const Item *from = item_at(generator, index);
    Item item = {.operands = {index}, .operand_count = 1, .shape = from->shape, .bits = from->bits};
    int axis = below(generator, from->shape.rank), count = from->shape.sizes[axis];
    bool keep = chance(generator, 50);
    if (count == BATCH_SIZE) count = BATCH;
    snprintf(item.text, sizeof item.text, "%s($0, axis = %d%s)", info->name, axis,
             keep ? ", keep = true" : "");
    item.shape.sizes[axis] = 1;
    if (!keep) {
        item.shape.rank--;
        memmove(item.shape.sizes + axis, item.shape.sizes + axis + 1,
                sizeof(int) * (size_t)(from->shape.rank - axis - 1));
    }
    if (info->gives == GIVES_index) item.shape.element = TYPE_i32, item.bits = 5;
    item.size = info->gives == GIVES_index ? count : from->size * count;
    if (item.bits) item.bits += bits_for(count);
    return add_let(generator, item);
}

static bool add_matmul(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_floating, .any_element = true, .rank = 2});
    if (index < 0) return false;
    Item from = *item_at(generator, index);
    int depth = from.shape.sizes[from.shape.rank - 1];
    if (depth == BATCH_SIZE) return false;
    int units = 1 + below(generator, 9);
    Shape shape = {.element = TYPE_f32, .rank = 2, .sizes = {depth, units}};
    bool turned = chance(generator, 30);
    if (turned) shape.sizes[0] = units, shape.sizes[1] = depth;
    int weight = add_weight(generator, shape);
    if (weight < 0) return false;
    Item item = {.operands = {index, weight},
                 .operand_count = 2,
                 .shape = from.shape,
                 .size = 2 * depth * from.size,
                 .bits = from.bits ? from.bits + DATA_BITS + bits_for(depth) : 0};
    item.shape.sizes[item.shape.rank - 1] = units;
    snprintf(item.text, sizeof item.text, turned ? "matmul($0, transpose($1))" : "matmul($0, $1)");
    return add_let(generator, item);
}

/* A product over the records: aᵀ·b. */
static bool add_gram(Generator *generator) {
    Wish wish = {.takes = TAKES_floating, .any_element = true, .rank = 2};
    int a = pick(generator, &wish), b = pick(generator, &wish);
    if (a < 0 || b < 0) return false;
    const Item *left = item_at(generator, a), *right = item_at(generator, b);
    if (left->shape.rank != 2 || right->shape.rank != 2) return false;
    if (left->shape.sizes[0] != right->shape.sizes[0]) return false;
    int depth = left->shape.sizes[0] == BATCH_SIZE ? BATCH : left->shape.sizes[0];
    Item item = {.text = "matmul(transpose($0), $1)",
                 .operands = {a, b},
                 .operand_count = 2,
                 .shape = {TYPE_f32, 2, {left->shape.sizes[1], right->shape.sizes[1]}},
                 .size = depth * left->size * right->size};
    if (left->bits && right->bits) item.bits = left->bits + right->bits + bits_for(depth);
    return add_let(generator, item);
}

static Item move_of(Generator *generator, int index) {
    Item item = *item_at(generator, index);
    item.operands[0] = index;
    item.operand_count = 1;
    return item;
}

static bool add_transpose(Generator *generator) {
    int index = pick(generator, &(Wish){.any_element = true, .rank = 2});
    if (index < 0) return false;
    Item item = move_of(generator, index);
    int *sizes = item.shape.sizes + item.shape.rank - 2, first = sizes[0];
    sizes[0] = sizes[1], sizes[1] = first;
    snprintf(item.text, sizeof item.text, "transpose($0)");
    return add_let(generator, item);
}

/* Two neighbouring dimensions become one, or one two. */
static bool add_reshape(Generator *generator) {
    int index = pick(generator, &(Wish){.any_element = true, .rank = 1});
    if (index < 0) return false;
    Item item = move_of(generator, index);
    int *last = &item.shape.sizes[item.shape.rank - 1];
    bool merges = item.shape.rank > 1 && last[0] != BATCH_SIZE && last[-1] != BATCH_SIZE;
    if (merges && chance(generator, 70)) {
        last[-1] *= last[0];
        item.shape.rank--;
    } else if (item.shape.rank < SHAPE_LIMIT && *last != BATCH_SIZE) {
        int part = *last % 2 ? 1 : 2;
        last[1] = *last / part;
        last[0] = part;
        item.shape.rank++;
    } else return false;
    char shape[64];
    shape_text(&item.shape, shape, sizeof shape);
    snprintf(item.text, sizeof item.text, "reshape($0, %s)", shape);
    return add_let(generator, item);
}

static bool add_broadcast(Generator *generator) {
    int index = pick(generator, &(Wish){.any_element = true});
    if (index < 0) return false;
    Item item = move_of(generator, index);
    if (item.shape.rank == SHAPE_LIMIT) return false;
    memmove(item.shape.sizes + 1, item.shape.sizes, sizeof(int) * (size_t)item.shape.rank);
    item.shape.sizes[0] = 2 + below(generator, 4);
    item.shape.rank++;
    for (int i = 1; i < item.shape.rank; i++)
        if (item.shape.sizes[i] == 1) item.shape.sizes[i] = 3;
    char shape[64];
    shape_text(&item.shape, shape, sizeof shape);
    snprintf(item.text, sizeof item.text, "broadcast($0, %s)", shape);
    return add_let(generator, item);
}

/* Rows of a table, chosen by the largest of each row of something else. */
static bool add_gather(Generator *generator) {
    int index =
        pick(generator,
             &(Wish){.takes = TAKES_number, .any_element = true, .bits = EXACT_BITS, .rank = 1});
    if (index < 0) return false;
    Shape from = item_at(generator, index)->shape;
    int count = from.sizes[from.rank - 1];
    if (count == BATCH_SIZE || from.rank == SHAPE_LIMIT) return false;
    int features = 1 + below(generator, 5);
    int table = add_weight(generator, (Shape){TYPE_f32, 2, {count, features}});
    if (table < 0) return false;
    Item item = {.text = "gather($0, argmax($1, axis = -1))",
                 .operands = {table, index},
                 .operand_count = 2,
                 .shape = from,
                 .bits = DATA_BITS,
                 .size = 2};
    item.shape.element = TYPE_f32;
    item.shape.sizes[item.shape.rank - 1] = features;
    return add_let(generator, item);
}

static bool add_generator(Generator *generator) {
    int count = 1 + below(generator, 9);
    bool counts = chance(generator, 60);
    Item item = {.shape = {counts ? TYPE_i32 : TYPE_f32, 1, {count}},
                 .bits = counts ? 4 : 0,
                 .size = counts ? count : 1};
    snprintf(item.text, sizeof item.text, counts ? "iota(%d)" : "random_uniform([%d])", count);
    return add_let(generator, item);
}

/* A step of the program; false when nothing fitted. */
static bool add_step(Generator *generator) {
    switch (below(generator, 24)) {
    case 0:
    case 1: return add_matmul(generator);
    case 2: return add_gram(generator);
    case 3: return add_transpose(generator);
    case 4: return add_reshape(generator);
    case 5: return add_broadcast(generator);
    case 6: return add_gather(generator);
    case 7: return add_generator(generator);
    case 8: return add_cast(generator);
    default: break;
    }
    Op op = (Op)below(generator, OP_COUNT);
    const OpInfo *info = &op_info[op];
    if (info->hidden) return false;
    if (info->class == LOOP_elementwise) return add_elementwise(generator, op);
    if (info->class == LOOP_reduce) return add_reduction(generator, op);
    return false;
}

Sample generate(uint64_t seed) {
    Sample made = {.count = 0};
    Generator generator = {&made, seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du};
    for (int i = 0; i < 8; i++) next(&generator);
    int fields = 1 + below(&generator, 3), share = below(&generator, 1000);
    for (int i = 0; i < fields; i++) {
        Element element = i && chance(&generator, 40) ? TYPE_i32 : TYPE_f32;
        add(&generator,
            field_or_weight(&generator, ITEM_field, random_shape(&generator, element, true)));
    }
    add_weight(&generator, random_shape(&generator, TYPE_f32, false));
    int steps = 2 + (int)(58 * pow(share / 1e3, 5)), before = made.count; /* most are small */
    for (int tries = 0; tries < 20 * steps && made.count < before + steps; tries++)
        add_step(&generator);
    return made;
}

/* Text. */

static char letter(ItemKind kind) {
    return kind == ITEM_field ? 'x' : kind == ITEM_weight ? 'w' : 'v';
}

static void print_let(const Sample *sample, int index, Text *text) {
    const Item *item = &sample->items[index];
    text_format(text, "  let v%d = ", index);
    for (const char *at = item->text; *at; at++) {
        if (*at != '$') {
            text_add_bytes(text, at, 1);
            continue;
        }
        int operand = item->operands[*++at - '0'];
        text_format(text, "%c%d", letter(sample->items[operand].kind), operand);
    }
    text_add(text, "\n");
}

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

/* What is kept, and all that it is made of. */
static void find_needed(const Sample *sample, const bool *kept, bool *needed, bool *used) {
    for (int i = sample->count - 1; i >= 0; i--) {
        const Item *item = &sample->items[i];
        needed[i] |= kept[i] && !used[i];
        for (int j = 0; j < item->operand_count && needed[i]; j++)
            needed[item->operands[j]] = used[item->operands[j]] = true;
    }
}

static void print_fields(const Sample *sample, const bool *needed, const char *form, Text *text) {
    bool first = true;
    for (int i = 0; i < sample->count; i++) {
        if (sample->items[i].kind != ITEM_field || !needed[i]) continue;
        text_add(text, first ? "" : ", ");
        first = false;
        for (const char *at = form; *at; at++) {
            if (*at == '#') text_format(text, "%d", i);
            else if (*at == 'T') print_type(&sample->items[i].shape, true, text);
            else if (*at == 'L') print_type(&sample->items[i].shape, false, text);
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
            text_format(text, "  loss = loss + 0.125 * sum(w%d * w%d)\n", i, i);
        else if (item->kind == ITEM_let && !used[i])
            text_format(text, "  loss = loss + sum(tanh(cast(v%d, f32)))\n", i);
    }
    text_add(text, "  return loss\n");
}

void sample_print(const Sample *sample, const bool *kept, int number, Text *text) {
    bool needed[ITEM_LIMIT] = {[0] = true}, used[ITEM_LIMIT] = {0};
    find_needed(sample, kept, needed, used);
    text_format(text, "pipeline data%d(", number);
    print_fields(sample, needed, "f#: path", text);
    text_add(text, ") -> (");
    print_fields(sample, needed, "x#: T", text);
    text_add(text, ") {\n  return idx(");
    print_fields(sample, needed, "a#: f#", text);
    text_add(text, ") |> map(");
    print_fields(sample, needed, "x#: a# |> : T", text);
    text_format(text, ")\n}\n\nmodel net%d(", number);
    print_fields(sample, needed, "x#: L", text);
    text_add(text, ") -> f32 {\n");
    for (int i = 0; i < sample->count; i++) {
        if (!needed[i] || sample->items[i].kind != ITEM_weight) continue;
        text_format(text, "  weight w%d: ", i);
        print_type(&sample->items[i].shape, false, text);
        text_add(text, " = zeros()\n");
    }
    for (int i = 0; i < sample->count; i++)
        if (needed[i] && sample->items[i].kind == ITEM_let) print_let(sample, i, text);
    print_loss(sample, needed, used, text);
    text_format(text, "}\n\ntrain fit%d {\n  data = data%d(", number, number);
    print_fields(sample, needed, "\"f#\"", text);
    text_format(text, ") |> batch(%d)\n  loss = net%d(", BATCH, number);
    print_fields(sample, needed, "data.x#", text);
    text_add(text, ")\n  optimizer = sgd(0.125)\n}\n\n");
}
