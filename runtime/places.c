#include "runtime/places.h"

#include "runtime/path.h"

FlowStatus path_blame(const Places *places, int option, PathOwner owner, FlowStatus failure) {
    bool named = option && places->options;
    return flow_failure(failure.exit, "%s (%s%s%s%s `%s`%s%s)", failure.text, named ? "--" : "",
                        named ? places->options[option - 1].name : "", named ? ", " : "",
                        owner.what, owner.name, owner.line ? ", " : "",
                        owner.line ? owner.line : "");
}

FlowStatus path_to_write(const Places *places, const char *path, int option, PathOwner owner,
                         const char **said) {
    *said = path_said(places, path, option);
    if (!*said || **said) return flow_ok;
    FlowStatus empty = flow_failure(FLOW_EXIT_usage, "the name of a file is empty");
    return path_blame(places, option, owner, empty);
}

FlowStatus path_to_read(const Places *places, const char *path, int option, PathOwner owner,
                        char **found) {
    const char *said = path || option ? path_said(places, path, option) : NULL;
    *found = NULL;
    if (!said) return flow_ok;
    FlowStatus status = path_find(said, places->folder, found);
    return status.exit ? path_blame(places, option, owner, status) : flow_ok;
}

static FlowStatus find(const FlowSource *source, const char *path, const char *folder,
                       char **found) {
    return source->awaits       ? path_find_coming(path, folder, found)
           : source->finds_many ? path_find_many(path, folder, found)
           : source->is_folder  ? path_find_folder(path, folder, found)
                                : path_find(path, folder, found);
}

FlowStatus path_of_field(const Places *places, const FlowPipeline *pipeline, const FlowField *field,
                         char **found) {
    const char *path = path_said(places, field->path, field->option);
    *found = NULL;
    if (!path) return flow_ok;
    FlowStatus status = find(pipeline->source, path, places->folder, found);
    return status.exit ? path_blame(places, field->option, pipeline_owner(pipeline), status)
                       : flow_ok;
}
