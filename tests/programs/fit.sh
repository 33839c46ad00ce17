# Statistics of the training data are found before the first step and kept with the weights: exact, the
# same for any number of threads and after a resume, in evaluations, loads and exports.
. tests/programs/lib/common.sh
awk 'BEGIN { print "a,far,same,whole,y"; for (i = 0; i < 997; i++) {
    s = (s * 16807 + 12345) % 2147483647; t = (t * 48271 + 777) % 2147483647; a = s / 2147483647
    printf "%.9f,%.6f,7.25,%d,%.9f\n", 5 * a + 3, 100000000 + t / 2147483647, t % 13 - 4, 100 * a + 3 } }' >numbers.csv
cat >fit.flow <<'F'
option epochs = 2 "passes"
option file = "numbers.csv"
pipeline rows() -> (x: f64[4], y: f32) {
  return csv(file) |> shuffle(seed = 1) |> map(x: [a, far, same, whole], y)
}
model net(x: f64[B, 4]) -> f32[B] {
  let z = standardise(x)
  return concat([z, min_max(z, low = -1)], axis = -1) |> dense(1) |> squeeze(1)
}
train learn {
  data      = rows() |> batch(64)
  let unit  = new standardise()
  let guess = net(data.x)
  loss      = mse(guess, unit(data.y))
  metric    = mae(unit(guess, inverse = true), data.y)
  optimizer = adam(0.05)
  epochs    = epochs
  every 10 steps { save "fit.safetensors" }
  every 1 epoch {
    evaluate rows() |> batch(100)
    save "fit.safetensors"
  }
}
pipeline guesses {
  let net = load(net, "fit.safetensors")
  return rows() |> batch(50) |> map(guess: net(x)) |> unbatch() |> csv(stdout)
}
export guess(x: f64[4]) -> f32 {
  let unit = new standardise()
  return unit(net(x), inverse = true)
}
F
"$FLOWC" run fit.flow learn --threads=1 --progress=plain >one.out 2>one.err
grep -q '^fit: fitting: 2 passes over 997 records$' one.err || fail "$(cat one.err)"
mv fit.safetensors one.safetensors

# Any number of threads and workers; killed and resumed: nothing is fitted again.
for how in --threads=2 --threads=3 --workers=3; do
    "$FLOWC" run fit.flow learn $how >other.out
    same one.out other.out
    same one.safetensors fit.safetensors
done
rm fit.safetensors
"$FLOWC" build fit.flow -o learn
./learn learn --epochs=1000000 >/dev/null 2>killed.err &
until_true "[ -f fit.safetensors ]"
kill -9 $! && wait $! || true
epoch=$(head -c 4000 fit.safetensors | grep -ao '"epoch":"[0-9]*"' | tr -dc 0-9)
./learn learn --epochs=$((epoch + 2)) --resume --progress=plain >/dev/null 2>resumed.err
grep -q "epoch $((epoch + 2))" resumed.err || fail "not trained on: $(cat resumed.err)"
if grep -q fitting resumed.err; then fail "fitted again: $(cat resumed.err)"; fi
mv fit.safetensors resumed.safetensors
./learn learn --epochs=$((epoch + 2)) >/dev/null
same resumed.safetensors fit.safetensors
./learn learn --epochs=1 >/dev/null
./learn learn --epochs=2 --resume >/dev/null
same one.safetensors fit.safetensors

# What awk makes of it. `load` gives standardise its states by their names.
cat >states.flow <<'F'
pipeline rows() -> (x: f64[4]) { return csv("numbers.csv") |> map(x: [a, far, same, whole]) }
model net(x: f64[B, 4]) -> f32[B, 8] {
  let z = standardise(x)
  return concat([z, min_max(z, low = -1)], axis = -1)
}
pipeline states {
  let net = load(net, "one.safetensors")
  return rows() |> batch(50) |> map(z: net(x)) |> unbatch() |> csv(stdout)
}
F
"$FLOWC" run states.flow >states.csv
paste -d, numbers.csv states.csv | awk -F, 'NR > 1 { n++
    for (i = 1; i <= 4; i++) { x[i, n] = $i - (i == 2 ? 1e8 : 0); sum[i] += x[i, n]; z[i, n] = $(5 + i); m[i, n] = $(9 + i) } }
    END { for (i = 1; i <= 4; i++) {
        mean = sum[i] / n; square = 0
        for (j = 1; j <= n; j++) square += (x[i, j] - mean) ^ 2
        deviation = sqrt(square / n); if (i == 3) deviation = 1
        for (j = 1; j <= n; j++) {
            low = j == 1 || x[i, j] < low ? x[i, j] : low; high = j == 1 || x[i, j] > high ? x[i, j] : high }
        for (j = 1; j <= n; j++) {
            wanted = (x[i, j] - mean) / deviation; off = z[i, j] - wanted
            if (off > 1e-6 || off < -1e-6) { print "column", i, "record", j, z[i, j], "not", wanted; exit 1 }
            wanted = i == 3 ? -1 : 2 * (x[i, j] - low) / (high - low) - 1; off = m[i, j] - wanted
            if (off > 1e-6 || off < -1e-6) { print "range of", i, "record", j, m[i, j], "not", wanted; exit 1 } } } }' ||
    fail "fitted wrongly"

# What a block of `fit` calls has states of its own: outside it is fitted to what it is given there.
cat >names.flow <<'F'
pipeline rows() -> (x: f64[4]) { return csv("numbers.csv") |> map(x: [a, far, same, whole]) }
model peak(x: f64[B, 4]) -> f32[B, 4] {
  state most: f32[4] = zeros()
  fit { most = maximum(most, max(standardise(x * 100), axis = 0)) }
  fit { most = maximum(most, max(standardise(x * 1000), axis = 0)) }
  return standardise(x) - most
}
train names {
  data       = rows() |> batch(64)
  let scaled = standardise(data.x)
  let below  = scaled - max(scaled, axis = 0)
  loss       = mean((dense(scaled, 1) - 1) ^ 2)
  metric     = max(abs(peak(data.x) - below))
  optimizer  = sgd(0.1)
  every 1 epoch { evaluate rows() |> batch(1000) }
}
F
"$FLOWC" run names.flow >names.out
grep -q '^evaluate rows: .*max=0.0000$' names.out || fail "other states: $(cat names.out)"

# The library says what the evaluation does.
"$FLOWC" export fit.flow -o lib
cat >use.c <<'F'
#include "fit.h"
#include <math.h>
#include <stdio.h>
int main(void) {
    char message[200];
    Fit *fit = fit_create("one.safetensors", message, sizeof message);
    double x[4], y, sum = 0;
    float guess;
    int count = 0;
    if (!fit) return puts(message), 1;
    while (scanf("%lf,%lf,%lf,%lf,%lf", &x[0], &x[1], &x[2], &x[3], &y) == 5) {
        if (fit_guess(fit, x, &guess)) return 1;
        sum += fabs(guess - y);
        count++;
    }
    printf("%.4f\n", sum / count);
    fit_destroy(fit);
    return 0;
}
F
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o use use.c lib/libfit.a -lz -lm -lpthread
told=$(tail -1 one.out | sed 's/.*mae=//')
[ "$(tail -n +2 numbers.csv | ./use)" = "$told" ] || fail "the library: $(tail -n +2 numbers.csv | ./use), evaluate: $told"

# Odd data: one record; a number that is none, told by its record; all records the same.
head -2 numbers.csv >odd.csv
"$FLOWC" run fit.flow learn --file=odd.csv >/dev/null
awk 'NR == 500 { sub(/^[^,]*/, "nan") } 1' numbers.csv >odd.csv
expect 1 'odd.csv: line 500: with this record `net/standardise.1/middle` becomes nan: its `x` is nan' "$FLOWC" run fit.flow learn --file=odd.csv
awk 'NR == 900 { sub(/[^,]*$/, "inf") } 1' numbers.csv >odd.csv
expect 1 'odd.csv: line 900: with this record `unit/middle` becomes infinite: its `y` is infinite' "$FLOWC" run fit.flow learn --file=odd.csv --threads=2
awk 'NR == 2 { first = $0 } NR > 1 { $0 = first } 1' numbers.csv >odd.csv
"$FLOWC" run fit.flow learn --file=odd.csv >/dev/null
