#define _GNU_SOURCE
#include "runtime/device/nccl.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 21000 }; /* 2.10.0 */

#define WITHOUT_IT "--all-reduce=peer (FLOWC_ALL_REDUCE=peer) goes without it"

static const char *library_name(void) {
    const char *given = getenv("FLOWC_NCCL");
    return given && *given ? given : "libnccl.so.2";
}

/* The symbol that it does not have, or NULL. */
static const char *find_symbols(Nccl *nccl) {
#define NCCL(type, name, symbol, parameters) \
    if (!(*(void **)&nccl->name = dlsym(nccl->library, #symbol))) return #symbol;
#include "runtime/device/nccl.def"
#undef NCCL
    return NULL;
}

__attribute__((format(printf, 3, 4))) static AllReduce
found(AllReduceText *text, AllReduce all_reduce, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->text, sizeof text->text, format, arguments);
    va_end(arguments);
    return all_reduce;
}

/* From 2.9 on 2.27.3 is 22703, before 2.8.4 was 2804. */
static AllReduce check_version(const Nccl *nccl, AllReduceText *text) {
    int version = 0;
    const int error = nccl->version(&version), unit = version < 10000 ? 1000 : 10000;
    const int major = version / unit, minor = version % unit / 100, patch = version % 100;
    if (error)
        return found(text, ALL_REDUCE_wrong, "%.100s does not say its version: %.100s",
                     library_name(), nccl->error_text(error));
    if (version < LEAST_VERSION)
        return found(text, ALL_REDUCE_wrong, "%.100s is NCCL %d.%d.%d, and replicas need 2.10",
                     library_name(), major, minor, patch);
    text->fix = NULL;
    return found(text, ALL_REDUCE_nccl, "by NCCL %d.%d.%d (%.100s)", major, minor, patch,
                 library_name());
}

/* What is named, or asked for, has to be there. */
static AllReduce missing(bool wanted, AllReduceText *text) {
    const char *error = dlerror(), *named = getenv("FLOWC_NCCL");
    if (wanted || (named && *named))
        return found(text, ALL_REDUCE_wrong, "NCCL can't be loaded%s: %.200s",
                     named && *named ? " (FLOWC_NCCL)" : "", error ? error : library_name());
    text->fix = NCCL_COMES;
    return found(text, ALL_REDUCE_peer, "by copies between GPUs: NCCL is not found (%.100s)",
                 library_name());
}

static AllReduce load(Nccl *nccl, bool wanted, AllReduceText *text) {
    const char *name = library_name();
    nccl->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    text->fix = NCCL_COMES "; " WITHOUT_IT;
    if (!nccl->library) return missing(wanted, text);
    const char *symbol = find_symbols(nccl);
    if (!symbol) return check_version(nccl, text);
    return found(text, ALL_REDUCE_wrong, "%.100s is %s: it has no %s", name,
                 nccl->version ? "too old" : "not NCCL", symbol);
}

AllReduce nccl_choose(Nccl *nccl, bool exact, AllReduceText *text) {
    const char *asked = getenv("FLOWC_ALL_REDUCE");
    text->fix = NULL;
    if (!asked) asked = "";
    if (!strcmp(asked, "peer")) return found(text, ALL_REDUCE_peer, "by copies between GPUs");
    if (exact && !strcmp(asked, "nccl"))
        return found(text, ALL_REDUCE_wrong,
                     "--exact adds up in the order of the replicas, which NCCL "
                     "(FLOWC_ALL_REDUCE=nccl) doesn't");
    if (!strcmp(asked, "nccl")) return load(nccl, true, text);
    if (*asked)
        return found(text, ALL_REDUCE_wrong,
                     "--all-reduce (FLOWC_ALL_REDUCE) is nccl or peer, not `%.40s`", asked);
    if (exact)
        return found(text, ALL_REDUCE_peer, "by copies between GPUs, in their order (--exact)");
    return load(nccl, false, text);
}

int nccl_type(FlowElement element) {
    static const int numbers[] = {
        [FLOW_bool] = 1, [FLOW_u8] = 1,   [FLOW_i8] = 0,  [FLOW_i32] = 2, [FLOW_i64] = 4,
        [FLOW_f16] = 6,  [FLOW_bf16] = 9, [FLOW_f32] = 7, [FLOW_f64] = 8};
    return numbers[element];
}
