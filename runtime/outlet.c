#include "runtime/outlet.h"

#include "runtime/places.h"
#include "runtime/type.h"

#include <pthread.h>
#include <stdlib.h>

static PathOwner owner(const OutletPlace *place) {
    return pipeline_owner(place->settings->run->pipeline);
}

static FlowStatus name_field(FlowSinkField *field, const FlowOutlet *form,
                             const OutletPlace *place) {
    const Places places = settings_places(place->settings);
    field->type = form->results ? type_at(&place->function->results[field->index].type,
                                          place->settings->sizes)
                                : place->section->outputs[field->index].type;
    if (form->results)
        field->values = place->memory + place->function->results[field->index].offset;
    return path_to_write(&places, field->path, field->option, owner(place), &field->path);
}

FlowStatus outlet_open(Outlet *outlet, const FlowOutlet *form, const OutletPlace *place) {
    const Places places = settings_places(place->settings);
    outlet->form = form;
    outlet->arguments = form->arguments;
    FlowStatus status = path_to_write(&places, form->arguments.path, form->arguments.option,
                                      owner(place), &outlet->arguments.path);
    outlet->beat.name = place->settings->run->name;
    outlet->beat.place = outlet->arguments.path ? outlet->arguments.path : "standard output";
    beat_add(&outlet->beat);
    outlet->fields = calloc((size_t)form->field_count + 1, sizeof *outlet->fields);
    if (!outlet->fields) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    for (int i = 0; i < form->field_count && !status.exit; i++) {
        outlet->fields[i] = form->fields[i];
        status = name_field(&outlet->fields[i], form, place);
    }
    if (status.exit) return status;
    beat_begin(&outlet->beat, "opens what it writes to");
    status = form->sink->open(&outlet->arguments, outlet->fields, form->field_count, place->records,
                              &outlet->writer);
    beat_end(&outlet->beat);
    return status;
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

static FlowStatus write_all(const Outlet *outlet, int64_t first, int64_t records, Team *team) {
    const FlowSink *sink = outlet->form->sink;
    if (!sink->share) return sink->write(outlet->writer, first, records);
    Sharing sharing = {outlet, first, records, PTHREAD_MUTEX_INITIALIZER, flow_ok};
    team_run(team, write_share, &sharing);
    return sharing.status;
}

FlowStatus outlet_write(Outlet *outlet, void *const *arrays, int64_t first, int64_t records,
                        Team *team) {
    for (int i = 0; i < outlet->form->field_count && !outlet->form->results; i++)
        outlet->fields[i].values = arrays[outlet->fields[i].index];
    beat_begin(&outlet->beat, "writes what was made");
    FlowStatus status = write_all(outlet, first, records, team);
    beat_end(&outlet->beat);
    return status;
}

FlowStatus outlet_close(Outlet *outlet, FlowEnd end) {
    beat_begin(&outlet->beat, "ends what it wrote");
    FlowStatus status = outlet->writer ? outlet->form->sink->close(outlet->writer, end) : flow_ok;
    beat_end(&outlet->beat);
    beat_remove(&outlet->beat);
    free(outlet->fields);
    *outlet = (Outlet){0};
    return status;
}
