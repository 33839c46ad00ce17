#include "runtime/device/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was built in. */

static bool is_for(const FlowDeviceImage *image, bool is_ptx, int capability) {
    bool same_kind = is_ptx || image->capability / 10 == capability / 10;
    return image->is_ptx == is_ptx && image->capability <= capability && same_kind;
}

/* The one made for the latest GPUs of those that it can run; NULL: there is none, or
 * $FLOWC_BUILT_IN is "off". */
static const FlowDeviceImage *find(const FlowProgram *program, bool is_ptx, int capability) {
    const FlowDeviceImage *best = NULL;
    const char *wish = getenv("FLOWC_BUILT_IN");
    if (wish && !strcmp(wish, "off")) return NULL;
    for (const FlowDeviceImage *at = program->device_images; at && at->capability; at++)
        if (is_for(at, is_ptx, capability) && (!best || at->capability > best->capability))
            best = at;
    return best;
}

/* The first error. */
static int load(GpusState *state, int capability, const char *bytes) {
    int error = 0;
    for (int i = 0; i < state->count && !error; i++)
        if (state->gpus[i].capability == capability) error = gpu_try(&state->gpus[i], bytes);
    return error;
}

/* It wants other code, rather than that anything is wrong. */
static bool is_refusal(int error) {
    static const int refusals[] = {200 /* invalid image */, 209 /* no code for this GPU */,
                                   218 /* invalid PTX */,   221 /* no compiler of PTX */,
                                   222 /* too new PTX */,   223 /* PTX is not compiled here */};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (error == refusals[i]) return true;
    return false;
}

static void tell_refusal(const GpusState *state, const FlowDeviceImage *image, int error) {
    fprintf(stderr, "%s: the driver does not take the %s that is built in for sm_%d: %s\n",
            state->program->name, image->is_ptx ? "PTX" : "code", image->capability,
            driver_error(&state->driver, error).text);
}

/* What NVRTC makes. */

static bool load_compiled(GpusState *state, int capability) {
    GpuImage image;
    FlowStatus status = nvrtc_compile(state->program->device_text, capability,
                                      driver_version(&state->driver), &image);
    if (status.exit) return gpus_fail(status.exit, "%s", status.text);
    bool good = true;
    for (int i = 0; i < state->count && good; i++)
        if (state->gpus[i].capability == capability) good = gpu_load(&state->gpus[i], &image);
    free(image.bytes);
    return good;
}

/* A guest starts no compiler. error: of the driver, for what is built in; 0: nothing is. */
static bool load_none(const GpusState *state, int capability, int error) {
    char kinds[DEVICE_TEXT];
    if (error) return gpu_not_loaded(&state->gpus[0], error);
    images_list(state->program, kinds, sizeof kinds);
    return gpus_fail(FLOW_EXIT_resource,
                     "`%.100s` has no code for a GPU of compute capability %d.%d, only for %s: "
                     "`flowc export --target=sm_%d` makes it",
                     state->program->name, capability / 10, capability % 10,
                     *kinds ? kinds : "none", capability);
}

bool images_load(GpusState *state, int capability) {
    int refusal = 0;
    for (int is_ptx = 0; is_ptx < 2; is_ptx++) {
        const FlowDeviceImage *image = find(state->program, is_ptx, capability);
        int error = image ? load(state, capability, image->bytes) : 0;
        if (image && !error) return true;
        if (!error) continue;
        if (!is_refusal(error)) return gpu_not_loaded(&state->gpus[0], error);
        if (!state->guest) tell_refusal(state, image, error);
        refusal = error;
    }
    return state->guest ? load_none(state, capability, refusal) : load_compiled(state, capability);
}

void images_list(const FlowProgram *program, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (const FlowDeviceImage *at = program->device_images; at && at->capability; at++)
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%ssm_%d", used ? ", " : "",
                                     at->is_ptx ? "PTX of " : "", at->capability);
}
