/* List: items of a list or tuple by number. */
#include "compiler/lower/lowering.h"

#include <math.h>

/* Of a list with those in it; of all lists together, for joined lists are copies. */
enum { ITEM_LIMIT = 1 << 18, LIST_DEPTH_LIMIT = 64, LISTED_LIMIT = 1 << 20 };

/* Items that are left of the limit. */
static int64_t count_items(const Value *value, int depth, int64_t left) {
    if (value->kind != VALUE_items) return left - 1;
    if (depth == LIST_DEPTH_LIMIT) return -1;
    for (size_t i = 0; i < value->items.count && left >= 0; i++)
        left = count_items(&value->items.values[i], depth + 1, left);
    return left;
}

bool is_small_list(const Context *context, const Value *list) {
    Lowering *lowering = context->lowering;
    bool small = count_items(list, 0, ITEM_LIMIT) >= 0;
    if (lowering->exhausted) return false;
    lowering->listed += list->items.count;
    if (small && lowering->listed <= LISTED_LIMIT) return true;
    lowering->exhausted |= small;
    report(context, E0217, list->range,
           small ? "all lists of the program together have at most 2^20 items"
                 : "a list has at most 2^18 items, and lists in it 64 deep");
    return false;
}

/* A place from 0 to count; from the end when it is negative. */
static bool to_place(const Context *context, const Expression *expression, size_t count,
                     size_t *place) {
    double number;
    Context fixing = *context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, expression);
    if (!to_number(&fixing, &value, expression->range, &number)) return false;
    double from_start = number < 0 ? number + (double)count : number;
    if (number == floor(number) && from_start >= 0 && from_start <= (double)count) {
        *place = (size_t)from_start;
        return true;
    }
    report(context, E0211, expression->range, "%.15g is no place in a list of %zu", number, count);
    return false;
}

static Value slice(const Context *context, const Expression *part, const Value *list) {
    size_t from = 0, to = list->items.count;
    if (part->left && !to_place(context, part->left, list->items.count, &from)) return value_error;
    if (part->right && !to_place(context, part->right, list->items.count, &to)) return value_error;
    Items items = items_new(context->lowering->arena, to > from ? to - from : 0);
    for (size_t i = 0; i < items.count; i++) {
        items.names[i] = list->items.names ? list->items.names[from + i] : NULL;
        items.values[i] = list->items.values[from + i];
    }
    if (!list->items.names) items.names = NULL;
    return (Value){.kind = VALUE_items, .range = part->range, .items = items};
}

Value lower_item(const Context *context, const Expression *expression, const Value *list) {
    const Expression *part = expression->items.items[0];
    size_t place, count = list->items.count;
    if (expression->items.count != 1 || part->kind == EXPRESSION_ellipsis) {
        report(context, E0208, expression->range, "a list has one dimension");
        return value_error;
    }
    if (part->kind == EXPRESSION_slice) return slice(context, part, list);
    if (!to_place(context, part, count, &place)) return value_error;
    if (place < count) return list->items.values[place];
    Diagnostic *d =
        report(context, E0211, part->range, "there is no item %zu: the list has %zu", place, count);
    diagnostic_note(d, list->range, "this list");
    if (count) diagnostic_help(d, "items count from 0, or from the last, which is -1");
    return value_error;
}
