/* Watch: the best value so far, exactly, so that a resumed run decides as an undisturbed one. */
#include "runtime/watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void watch_look(Watcher *watcher, bool highest, double value) {
    bool better = highest ? value > watcher->best : value < watcher->best;
    watcher->improved = !isnan(value) && (better || !watcher->seen);
    watcher->seen += !isnan(value);
    if (watcher->improved) watcher->best = value;
    watcher->waited = watcher->improved ? 0 : watcher->waited + 1;
}

void watch_text(const Watcher *watchers, int count, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%a %lld %lld %d", i ? " " : "",
                                 watchers[i].best, (long long)watchers[i].seen,
                                 (long long)watchers[i].waited, watchers[i].improved);
}

static bool parse_count(const char **text, long long *count) {
    char *end;
    errno = 0;
    *count = strtoll(*text, &end, 10);
    bool read = end != *text && !errno && *count >= 0;
    *text = end;
    return read;
}

bool watch_parse(const char *text, Watcher *watchers, int count) {
    for (int i = 0; i < count; i++) {
        char *end;
        long long seen, waited, improved;
        watchers[i].best = strtod(text, &end);
        if (end == text) return false;
        text = end;
        if (!parse_count(&text, &seen) || !parse_count(&text, &waited) ||
            !parse_count(&text, &improved))
            return false;
        watchers[i].seen = seen;
        watchers[i].waited = waited;
        watchers[i].improved = improved != 0;
    }
    return !*text;
}
