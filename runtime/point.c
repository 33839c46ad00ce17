/* Point: elements are computed one at a time, from their operands' elements, down to what lies in
 * memory. Each value remembers the last of its elements: what many elements of a row need is
 * computed once. */
#include "runtime/point.h"

#include <math.h>
#include <stdlib.h>

typedef struct Memory {
    int64_t index; /* of the element, or -1 */
    double number;
} Memory;

typedef struct Points {
    const Scene *scene;
    FlowType *types; /* of each value, with every size known */
    Memory *memories;
} Points;

bool has_fault(double number, Fault fault) {
    return fault == FAULT_nan ? isnan(number) : isinf(number);
}

static int64_t known_size(const Scene *scene, int64_t size) {
    return size < 0 ? scene->program->sizes[~size](scene->frame->batch, scene->frame->sizes) : size;
}

static FlowType known_type(const Scene *scene, const FlowType *type) {
    FlowType known = *type;
    for (int i = 0; i < type->rank; i++) known.sizes[i] = known_size(scene, type->sizes[i]);
    return known;
}

static int64_t count_of(const FlowType *type) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->sizes[i];
    return count;
}

int64_t value_count(const Scene *scene, int value) {
    FlowType type = known_type(scene, &scene->trace->values[value].made->type);
    return count_of(&type);
}

static double rounded(FlowElement element, double number) {
    int64_t cell;
    switch (element) {
    case FLOW_bool: return number != 0;
    case FLOW_u8:
    case FLOW_i8:
    case FLOW_i32:
    case FLOW_i64: return trunc(number);
    default: number_write(element, number, &cell); return number_read(element, &cell);
    }
}

/* Places. */

/* Where the element at `index` of `large` lies in `small`, whose sizes are those of large or 1,
 * aligned at the end. */
static int64_t place_in(const FlowType *small, const FlowType *large, int64_t index) {
    int64_t place = 0, stride = 1;
    for (int i = 1; i <= small->rank; i++) {
        int64_t size = small->sizes[small->rank - i], whole = large->sizes[large->rank - i];
        if (size != 1) place += index % whole * stride;
        stride *= size;
        index /= whole;
    }
    return place;
}

/* Element n of those of `from` that are reduced along the axes to element `index`. */
static int64_t reduced_place(const FlowType *from, uint32_t axes, int64_t index, int64_t n) {
    int64_t place = 0, stride = 1;
    for (int i = from->rank - 1; i >= 0; i--) {
        int64_t *counter = axes >> i & 1 ? &n : &index, size = from->sizes[i];
        place += *counter % size * stride;
        *counter /= size;
        stride *= size;
    }
    return place;
}

static int64_t view_coordinate(const Scene *scene, const FlowCoordinate *coordinate, int64_t size,
                               const FlowType *type, const int64_t *places) {
    int64_t sum = coordinate->start;
    if (coordinate->size) sum += known_size(scene, ~(int64_t)(coordinate->size - 1));
    for (int i = 0; i < type->rank; i++) sum += coordinate->factors[i] * places[i];
    if (sum % coordinate->divisor) return -1;
    sum /= coordinate->divisor;
    return sum >= 0 && sum < size ? sum : -1;
}

/* The element of a view's operand, or -1: it lies outside. */
static int64_t viewed_place(const Points *points, const FlowValue *value, const FlowType *type,
                            int64_t index) {
    const FlowType *from = &points->types[value->operands[0]];
    int64_t places[FLOW_RANK_LIMIT] = {0}, place = 0;
    for (int i = type->rank - 1; i >= 0; index /= type->sizes[i--])
        places[i] = index % type->sizes[i];
    for (int i = 0; i < from->rank; i++) {
        int64_t at = view_coordinate(points->scene, &value->made->coordinates[i], from->sizes[i],
                                     type, places);
        if (at < 0) return -1;
        place = place * from->sizes[i] + at;
    }
    return place;
}

static double number_at(const Points *points, Point point);

static int64_t gathered_place(const Points *points, const FlowValue *value, int64_t index) {
    const FlowType *from = &points->types[value->operands[0]];
    int64_t rest = count_of(from) / from->sizes[0];
    double row = number_at(points, (Point){value->operands[1], index / rest});
    return row >= 0 && row < (double)from->sizes[0] ? (int64_t)row * rest + index % rest : -1;
}

/* What an element is made of. */

static const FlowType *first_type(const Points *points, const FlowValue *value) {
    return value->operands[0] < 0 ? NULL : &points->types[value->operands[0]];
}

static int64_t last_size(const FlowType *type) {
    return type->rank ? type->sizes[type->rank - 1] : 1;
}

static int64_t read_count(const Points *points, Point point) {
    const FlowValue *value = &points->scene->trace->values[point.value];
    const FlowType *first = first_type(points, value);
    switch (value->made->making) {
    case FLOW_MADE_elsewhere:
    case FLOW_MADE_constant: return 0;
    case FLOW_MADE_elementwise: return 3;
    case FLOW_MADE_reduce:
    case FLOW_MADE_best: return count_of(first) / count_of(&points->types[point.value]);
    case FLOW_MADE_product: return 2 * last_size(first);
    case FLOW_MADE_row: return last_size(first);
    case FLOW_MADE_scatter: return count_of(&points->types[value->operands[1]]);
    default: return 1;
    }
}

/* Of a·b: the elements of a and b in turn. */
static Point product_read(const Points *points, const FlowValue *value, Point point, int64_t n) {
    const FlowType *type = &points->types[point.value], *a = &points->types[value->operands[0]];
    const FlowType *b = &points->types[value->operands[1]];
    int64_t rows = type->sizes[type->rank - 2], columns = last_size(type), depth = last_size(a);
    int64_t matrix = b->rank > 2 ? point.index / (rows * columns) : 0;
    if (n % 2 == 0) return (Point){value->operands[0], point.index / columns * depth + n / 2};
    return (Point){value->operands[1], (matrix * depth + n / 2) * columns + point.index % columns};
}

/* Read n of them; its index is -1 when it is none. */
static Point read_at(const Points *points, Point point, int64_t n) {
    const FlowValue *value = &points->scene->trace->values[point.value];
    const FlowType *type = &points->types[point.value];
    const FlowType *first = first_type(points, value);
    Point read = {value->operands[0], -1};
    switch (value->made->making) {
    case FLOW_MADE_elementwise:
        read.value = value->operands[n];
        if (read.value >= 0) read.index = place_in(&points->types[read.value], type, point.index);
        break;
    case FLOW_MADE_choice: {
        int64_t at = place_in(first, type, point.index);
        read.value = value->operands[number_at(points, (Point){value->operands[0], at}) ? 1 : 2];
        read.index = place_in(&points->types[read.value], type, point.index);
        break;
    }
    case FLOW_MADE_generate: read.index = read.value < 0 ? -1 : 0; break;
    case FLOW_MADE_reduce:
    case FLOW_MADE_best:
        read.index = reduced_place(first, value->made->axes, point.index, n);
        break;
    case FLOW_MADE_product: return product_read(points, value, point, n);
    case FLOW_MADE_same: read.index = point.index; break;
    case FLOW_MADE_broadcast: read.index = place_in(first, type, point.index); break;
    case FLOW_MADE_view: read.index = viewed_place(points, value, type, point.index); break;
    case FLOW_MADE_gather: read.index = gathered_place(points, value, point.index); break;
    case FLOW_MADE_row: read.index = point.index - point.index % last_size(type) + n; break;
    case FLOW_MADE_scatter: read = (Point){value->operands[1], n}; break;
    default: break;
    }
    return read;
}

/* Numbers. */

static double computed(const Points *points, const FlowValue *value, const double *operands,
                       double y, int64_t index) {
    return points->scene->trace->compute(value->made->operation, operands[0], operands[1],
                                         operands[2], y, value->made->stream, index);
}

/* Rounded at each step, as kernels do. */
static double reduced(const Points *points, const FlowValue *value, Point point) {
    double y = value->made->number;
    for (int64_t n = 0; n < read_count(points, point); n++) {
        double operands[3] = {number_at(points, read_at(points, point, n))};
        y = rounded(value->made->type.element, computed(points, value, operands, y, 0));
    }
    return y;
}

static double best_index(const Points *points, const FlowValue *value, Point point) {
    double best = 0, index = 0;
    for (int64_t n = 0; n < read_count(points, point); n++) {
        double operands[3] = {number_at(points, read_at(points, point, n))};
        if (n && !computed(points, value, operands, best, 0)) continue;
        best = operands[0];
        index = (double)n;
    }
    return index;
}

/* Kernels sum products in f32 at least. */
static double product(const Points *points, const FlowValue *value, Point point) {
    FlowElement element = value->made->type.element == FLOW_f64 ? FLOW_f64 : FLOW_f32;
    double y = 0;
    for (int64_t n = 0; n < read_count(points, point); n += 2)
        y = rounded(element, y + number_at(points, read_at(points, point, n)) *
                                     number_at(points, read_at(points, point, n + 1)));
    return y;
}

static double elementwise(const Points *points, const FlowValue *value, Point point) {
    double operands[3] = {0};
    for (int n = 0; n < 3; n++) {
        Point read = read_at(points, point, n);
        if (read.index >= 0) operands[n] = number_at(points, read);
    }
    return computed(points, value, operands, 0, point.index);
}

static double generated(const Points *points, const FlowValue *value, Point point) {
    Point seed = read_at(points, point, 0);
    double operands[3] = {seed.index < 0 ? 0 : number_at(points, seed)};
    return computed(points, value, operands, 0, point.index);
}

static double made_number(const Points *points, Point point) {
    const FlowValue *value = &points->scene->trace->values[point.value];
    switch (value->made->making) {
    case FLOW_MADE_constant: return value->made->number;
    case FLOW_MADE_elementwise: return elementwise(points, value, point);
    case FLOW_MADE_generate: return generated(points, value, point);
    case FLOW_MADE_reduce: return reduced(points, value, point);
    case FLOW_MADE_best: return best_index(points, value, point);
    case FLOW_MADE_product: return product(points, value, point);
    case FLOW_MADE_choice:
    case FLOW_MADE_same:
    case FLOW_MADE_broadcast:
    case FLOW_MADE_view:
    case FLOW_MADE_gather: {
        Point read = read_at(points, point, 0);
        return read.index < 0 ? value->made->number : number_at(points, read);
    }
    default: return 0;
    }
}

static bool is_in_memory(const Scene *scene, const FlowValue *value) {
    return value->place != FLOW_NOWHERE && value->call != scene->call;
}

static double number_in_memory(const Scene *scene, const FlowValue *value, int64_t index) {
    const char *bytes = value->place < 0 ? scene->frame->inputs[~value->place]
                                         : scene->frame->memory + value->place;
    FlowElement element = value->made->type.element;
    return number_read(element, bytes + (size_t)index * flow_element_size(element));
}

static double number_at(const Points *points, Point point) {
    const FlowValue *value = &points->scene->trace->values[point.value];
    Memory *memory = &points->memories[point.value];
    if (is_in_memory(points->scene, value))
        return number_in_memory(points->scene, value, point.index);
    if (memory->index == point.index) return memory->number;
    double number = rounded(value->made->type.element, made_number(points, point));
    *memory = (Memory){point.index, number};
    return number;
}

/* Origins. */

/* The first of what it is made of that has the fault; its index is -1 when none has. */
static Point faulty_read(const Points *points, Point point, Fault fault) {
    for (int64_t n = 0; n < read_count(points, point); n++) {
        Point read = read_at(points, point, n);
        if (read.index >= 0 && has_fault(number_at(points, read), fault)) return read;
    }
    return (Point){0, -1};
}

static Origin follow(const Points *points, Point point, Fault fault) {
    for (;;) {
        const FlowValue *value = &points->scene->trace->values[point.value];
        if (is_in_memory(points->scene, value)) return (Origin){ORIGIN_read, point};
        if (value->made->making == FLOW_MADE_constant) return (Origin){ORIGIN_meant, point};
        Point read = faulty_read(points, point, fault);
        if (read.index < 0) return (Origin){ORIGIN_made, point};
        point = read;
    }
}

static bool can_compute(const FlowValue *value) {
    return value->made->making != FLOW_MADE_elsewhere && value->made->making != FLOW_MADE_row &&
           value->made->making != FLOW_MADE_scatter;
}

static Origin origin_of(const Points *points, Point point, Fault fault, Origin *infinity) {
    const FlowValue *value = &points->scene->trace->values[point.value];
    *infinity = (Origin){ORIGIN_unknown, point};
    if (can_compute(value)) {
        const double number = number_at(points, point);
        if (isfinite(number)) return *infinity;
        /* A product that is added unrounded may be no infinity, the sum with one then no NaN. */
        fault = isnan(number) ? FAULT_nan : FAULT_infinity;
    }
    Origin origin = follow(points, point, fault);
    if (origin.kind != ORIGIN_made || fault != FAULT_nan) return origin;
    Point read = faulty_read(points, origin.point, FAULT_infinity);
    if (read.index >= 0) *infinity = follow(points, read, FAULT_infinity);
    return origin;
}

Origin find_origin(const Scene *scene, Point point, Fault fault, Origin *infinity) {
    size_t count = (size_t)scene->trace->value_count;
    Points points = {scene, calloc(count, sizeof *points.types),
                     calloc(count, sizeof *points.memories)};
    Origin origin = *infinity = (Origin){ORIGIN_unknown, point};
    for (size_t i = 0; i < count && points.types && points.memories; i++) {
        points.types[i] = known_type(scene, &scene->trace->values[i].made->type);
        points.memories[i].index = -1;
    }
    if (points.types && points.memories) origin = origin_of(&points, point, fault, infinity);
    free(points.types);
    free(points.memories);
    return origin;
}
