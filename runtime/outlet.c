/* Outlet. */
#include "runtime/outlet.h"

#include "runtime/path.h"
#include "runtime/type.h"

#include <pthread.h>
#include <stdlib.h>

static void name_field(FlowSinkField *field, const FlowOutlet *form, const OutletPlace *place) {
    const Places places = settings_places(place->settings);
    field->path = path_said(&places, field->path, field->option);
    field->type = form->results ? type_at(&place->function->results[field->index].type,
                                          place->settings->sizes)
                                : place->section->outputs[field->index].type;
    if (form->results)
        field->values = place->memory + place->function->results[field->index].offset;
}

FlowStatus outlet_open(Outlet *outlet, const FlowOutlet *form, const OutletPlace *place) {
    const Places places = settings_places(place->settings);
    outlet->form = form;
    outlet->arguments = form->arguments;
    outlet->arguments.path = path_said(&places, form->arguments.path, form->arguments.option);
    outlet->fields = calloc((size_t)form->field_count + 1, sizeof *outlet->fields);
    if (!outlet->fields) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    for (int i = 0; i < form->field_count; i++) {
        outlet->fields[i] = form->fields[i];
        name_field(&outlet->fields[i], form, place);
    }
    return form->sink->open(&outlet->arguments, outlet->fields, form->field_count, place->records,
                            &outlet->writer);
}

/* The records that all threads of the team write. */
typedef struct Sharing {
    const Outlet *outlet;
    int64_t first, records;
    pthread_mutex_t lock;
    FlowStatus status; /* the first failure */
} Sharing;

static void write_share(void *argument, int thread, int threads) {
    Sharing *sharing = argument;
    const Outlet *outlet = sharing->outlet;
    FlowStatus status = outlet->form->sink->share(outlet->writer, sharing->first, sharing->records,
                                                  thread, threads);
    if (!status.exit) return;
    pthread_mutex_lock(&sharing->lock);
    if (!sharing->status.exit) sharing->status = status;
    pthread_mutex_unlock(&sharing->lock);
}

FlowStatus outlet_write(Outlet *outlet, void *const *arrays, int64_t first, int64_t records,
                        Team *team) {
    const FlowSink *sink = outlet->form->sink;
    for (int i = 0; i < outlet->form->field_count && !outlet->form->results; i++)
        outlet->fields[i].values = arrays[outlet->fields[i].index];
    if (!sink->share) return sink->write(outlet->writer, first, records);
    Sharing sharing = {outlet, first, records, PTHREAD_MUTEX_INITIALIZER, flow_ok};
    team_run(team, write_share, &sharing);
    return sharing.status;
}

FlowStatus outlet_close(Outlet *outlet, FlowEnd end) {
    FlowStatus status = outlet->writer ? outlet->form->sink->close(outlet->writer, end) : flow_ok;
    free(outlet->fields);
    *outlet = (Outlet){0};
    return status;
}
