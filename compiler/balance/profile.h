/* Profile: what a machine does in a second, as a text file.
 *
 *     flowc profile 1
 *     date = 2026-11-22
 *     device cpu
 *     name = AMD EPYC 9V74
 *     cores = 2 measured
 *     f32 = 467 GFLOP/s measured
 *     …
 *     device gpu(0)
 *     …
 *
 * Each figure says where it comes from. Lines that begin with # are comments. */
#ifndef FLOW_BALANCE_PROFILE_H
#define FLOW_BALANCE_PROFILE_H

#include "lang/base/text.h"
#include "lang/base/vector.h"

#include <stdbool.h>

typedef enum Origin {
    ORIGIN_none,
    ORIGIN_measured,
    ORIGIN_published, /* by who makes the device */
    ORIGIN_guess,
    ORIGIN_simulated, /* of a stand-in: says nothing about a device */
} Origin;

typedef enum FigureName {
#define FIGURE(name, unit, kinds, meaning) FIGURE_##name,
#include "compiler/balance/figures.def"
#undef FIGURE
    FIGURES
} FigureName;

typedef struct Figure {
    double value; /* in units without prefix */
    Origin origin;
} Figure;

typedef struct DeviceProfile {
    const char *name;
    Figure figures[FIGURES];
} DeviceProfile;

typedef struct Profile {
    const char *date, *note; /* note: what else is to be known, or NULL */
    DeviceProfile cpu;
    Vector(DeviceProfile) gpus;
} Profile;

/* NULL: *why says the line and what is wrong with it. path: for that alone. */
const Profile *profile_parse(Arena *arena, const char *text, const char *path, const char **why);
void profile_print(const Profile *profile, Text *text);

/* "467 GFLOP/s"; "5 us" */
const char *figure_text(Arena *arena, FigureName name, double value);

/* Names of the figures that were not measured, as "f32, link"; "" if all were. */
const char *unmeasured(Arena *arena, const DeviceProfile *device);

bool profile_is_simulated(const Profile *profile);

#endif
