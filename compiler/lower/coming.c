/* Coming: who asks for any record of a stream, where they come one after the other or never end.
 * Where an option says what file it is, only the run can tell. */
#include "compiler/lower/stream.h"

static bool surely_comes(const Pipeline *pipeline) {
    return comes_as_it_comes(pipeline) && !pipeline->origin.optional;
}

static void report_coming(const Context *context, Range range, const char *asker,
                          const Pipeline *pipeline, const char *help) {
    Diagnostic *d =
        report(context, E0214, range,
               "%s asks for any record at any time, and these come one after the other", asker);
    diagnostic_note(d, pipeline->range, "they come from here");
    diagnostic_help(d, "%s", help);
}

bool can_look_up(const Context *context, Range range, const char *asker, const Pipeline *pipeline) {
    if (!surely_comes(pipeline)) return true;
    report_coming(context, range, asker, pipeline,
                  "put them into a file: a pipeline that ends in a sink writes one");
    return false;
}

bool can_shuffle(const Context *context, Range range, const Pipeline *pipeline) {
    if (!surely_comes(pipeline)) return true;
    report_coming(context, range, "`shuffle`", pipeline,
                  "give it a window: `shuffle(seed = 1, window = 10000)`");
    return false;
}

bool can_count(const Context *context, Range range, const char *sink, const Pipeline *pipeline) {
    if (!surely_comes(pipeline)) return true;
    Diagnostic *d = report(context, E0214, range,
                           "`%s` has to know how many records come, and these come one after the "
                           "other",
                           sink);
    diagnostic_note(d, pipeline->range, "they come from here");
    diagnostic_help(d, "`npy(\"x.npy\")` need not");
    return false;
}

bool has_end(const Context *context, Range range, const char *asker, const Pipeline *pipeline) {
    if (!is_endless(pipeline)) return true;
    Diagnostic *d =
        report(context, E0214, range, "%s goes through all records, and these never end", asker);
    diagnostic_note(d, pipeline->range, "they come from here");
    diagnostic_help(d, "`range(1000)`, or `|> take(1000)` behind it");
    return false;
}
