/* Runtime. */
#include "tests/codegen/runtime.h"

#include "compiler/codegen/flags.h"
#include "lang/base/text.h"

#include <stdlib.h>

bool runtime_is_compiled(void) {
    return getenv("FLOWC_TEST_TARGET") != NULL;
}

const char *runtime_archive(Arena *arena) {
    const char *build = getenv("BUILD");
    return arena_format(arena, "%s/lib/flowc/libflowrt.a", build && *build ? build : "build");
}

const char *compile_words(Arena *arena, const char *compiler) {
    Text words = text_new(arena);
    for (const char *const *flag = code_flags(arena, compiler); *flag; flag++)
        text_format(&words, "%s ", *flag);
    text_add(&words, "-shared -pthread -I. -Iruntime -Icompiler/ops -Icompiler/codegen/templates");
    return text_string(&words);
}

const char *runtime_words(Arena *arena, const char *path) {
    if (!runtime_is_compiled()) return arena_format(arena, "%s -lm -ldl", runtime_archive(arena));
    return arena_format(arena,
                        "runtime/barrier.c runtime/half.c runtime/random.c "
                        "$(grep -q '\"product.c\"\\|THIRDS 1' %s && echo runtime/product/*.c || "
                        "echo runtime/product/across.c runtime/product/turn.c) "
                        "-lm -ldl",
                        path);
}
