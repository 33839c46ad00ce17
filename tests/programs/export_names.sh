# What exports and their arguments are called may be a word or a type of C, or of C++, or what the header
# needs itself: names get something behind them there.
. tests/programs/lib/common.sh
cat >int.flow <<'END'
export create(uint8_t: u8[1], int64_t: i64, instance: f32) -> (int32_t: u8[1], size_t: f32) {
  return (int32_t: uint8_t, size_t: instance + cast(int64_t, f32))
}

export class(unix: f32[2], uintptr_t: f32, result: f32) -> (double: f32[2], errno: f32) {
  return (double: unix + uintptr_t, errno: result)
}
END
"$FLOWC" export int.flow -o lib
cat >use.c <<'END'
#include "int_.h"
#include <complex.h>
#include <errno.h>

int main(void) {
    return int__create(0, 0, 0) == 0;
}
END
"${CC:-gcc}" -Wall -Wextra -Werror -Ilib -c use.c
"${CC:-gcc}" -x c++ -Wall -Wextra -Werror -Ilib -c lib/int_.h -o header.o
