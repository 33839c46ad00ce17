# C functions: in a loss, a metric, a loop, a pipeline and an export; from sources, objects, archives and
# shared libraries. What is missing is named by its declaration.
. tests/programs/lib/common.sh
cat >functions.c <<'END'
#include "factor.h"
#include <stdint.h>
void smooth(const float *x, const float *by, int64_t B, int64_t E, float *y) {
    for (int64_t i = 0; i < B * E; i++) y[i] = *by * FACTOR * (x[i] + (i % E ? x[i - 1] : 0));
}
void span(const float *x, int64_t B, int64_t E, float *low, float *high) {
    for (int64_t i = 0; i < B; i++) {
        low[i] = high[i] = x[i * E];
        for (int64_t j = 1; j < E; j++) {
            if (x[i * E + j] < low[i]) low[i] = x[i * E + j];
            if (x[i * E + j] > high[i]) high[i] = x[i * E + j];
        }
    }
}
END
cat >turn.c <<'END'
#include <stdint.h>
void turn(const float *h, const float *x, const int32_t *t, int64_t E, float *next, double *sum) {
    *sum = *t;
    for (int64_t i = 0; i < E; i++) next[i] = h[i] + x[i], *sum += next[i];
}
END
echo '#define FACTOR 1' >factor.h
cat >p.flow <<'END'
extern fn smooth(x: f32[B, E], by: f32) -> f32[B, E]
extern fn span(x: f32[B, E]) -> (low: f32[B], high: f32[B])
extern fn turn(h: f32[E], x: f32[E], t: i32) -> (next: f32[E], sum: f64)

pipeline numbers() -> (x: f32[4], y: f32[4]) {
  return range(20) |> map(x: cast(index, f32) / 20 + cast(iota(4), f32), y: cast(iota(4), f32))
}

pipeline turned() {
  return range(2) |> map(t: turn(cast(iota(2), f32), cast(iota(2), f32), cast(index, i32))) |> map(a: t.next, b: t.sum) |> print()
}

model net(x: f32[B, 4]) -> f32[B, 4] {
  return x |> stop_gradient() |> smooth(0.5) |> dense(4)
}

train fit {
  data = numbers() |> batch(8)
  let y = net(data.x)
  loss = mean((y - smooth(data.y, 2)) ^ 2)
  metric = mean(span(stop_gradient(y)).high)
  optimizer = sgd(0.01)
  epochs = 3
  every 1 epoch { evaluate numbers() |> batch(8) }
}

export smoothed(x: f32[4]) -> (y: f32[4], high: f32) {
  return (y: smooth(x, 2), high: span(x).high)
}

export loop(x: f32[5, 2]) -> (h: f32[2], s: f64[5]) {
  let h = broadcast(0, [2])
  scan t in 5 {
    let made = turn(h, x[t], t)
    h = made.next
    let s[t] = made.sum
  }
  return (h: h, s: s)
}
END
cc=${CC:-gcc} sanitize=${SAN:+-fsanitize=$SAN}
"$FLOWC" run p.flow fit --link=functions.c,turn.c >sources
[ "$(grep -c '^evaluate numbers: loss=[0-9]' sources)" = 3 ] || fail "$(cat sources)"
"$FLOWC" run p.flow fit --link=functions.c --link turn.c --workers=1 >again
same sources again
"$FLOWC" run p.flow turned --link=functions.c,turn.c >turned
printf 'a=[0, 2] b=2\na=[0, 2] b=3\n' | cmp - turned || fail "$(cat turned)"

"$cc" $sanitize -c -fPIC turn.c -o turn.o
"$cc" $sanitize -c -fPIC functions.c -o functions.o
ar rcs functions.a functions.o
"$cc" $sanitize -shared -fPIC functions.c -o libfunctions.so
for files in functions.a,turn.o libfunctions.so,turn.c; do
    "$FLOWC" run p.flow fit --link=$files >others
    cmp again others || fail "$files: $(cat others)"
done

# What a source includes counts for the cache.
echo '#define FACTOR 3' >factor.h
"$FLOWC" run p.flow fit --link=functions.c,turn.c >changed
if cmp -s again changed; then fail "an old program was taken from the cache"; fi
echo '#define FACTOR 1' >factor.h

"$FLOWC" build p.flow fit --link=functions.c,turn.c -o trainer
./trainer | cmp - again

cat >main.c <<'END'
#include "p.h"
#include <stdio.h>
int main(void) {
    float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, y[4], high, h[2];
    double s[5];
    P *p = p_create(NULL, NULL, 0);
    if (!p || p_smoothed(p, x, y, &high) || p_loop(p, x, h, s)) return 1;
    printf("%g %g %g %g, %g; %g %g, %g %g\n", y[0], y[1], y[2], y[3], high, h[0], h[1], s[0], s[4]);
    p_destroy(p);
    return 0;
}
END
sed '/^train/,/^}/d' p.flow >exports.flow && mkdir only && mv exports.flow only/p.flow
for files in functions.c,turn.c functions.a,turn.o libfunctions.so,turn.c; do
    rm -rf library
    "$FLOWC" export only/p.flow --link=$files -o library
    for kind in a so; do
        [ $kind$files = alibfunctions.so,turn.c ] && continue # the archive can't hold a shared library
        "$cc" $sanitize main.c -Ilibrary library/libp.$kind -Wl,-rpath,"$PWD/library" -lz -lm -lpthread -o main
        ./main >out
        echo '2 6 10 14, 4; 25 30, 3 59' | cmp - out || fail "$files, $kind: $(cat out)"
    done
done

"$FLOWC" build p.flow fit --emit=c --link=functions.c,turn.o -o folder
cp factor.h folder/linked
cp functions.c "two words.c"
expect 2 "a Makefile can't name it" "$FLOWC" build p.flow fit --emit=c --link="two words.c" -o unnamed
[ -n "$SAN" ] || { make_emitted folder && ./folder/trainer >made; }
[ -n "$SAN" ] || same made again

# Files that are missing or wrong.
for command in run build; do
    expect 1 'error[E0307]: C function missing' "$FLOWC" $command p.flow fit --link=turn.c
    grep -qF 'p.flow:1:11' stderr && grep -qF 'p.flow:2:11' stderr || fail "$(cat stderr)"
done
expect 1 'p.flow:3:11' "$FLOWC" export only/p.flow --link=functions.c -o library
expect 1 'no file with a function `smooth` is linked' "$FLOWC" run p.flow fit
sed 's/void smooth/static void smooth/' functions.c >static.c
expect 1 'no linked file has a function `smooth`' "$FLOWC" run p.flow fit --link=static.c,turn.c
echo 'int smooth = 1;' >number.c
expect 1 'no linked file has a function `smooth`' "$FLOWC" run p.flow fit --link=number.c,turn.c
echo 'void smooth(' >broken.c
expect 3 'broken.c' "$FLOWC" run p.flow fit --link=broken.c,turn.c
expect 2 'ends in .c, .o, .a or .so' "$FLOWC" run p.flow fit --link=turn.txt
expect 3 'none.c: No such file' "$FLOWC" run p.flow fit --link=none.c
sed 's/turn(/call_new(/; s/= turn(/= call_new(/' p.flow >taken.flow
sed 's/turn/call_new/' turn.c >taken.c
expect 1 "flowc's runtime has a function \`call_new\`" "$FLOWC" run taken.flow turned --link=functions.c,taken.c
