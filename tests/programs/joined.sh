# Streams that are joined: which records come when, and that training on them is as exact as on a file.
. tests/programs/lib/common.sh
cat >p.flow <<'EOF'
pipeline numbers(n: int, from: int) -> (x: i64, dice: f32) {
  return range(n) |> map(x: index + from, dice: random_uniform([1], key = epoch)[0])
}

pipeline ends { return concat([numbers(3, 0), numbers(1, 100), numbers(2, 200)]) |> map(x) |> csv(stdout) }
pipeline turns { return interleave([numbers(3, 0), numbers(1, 100), numbers(5, 200), numbers(3, 300)]) |> map(x) |> csv(stdout) }
pipeline pairs { return zip(numbers(4, 0), range(3) |> map(y: index * 10)) |> map(x, y) |> csv(stdout) }
pipeline one { return concat([numbers(2, 7)]) |> map(x) |> csv(stdout) }
pipeline swapped { return concat([range(2) |> map(a: index, b: 1), range(2) |> map(b: 2, a: index)]) |> csv(stdout) }
pipeline windows { return concat([numbers(3, 0), numbers(3, 100)]) |> map(x) |> window(2, stride = 2) |> csv(stdout) }

pipeline chance { return mix([numbers(1000, 0), numbers(10, 10000)], weights = [3, 1], seed = 5) |> csv(stdout) }
pipeline passes { return numbers(100, 0) |> shuffle(seed = 1) |> repeat(3) |> csv(stdout) }
pipeline dealt { return numbers(100, 0) |> shuffle(seed = 1) |> map(x) |> repeat(2) |> take(200) |> csv(stdout) }
pipeline twins { return zip(numbers(50, 0), numbers(50, 0) |> map(z: x, other: dice)) |> csv(stdout) }
pipeline nested {
  return concat([
      mix([numbers(40, 0), numbers(7, 100)], weights = [0.8, 0.2], seed = 2) |> filter(x < 104) |> shuffle(seed = 3),
      interleave([numbers(9, 200), numbers(4, 300)]) |> repeat(2) |> skip(3)]) |> shuffle(seed = 4) |> csv(stdout)
}
EOF
run() { "$FLOWC" run p.flow "$@" | tail -n +2; }
expect_lines() { # pipeline, lines
    run "$1" >out && printf '%s\n' "${@:2}" >expected && same expected out
}
expect_lines ends 0 1 2 100 200 201
expect_lines turns 0 100 200 300 1 201 301 2 202 302 203 204
expect_lines pairs 0,0 1,10 2,20
expect_lines one 7 8
expect_lines swapped 0,1 1,1 0,2 1,2
expect_lines windows 0,1 2,100 101,102

# A mixture: each set is gone through in order and begins again, until all are through.
run chance | cut -d, -f1 | awk '$1 < 10000' >large
run chance | cut -d, -f1 | awk '$1 >= 10000' >small
seq 0 999 >expected && same expected large
[ "$(wc -l <small)" -gt 250 ] && [ "$(wc -l <small)" -lt 420 ] || fail "$(wc -l <small) of the small set"
awk '$1 != 10000 + (NR - 1) % 10 { exit 1 }' small || fail "the small set is out of order"
# What is drawn is another number in each pass.
run chance | awk -F, '$1 == 10003 { print $2 }' | sort | uniq -d | grep . && fail "a draw came twice"

# Passes: each of them all records, in another order, with other draws.
run passes >out
for pass in 0 1 2; do tail -n +$((pass * 100 + 1)) out | head -n 100 | cut -d, -f1 | sort -n >"pass$pass"; done
seq 0 99 >expected && same expected pass0 && same expected pass1 && same expected pass2
[ "$(cut -d, -f2 out | sort -u | wc -l)" = 300 ] || fail "draws of passes are the same"
! cmp -s <(head -n 100 out | cut -d, -f1) <(tail -n 100 out | cut -d, -f1) || fail "passes have one order"
run dealt >out
cmp -s <(head -n 100 out) <(tail -n 100 out) || fail "a dealt stream has one order"

# Side by side, equal text draws other numbers.
run twins | awk -F, '$2 == $4 { exit 1 }' || fail "two inputs draw the same"

# The same bytes for any number of threads and workers.
run nested --threads=1 --workers=0 >expected
for flags in --threads=2 --workers=1 --workers=3; do run nested "$flags" >out && same expected out; done
[ "$(wc -l <expected)" -gt 60 ] || fail "too few records"

# What can't be made: who made it is told, and it is left out.
printf '%s\n' x 1 2 three 4 >a.csv && printf '%s\n' x 5 >b.csv
cat >bad.flow <<'EOF'
option from = "-" "a file, or standard input"
pipeline strict { return concat([csv("b.csv") |> map(x), csv("a.csv") |> map(x)]) |> print() }
pipeline loose { return concat([csv("b.csv", on_error = skip) |> map(x), csv("a.csv", on_error = skip) |> map(x)]) |> print() }
pipeline checked { return concat([csv("b.csv") |> map(x: x |> : i32), csv("a.csv") |> take(2) |> map(x: x |> : i32)]) |> map(x: x |> : i32 in 0..2) |> print() }
pipeline fed { return concat([lines(from) |> map(x: integer(line)), csv("b.csv") |> map(x: x |> : i32)]) |> print() }
EOF
expect 1 'a.csv: line 4: ' "$FLOWC" run bad.flow strict
"$FLOWC" run bad.flow loose >out 2>err
printf '%s\n' x=5 x=1 x=2 x=4 >expected && same expected out
grep -q 'a.csv: line 4' err || fail "the rejected record is not told: $(cat err)"
cat >again.flow <<'EOF'
pipeline again { return csv("a.csv", on_error = skip) |> shuffle(seed = 1) |> map(x) |> repeat(5) |> print() }
EOF
expect 0 '`again`: 1 record rejected' "$FLOWC" run again.flow
[ "$(wc -l <stdout)" = 15 ] || fail "$(cat stdout)"
expect 1 'b.csv: line 2: `x` must lie in 0..2' "$FLOWC" run bad.flow checked
expect 2 '`concat` asks for any record at any time' "$FLOWC" run bad.flow fed </dev/null

# Training: stopped anywhere and resumed, with any workers, the same weights.
small_data
cat >t.flow <<'EOF'
option updates = 1000000

pipeline digits(images: path, labels: path) -> (x: f32[784], y: i32 in 0..10) {
  return idx(image: images, label: labels) |> shuffle(seed = 1)
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> scale(1 / 255) |> flatten() |> noisy(), y: label)
}

fn noisy(x: f32[N]) -> f32[N] {
  return x + 0.1 * random_normal([N], key = epoch)
}

pipeline all -> (x: f32[784], y: i32 in 0..10) {
  let train = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz")
  let other = digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz") |> take(300)
  return zip(
      mix([train |> take(700), other], weights = [0.7, 0.3], seed = 3) |> repeat(2),
      range(100000) |> map(z: random_uniform([784], key = epoch)))
      |> map(x: x + 0.01 * z, y)
}

model classifier(x: f32[B, 784]) -> f32[B, 10] {
  return x |> dense(10)
}

train fit {
  data      = all() |> shuffle(seed = 7) |> batch(64)
  loss      = cross_entropy(classifier(data.x), data.y)
  optimizer = adam(1e-3)
  epochs    = 2
  steps     = updates
  every 1 epoch {
    evaluate digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz") |> take(500) |> batch(100)
    save "t.safetensors"
  }
}
EOF
"$FLOWC" build t.flow -o trainer
./trainer --threads=1 >whole.out
mv t.safetensors whole.safetensors
for steps in 7 41; do
    rm -f t.safetensors
    ./trainer --updates=$steps --workers=2 >/dev/null
    ./trainer --resume --workers=1 >resumed.out
    same whole.safetensors t.safetensors
done
