/* Boxes: of tensors in global memory, which come to shared memory while threads go on, as the PTX
 * ISA says under "Tensors" and "Swizzling modes". What a box holds is read when the copy begins; it
 * lands, in any order, when threads wait, and until then nonsense is there. Boxes have 128 bytes of
 * the first dimension next to each other, whose groups of 16 change places by the address. */
#include "runtime/device/simulated_launch.h"

#include "runtime/device/launch.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 128, GROUP = 16, MARK = 0x746d6170 /* of a map that is one */ };

typedef struct Map {
    FlowSimulatedTensor tensor;
    uint32_t mark;
} Map;

_Static_assert(sizeof(Map) <= sizeof(FlowTensorMap), "as large as the driver's");

/* One that is under way. */
typedef struct Box {
    uint32_t to;
    int gate;
    size_t size;
    char *bytes;
} Box;

static Launch *launch_now;
static struct {
    Box *items;
    int count, room;
} under_way;

/* Maps. */

static bool is_mapped_so(const FlowSimulatedTensor *tensor) {
    const int64_t wide = (int64_t)tensor->box[0] * tensor->element;
    bool good = tensor->rank >= 1 && tensor->rank <= 5 && tensor->address % 16 == 0 &&
                wide % 16 == 0 && wide <= WIDE;
    for (int i = 0; i < tensor->rank; i++)
        good = good && tensor->sizes[i] && tensor->sizes[i] <= (uint64_t)1 << 32 &&
               tensor->box[i] >= 1 && tensor->box[i] <= 256;
    for (int i = 0; i + 1 < tensor->rank; i++)
        good = good && tensor->strides[i] % 16 == 0 && tensor->strides[i] < (uint64_t)1 << 40;
    for (int i = 0; i + 2 < tensor->rank; i++) /* each holds those before it, as CUDA's text says */
        good = good && tensor->strides[i] <= tensor->strides[i + 1];
    return good;
}

bool flow_simulated_map(FlowTensorMap *map, const FlowSimulatedTensor *tensor) {
    const Map made = {*tensor, MARK};
    if (!is_mapped_so(tensor) || (uintptr_t)map % 64) return false;
    memset(map, 0, sizeof *map);
    memcpy(map, &made, sizeof made);
    return true;
}

/* Reading. */

/* Of the box that begins at `at`, element `index` in all: is it inside? Where it lies. */
static bool find_element(const FlowSimulatedTensor *tensor, const int32_t *at, int64_t index,
                         uintptr_t *address) {
    bool inside = true;
    *address = tensor->address;
    for (int i = 0; i < tensor->rank; i++) {
        const int64_t place = at[i] + index % tensor->box[i];
        const int64_t step = i ? (int64_t)tensor->strides[i - 1] : tensor->element;
        inside = inside && place >= 0 && place < (int64_t)tensor->sizes[i];
        *address += (uintptr_t)(place * step);
        index /= tensor->box[i];
    }
    return inside;
}

static void read_box(const FlowSimulatedTensor *tensor, const int32_t *at, char *bytes,
                     int64_t count, int line) {
    const size_t size = (size_t)tensor->element;
    uintptr_t address;
    for (int64_t i = 0; i < count; i++)
        if (find_element(tensor, at, i, &address))
            memcpy(bytes + (size_t)i * size,
                   launch_now->seen.global(FLOW_ACCESS_read, (void *)address, 0, size, NULL, line),
                   size);
}

static Box *new_box(size_t size, int line) {
    if (under_way.count == under_way.room) {
        const int room = under_way.room ? 2 * under_way.room : 16;
        Box *items = realloc(under_way.items, (size_t)room * sizeof *items);
        if (!items) launch_fail(launch_now, "there is no memory for the box of line %d", line);
        under_way.items = items;
        under_way.room = room;
    }
    Box *box = &under_way.items[under_way.count];
    *box = (Box){.size = size, .bytes = calloc(size, 1)};
    if (!box->bytes) launch_fail(launch_now, "there is no memory for the box of line %d", line);
    under_way.count++;
    return box;
}

/* Groups of 16 bytes change places within their 128. */
static uint32_t swizzled(uint32_t address) {
    return address ^ (address >> 7 & 7) << 4;
}

static void bring(const void *to, const void *gate, const FlowTensorMap *map, const int32_t *at,
                  size_t rank, int line) {
    Map made;
    memcpy(&made, map, sizeof made);
    const FlowSimulatedTensor *tensor = &made.tensor;
    const uint32_t address = launch_shared_address(launch_now, to, line);
    const int number = launch_gate_at(gate, true, line);
    int64_t count = 1;
    if (made.mark != MARK || tensor->rank != (int32_t)rank)
        launch_fail(launch_now, "a box at line %d is of no tensor of %zu dimensions", line, rank);
    if (address % WIDE || tensor->box[0] * tensor->element != WIDE)
        launch_fail(launch_now, "a box at line %d lies at no multiple of 128 bytes", line);
    for (int i = 0; i < tensor->rank; i++) count *= tensor->box[i];
    Box *box = new_box((size_t)(count * tensor->element), line);
    box->to = address;
    box->gate = number;
    read_box(tensor, at, box->bytes, count, line);
    const Mark mark = launch_next_mark(number);
    for (uint32_t i = 0; i < box->size; i += GROUP)
        launch_begin_arrival(launch_now, swizzled(address + i), GROUP, mark, line);
}

/* Landing. */

bool launch_land_box(Launch *launch, bool *any) {
    *any = under_way.count > 0;
    if (!*any) return true;
    const int i = (int)launch_draw(launch, (uint64_t)under_way.count);
    const Box box = under_way.items[i];
    under_way.items[i] = under_way.items[--under_way.count];
    for (uint32_t at = 0; at < box.size; at += GROUP)
        launch_end_arrival(launch, swizzled(box.to + at), box.bytes + at, GROUP);
    free(box.bytes);
    return launch_landed(launch, box.gate, (int64_t)box.size);
}

void launch_free_boxes(void) {
    for (int i = 0; i < under_way.count; i++) free(under_way.items[i].bytes);
    under_way.count = 0;
}

void launch_set_boxes(Launch *launch) {
    launch_now = launch;
    launch->seen.bring = bring;
}
