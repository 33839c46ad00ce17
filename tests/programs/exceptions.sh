# An exported library raises no exception of floating point that its data does not have: the lanes of vectors that are
# no elements compute as those do, since a host may have exceptions trapped.
. tests/programs/lib/common.sh
unset FLOWC_TARGET
all="5 6 7 8 9 12 15"
for columns in $all; do
    cat <<END
export flipped_$columns(a: f32[50, $columns], c: f32[$columns]) -> f32[50, $columns] {
  return log(a / flip(a, axis = 0) + c)
}

export scaled_$columns(a: f32[50, $columns], s: f32[50, 1]) -> f32[50, $columns] {
  return a / s / flip(a, axis = 0)
}

END
done >rows.flow
cat >use.c <<'END'
#define _GNU_SOURCE
#include "rows.h"
#include <fenv.h>
#include <stdio.h>

static float a[50 * 15], c[50], y[50 * 15];

int main(void) {
    Rows *rows = rows_create("none.safetensors", NULL, 0);
    if (!rows) return 2;
    for (int i = 0; i < 50 * 15; i++) a[i] = 1 + (float)(i % 7) / 7;
    for (int i = 0; i < 50; i++) c[i] = 2;
    feenableexcept(FE_INVALID | FE_DIVBYZERO);
END
for columns in $all; do
    echo "    rows_flipped_$columns(rows, a, c, y);"
    echo "    rows_scaled_$columns(rows, a, c, y);"
done >>use.c
cat >>use.c <<'END'
    puts("no exceptions");
    rows_destroy(rows);
    return 0;
}
END
below= # the best level of this processor's, and AVX2 by itself
if grep -q avx2 /proc/cpuinfo; then below=--target=x86-64-v3; fi
for target in --target=native $below; do
    "$FLOWC" export rows.flow "$target" -o lib
    "${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o use use.c lib/librows.a -lz -lm -lpthread
    ./use | grep -q 'no exceptions' || fail "$target"
done
