#include "runtime/decode/crop.h"

#include "runtime/mix.h"
#include "runtime/type.h"

#include <math.h>

enum { ATTEMPTS = 10 }; /* of a random box to fit into the image */

/* Part of the axis as it is. */
static Axis part_of(int64_t size, int64_t first, int64_t count) {
    return (Axis){.from = (double)size, .to = size, .first = first, .count = count};
}

/* `from` places from `offset` on become `to`. */
static Axis resized(int64_t offset, int64_t from, int64_t to) {
    return (Axis){.from = (double)from, .offset = offset, .to = to, .count = to};
}

static FlowStatus other_size(const Measures *measures, const FlowType *type, const char *than) {
    FlowType found = *type;
    found.sizes[0] = measures->height;
    found.sizes[1] = measures->width;
    return flow_failure(FLOW_EXIT_data, "is %s, the program expects %s%s", type_name(&found).text,
                        than, type_name(type).text);
}

/* Halves are rounded to the even number. */
static int64_t middle(int64_t size, int64_t count) {
    return (int64_t)rint((double)(size - count) / 2);
}

static int64_t longer(int64_t longer, int64_t shorter, int64_t wanted) {
    return (int64_t)((double)wanted * (double)longer / (double)shorter);
}

static FlowStatus choose_short(const Measures *measures, const FlowType *type, int64_t side,
                               Crop *crop) {
    int64_t height = measures->height, width = measures->width;
    int64_t rows = height <= width ? side : longer(height, width, side);
    int64_t columns = width <= height ? side : longer(width, height, side);
    if (rows < type->sizes[0] || columns < type->sizes[1])
        return flow_failure(FLOW_EXIT_data, "is resized to %lld x %lld, less than %s",
                            (long long)rows, (long long)columns, type_name(type).text);
    crop->resized = true;
    crop->down = (Axis){(double)height, 0, rows, middle(rows, type->sizes[0]), type->sizes[0]};
    crop->across =
        (Axis){(double)width, 0, columns, middle(columns, type->sizes[1]), type->sizes[1]};
    return flow_ok;
}

static FlowStatus choose_place(const Measures *measures, const FlowType *type, int64_t top,
                               int64_t left, Crop *crop) {
    int64_t rows = type->sizes[0], columns = type->sizes[1];
    if (top < 0 || left < 0 || top > measures->height - rows || left > measures->width - columns)
        return other_size(measures, type, "at least ");
    crop->down = part_of(measures->height, top, rows);
    crop->across = part_of(measures->width, left, columns);
    return flow_ok;
}

/* The next number in 0..1. */
static double draw(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15;
    return (double)(mix(*state) >> 11) * 0x1p-53;
}

typedef struct Box {
    int64_t top, left, height, width;
} Box;

/* As large as it can be in the middle, where no random one has fitted. */
static Box widest(const Measures *measures, double low, double high) {
    double height = (double)measures->height, width = (double)measures->width;
    Box box = {.height = measures->height, .width = measures->width};
    if (width / height < low) box.height = (int64_t)rint(width / low);
    else if (width / height > high) box.width = (int64_t)rint(height * high);
    if (box.height < 1) box.height = 1;
    if (box.width < 1) box.width = 1;
    box.top = (measures->height - box.height) / 2;
    box.left = (measures->width - box.width) / 2;
    return box;
}

/* Szegedy et al., "Going deeper with convolutions", 2015: its area and the logarithm of its ratio
 * are uniform, then its place. */
static Box random_box(const FlowImage *image, const Measures *measures, uint64_t key) {
    const double *numbers = image->numbers;
    double area = (double)measures->height * (double)measures->width;
    uint64_t state = mix(key ^ mix((uint64_t)image->stream));
    for (int i = 0; i < ATTEMPTS; i++) {
        double part = area * (numbers[0] + (numbers[1] - numbers[0]) * draw(&state));
        double low = log(numbers[2]), high = log(numbers[3]);
        double ratio = exp(low + (high - low) * draw(&state));
        Box box = {.height = (int64_t)rint(sqrt(part / ratio)),
                   .width = (int64_t)rint(sqrt(part * ratio))};
        if (box.height < 1 || box.width < 1 || box.height > measures->height ||
            box.width > measures->width)
            continue;
        box.top = (int64_t)(draw(&state) * (double)(measures->height - box.height + 1));
        box.left = (int64_t)(draw(&state) * (double)(measures->width - box.width + 1));
        return box;
    }
    return widest(measures, numbers[2], numbers[3]);
}

static void choose_random(const FlowImage *image, const Measures *measures, const FlowType *type,
                          uint64_t key, Crop *crop) {
    Box box = random_box(image, measures, key);
    crop->resized = true;
    crop->down = resized(box.top, box.height, type->sizes[0]);
    crop->across = resized(box.left, box.width, type->sizes[1]);
}

/* While twice of what is needed is left in both directions. A box is then where it was to within a
 * pixel. */
static void choose_halvings(const Measures *measures, Crop *crop) {
    Axis *axes[] = {&crop->down, &crop->across};
    while (measures->halves && crop->halvings < HALVINGS_LIMIT) {
        for (int i = 0; i < 2; i++)
            if (axes[i]->from < 4 * (double)axes[i]->to) return;
        for (int i = 0; i < 2; i++) {
            axes[i]->from /= 2;
            axes[i]->offset /= 2;
        }
        crop->halvings++;
    }
}

FlowStatus crop_choose(const FlowImage *image, const Measures *measures, const FlowType *type,
                       uint64_t key, Crop *crop) {
    FlowStatus status = flow_ok;
    int64_t rows = type->sizes[0], columns = type->sizes[1];
    *crop = (Crop){.down = part_of(measures->height, 0, measures->height),
                   .across = part_of(measures->width, 0, measures->width)};
    bool same = measures->height == rows && measures->width == columns;
    switch (image->fit) {
    case FLOW_FIT_exact: return same ? flow_ok : other_size(measures, type, "");
    case FLOW_FIT_whole:
        if (same) return flow_ok;
        crop->resized = true;
        crop->down = resized(0, measures->height, rows);
        crop->across = resized(0, measures->width, columns);
        break;
    case FLOW_FIT_short:
        status = choose_short(measures, type, (int64_t)image->numbers[0], crop);
        break;
    case FLOW_FIT_middle:
        status = choose_place(measures, type, middle(measures->height, rows),
                              middle(measures->width, columns), crop);
        break;
    case FLOW_FIT_place:
        status = choose_place(measures, type, (int64_t)image->numbers[0],
                              (int64_t)image->numbers[1], crop);
        break;
    case FLOW_FIT_random: choose_random(image, measures, type, key, crop); break;
    }
    if (!status.exit && image->approximate && crop->resized) choose_halvings(measures, crop);
    return status;
}
