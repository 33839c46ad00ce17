# `orthogonal()` gives orthonormal rows, or columns where they are fewer, for matrices of any shape; a
# matrix of one number is 1 or -1, each for some seeds.
. tests/programs/lib/common.sh
cat >orthogonal.flow <<'EOF'
pipeline one() -> (i: i64) { return range(1) |> map(i: index) }

# How far the rows are from being orthonormal, times 10,000.
fn off(w: f32[M, N]) -> f32 {
  let i = iota(M)
  return 1e4 * max(abs(matmul(w, transpose(w)) - cast(reshape(i, [M, 1]) == i, f32)))
}

model weights() -> (f32, f32) {
  weight square: f32[100, 100] = orthogonal()
  weight wide: f32[3, 200] = orthogonal()
  weight tall: f32[200, 3] = orthogonal()
  weight window: f32[3, 3, 4, 8] = orthogonal(2)
  weight single: f32[1, 1] = orthogonal()
  return (off(square) + off(wide) + off(transpose(tall))
      + off(transpose(reshape(window / 2, [36, 8]))) + off(single), single[0, 0])
}

train fit {
  data        = one() |> batch(1)
  let (w, one) = weights()
  loss        = w + cast(0 * sum(data.i), f32)
  metric      = one
  optimizer   = sgd(0)
  every 1 epoch { evaluate one() |> batch(1) }
}
EOF
"$FLOWC" build orthogonal.flow -o orthogonal
for seed in $(seq 20); do ./orthogonal --seed="$seed"; done >out
awk -F'[= ]' '{ if ($4 > 0.1) wrong = 1; found[$6]++ } END { exit wrong || !found["1.0000"] || !found["-1.0000"] || NR != 20 }' out ||
    fail "$(cat out)"
