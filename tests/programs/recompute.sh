# `recompute = true`: less memory, the same bits; the last ones of them only where the C compiler rounds
# the second computation, in another kernel, as the first.
. tests/programs/lib/common.sh
program() { # name, the model, entries
    cat >"$1.flow" <<EOF
dim C = 10
fn pixels(image: u8[28, 28]) -> f32[784] { return image |> cast(f32) |> scale(1 / 255) |> flatten() }
pipeline digits -> (x: f32[784], y: i32 in 0..C) {
  return idx(image: "$data/t10k-images-idx3-ubyte.gz", label: "$data/t10k-labels-idx1-ubyte.gz")
      |> map(x: pixels(image), y: label) |> take(2048)
}
model deep(x: f32[B, 784]) -> f32[B, C] {
  let h = dense(x, 64)
  repeat i in 24 { $2 }
  return dense(h, C)
}
train fit {
  data = digits() |> batch(512)
  let logits = deep(data.x)
  loss = cross_entropy(logits, data.y)
  metric = accuracy(logits, data.y)
  optimizer = adam(1e-3)
  every 1 epoch { evaluate digits() |> batch(512); save weights("weights") }
  $3
}
EOF
}
scratch() { "$FLOWC" check --dump-ir=plan "$1.flow" | sed -n 's/^fit.step: .* \([0-9.]* [KM]iB\) of scratch/\1/p' | awk '{ print int($1 * ($2 == "MiB" ? 1024 : 1)) }'; }

compare() { # the model, the most per cent of memory
    program keeps "$1" ''
    program again "$1" 'recompute = true'
    before=$(scratch keeps) after=$(scratch again)
    echo "$before KiB, then $after KiB"
    [ $((after * 100)) -lt $((before * $2)) ] || fail "$before KiB of scratch, recomputed $after KiB"
    "$FLOWC" run keeps.flow >first 2>errors && mv weights first.weights || fail "$(cat errors)"
    "$FLOWC" run again.flow --threads=2 >second 2>errors || fail "$(cat errors)"
}
compare 'h = tanh(dense(h, 64))' 60
same first second
same first.weights weights
compare 'h = h + dense(dropout(relu(dense(h, 64)), 0.1), 64)' 60
same first second
same first.weights weights
compare 'h = relu(batch_norm(dense(h, 64)))' 50
exit 0
