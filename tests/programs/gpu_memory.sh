# --gpu-memory: a plan that does not fit is an error with the largest values and what recompute saves.
. tests/programs/lib/common.sh
cat >deep.flow <<E2
dim C = 10
pipeline digits -> (x: f32[784], y: i32 in 0..C) {
  return idx(image: "$data/t10k-images-idx3-ubyte.gz", label: "$data/t10k-labels-idx1-ubyte.gz")
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> flatten(), y: label |> : i32 in 0..C) |> take(64)
}
model deep(x: f32[B, 784]) -> f32[B, C] {
  let h = dense(x, 64)
  repeat i in 24 { h = tanh(dense(h, 64)) }
  return dense(h, C)
}
train fit {
  data = digits() |> batch(512)
  loss = cross_entropy(deep(data.x), data.y)
  optimizer = adam(1e-3)
}
E2
small="--device=gpu --simulate=gpu:1 --gpu-memory=2MiB"
for command in run build; do
    expect 1 'KiB on gpu(0), and simulated GPU 0 has 2048.0 KiB to use' "$FLOWC" $command deep.flow $small
    [ "$(grep -c '^  note: [0-9.]* KiB, ' stderr)" = 3 ] || fail "not three values: $(cat stderr)"
    grep -q 'note: 196.0 KiB, deep/dense.1/w: f32\[784, 64\]' stderr || fail "$(cat stderr)"
done
least=$(sed -n 's/.*with `recompute = true` it needs \([0-9.]*\) KiB; .*/\1/p' stderr)
needs=$(sed -n 's/.*the program needs \([0-9.]*\) KiB on.*/\1/p' stderr)

# It says the same of itself once it does; then there is nothing more to save.
sed -i 's/adam(1e-3)/&\n  recompute = true/' deep.flow
expect 1 "the program needs $least KiB on gpu(0)" "$FLOWC" build deep.flow $small
! grep -q 'recompute = true. it needs' stderr || fail "$(cat stderr)"
awk "BEGIN { exit !($least < 0.8 * $needs) }" || fail "$needs KiB, then $least"
"$FLOWC" build deep.flow --device=gpu --simulate=gpu:1 --gpu-memory=8MiB -o deep 2>stderr || fail "$(cat stderr)"

# Of what stages have on GPUs each thread that may make records has its own: those the program asks for, or the machine's.
cat >stages.flow <<'END'
fn wave(x: i32) -> i32[4000] { return remainder(iota(4000) * x, 13) }
pipeline stages { return range(100) |> map(m: max(wave(cast(index, i32))))  @gpu |> csv(stdout) }
END
for_one="--simulate=gpu:1 --gpu-memory=6KiB -o stages"
first=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
taskset -c "$first" "$FLOWC" build stages.flow $for_one 2>stderr || fail "$(cat stderr)"
[ "$(nproc)" = 1 ] || expect 1 'the program needs ' "$FLOWC" build stages.flow $for_one
sed -i 's/@gpu |>/@gpu @threads(1) |>/' stages.flow
"$FLOWC" build stages.flow $for_one 2>stderr || fail "$(cat stderr)"
