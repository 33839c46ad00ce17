/* Generate: the steps, and how often each is taken. */
#include "tests/fuzz/programs/generate.h"

#include "tests/fuzz/programs/generator.h"

#include <math.h>

typedef struct Maker {
    bool (*make)(Generator *generator);
    int weight;
} Maker;

static const Maker makers[] = {{make_elementwise, 34}, {make_cast, 5},   {make_reduction, 12},
                               {make_statistic, 3},    {make_row, 4},    {make_product, 12},
                               {make_movement, 14},    {make_window, 3}, {make_joined, 4},
                               {make_places, 6},       {make_leaf, 3},   {make_repetition, 2},
                               {make_notation, 5},     {make_loop, 3},   {make_layer, 4}};

static bool make_one(Generator *generator) {
    int sum = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) sum += makers[i].weight;
    int at = below(generator, sum);
    const Maker *maker = makers;
    while (at >= maker->weight) at -= maker++->weight;
    return maker->make(generator);
}

static Element field_element(Generator *generator) {
    static const Element others[] = {TYPE_i32, TYPE_i32, TYPE_f64, TYPE_f16, TYPE_bf16,
                                     TYPE_i64, TYPE_u8,  TYPE_i8,  TYPE_bool};
    return chance(generator, 50) ? TYPE_f32 : others[below(generator, 9)];
}

/* Few sizes, so that shapes meet. */
static int random_size(Generator *generator) {
    static const int sizes[] = {1, 2, 3, 3, 4, 4, 5, 7, 8, 16, 17};
    return sizes[below(generator, 11)];
}

static Item random_field(Generator *generator, Element element) {
    bool whole = element_info[element].class == CLASS_integer;
    Item item = {.kind = ITEM_field, .shape = {element, 1, {BATCH_SIZE}}};
    int rank = below(generator, 4);
    for (int i = 0; i < rank && element_count(&item.shape) < 64; i++) {
        bool bounded = chance(generator, 6);
        item.shape.sizes[item.shape.rank++] = bounded ? BOUND_SIZE : random_size(generator);
    }
    item.rough = is_floating(element) && chance(generator, 25);
    item.bits = element == TYPE_bool ? 1 : item.rough ? 0 : DATA_BITS;
    item.size = element == TYPE_bool ? 1 : whole ? 7 : 2;
    return item;
}

static void add_fields(Generator *generator) {
    int count = 1 + below(generator, 3);
    for (int i = 0; i < count; i++) {
        Item item = random_field(generator, i ? field_element(generator) : TYPE_f32);
        if (!i) item.rough = false, item.bits = DATA_BITS;
        generator->made->items[generator->made->count++] = item;
    }
}

Sample generate(uint64_t seed) {
    Sample made = {.count = 0};
    Generator generator = {&made, seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du};
    for (int i = 0; i < 8; i++) next_bits(&generator);
    int share = below(&generator, 1000);
    add_fields(&generator);
    Shape shape = {TYPE_f32, below(&generator, 3), {0}};
    for (int i = 0; i < shape.rank; i++) shape.sizes[i] = random_size(&generator);
    add_weight(&generator, shape);
    int steps = 2 + (int)(58 * pow(share / 1e3, 6)), before = made.count; /* most are small */
    for (int tries = 0; tries < 20 * steps && made.count < before + steps; tries++)
        make_one(&generator);
    return made;
}
