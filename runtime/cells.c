#include "runtime/cells.h"

#include "runtime/holdings.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CELLS = 1024, FIRST_ROOM = 1 << 16 };

static bool grow_cells(Cells *cells) {
    int64_t capacity = cells->capacity ? 2 * cells->capacity : FIRST_CELLS;
    unsigned char *kinds = held_resize(cells->kinds, (size_t)cells->capacity, (size_t)capacity);
    if (kinds) cells->kinds = kinds;
    uint64_t *numbers = held_resize(cells->numbers, (size_t)cells->capacity * sizeof *numbers,
                                    (size_t)capacity * sizeof *numbers);
    if (numbers) cells->numbers = numbers;
    if (!kinds || !numbers) return false;
    cells->capacity = capacity;
    return true;
}

static bool grow_bytes(Cells *cells, uint64_t more) {
    uint64_t wanted, room = cells->room ? cells->room : FIRST_ROOM;
    if (__builtin_add_overflow(cells->size, more, &wanted) || wanted > SIZE_MAX / 2) return false;
    while (room < wanted) room *= 2;
    char *bytes = held_resize(cells->bytes, cells->room, room);
    if (!bytes) return false;
    cells->bytes = bytes;
    cells->room = room;
    return true;
}

static bool add_bytes(Cells *cells, const CellValue *value, uint64_t *place) {
    uint64_t more;
    if (__builtin_add_overflow(value->size, sizeof value->size, &more)) return false;
    if (more > cells->room - cells->size && !grow_bytes(cells, more)) return false;
    char *to = cells->bytes + cells->size;
    memcpy(to, &value->size, sizeof value->size);
    if (value->size) memcpy(to + sizeof value->size, value->bytes, value->size);
    *place = cells->size;
    cells->size += more;
    return true;
}

static bool has_bytes(CellKind kind) {
    return kind == CELL_text || kind == CELL_bytes;
}

bool cells_add(Cells *cells, const CellValue *value) {
    uint64_t number = (uint64_t)value->integer;
    if (cells->count == cells->capacity && !grow_cells(cells)) return false;
    if (value->kind == CELL_real) memcpy(&number, &value->real, sizeof number);
    if (has_bytes(value->kind) && !add_bytes(cells, value, &number)) return false;
    cells->kinds[cells->count] = (unsigned char)value->kind;
    cells->numbers[cells->count++] = number;
    return true;
}

CellValue cells_at(const Cells *cells, int64_t index) {
    uint64_t number = cells->numbers[index];
    CellValue value = {.kind = (CellKind)cells->kinds[index], .integer = (int64_t)number};
    if (value.kind == CELL_real) memcpy(&value.real, &number, sizeof number);
    if (!has_bytes(value.kind)) return value;
    memcpy(&value.size, cells->bytes + number, sizeof value.size);
    value.bytes = cells->bytes + number + sizeof value.size;
    return value;
}

uint64_t cells_size(const Cells *cells) {
    return (uint64_t)cells->count * (sizeof *cells->kinds + sizeof *cells->numbers) + cells->size;
}

void cells_free(Cells *cells) {
    free(cells->kinds);
    free(cells->numbers);
    free(cells->bytes);
    *cells = (Cells){0};
}
