# Loops on a GPU: the host launches their turns. An LSTM and a GRU learn there what they learn on the
# CPU; a loop that is asked for on a GPU is there, or the program is refused; NaN is traced in its turn.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
cat >rnn.flow <<'E2'
pipeline digits(images: path, labels: path) -> (x: u8[28, 28], y: i32 in 0..10) {
  return idx(image: images, label: labels) |> map(x: image, y: label)
}

model reader(x: u8[B, 28, 28]) -> f32[B, 10] {
  let h = (cast(x, f32) / 255)[:, :6] |> lstm(8) |> gru(8)
  return h[:, -1] |> dense(10)
}

train fit {
  data       = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz")
      |> take(60) |> batch(16)
  let logits = reader(data.x)
  loss       = cross_entropy(logits, data.y)
  optimizer  = adam(0.01)
  clip_norm  = 1
  epochs     = 3
}
E2
cp -r "$data" .
gpu="--device=gpu --simulate=gpu:1"
learnt() { sed -n 's/.*loss=\([0-9.]*\).*/\1/p' "$1"; }
"$FLOWC" run rnn.flow --progress=plain --device=cpu 2>cpu || fail "$(cat cpu)"
"$FLOWC" run rnn.flow --progress=plain $gpu 2>gpu || fail "$(cat gpu)"
[ "$(learnt cpu | wc -l)" = 3 ] || fail "$(cat cpu)"
paste <(learnt cpu) <(learnt gpu) | awk '($1 - $2) ^ 2 > 1e-6 { exit 1 }' || fail "$(cat cpu gpu)"
# Nothing of a step is on the CPU.
FLOWC_DEVICE=gpu "$FLOWC" check --explain --simulate=gpu:1 rnn.flow >plan || fail "$(cat plan)"
[ "$(grep -c 'scan of 6 turns, the host launches each of them, on gpu(0)' plan)" = 4 ] || fail "$(cat plan)"
sed -n '/^fit.step/,/^$/p' plan | grep -q ' on cpu' && fail "$(cat plan)"
# Their updates, which wait for the norm of all gradients, are one launch.
[ "$(sed -n '/^fit.step/,/^$/p' plan | grep -c 'kernels in one launch, updates of 24 weights and states')" = 1 ] || fail "$(cat plan)"
# Nothing of a step is on the CPU where kernels read and write a hundred values each.
FLOWC_DEVICE=gpu "$FLOWC" check --explain --simulate=gpu:1 "$root/examples/char_gpt.flow" >plan || fail "$(cat plan)"
sed -n '/^fit.step/,/^$/p' plan | grep -q ' on cpu' && fail "$(cat plan)"

# In a loop, in the turn that makes it; in a loop of a loop.
{ echo a; for i in 1 2 3 4 5 6 7 8; do echo "$i"; done; } >numbers.csv
cat >bad.flow <<'E2'
pipeline numbers -> (x: f32) { return csv("numbers.csv") |> map(x: column("a")) }
model net(x: f32[B]) -> f32[B, 6] {
  let h = dense(expand(x, 1), 6)
  scan s in 2 {
    scan t in 12 {
      let g = tanh(h)
      h = g +
        log(h * 0 + 20 - cast(t + 10 * s, f32)) * g
    }
  }
  return h
}
train fit {
  data = numbers() |> batch(4)
  let y = net(data.x)
  loss = mean(y)
  optimizer = sgd(0.1)
}
E2
expect 1 'first at multiply, bad.flow:8; of an infinity that began at log, bad.flow:8' "$FLOWC" run bad.flow $gpu

# Annotations hold.
sed 's/net(data.x)/net(data.x) @gpu(0)/; s/ 20 - / 99 - /' bad.flow >placed.flow
expect 0 simulated "$FLOWC" run placed.flow --device=cpu --simulate=gpu:1
sed -i 's/tanh(h)/tanh(h) @cpu/' placed.flow
expect 1 'gpu(0) is here, but the body of the loop asks for several devices' \
    "$FLOWC" run placed.flow --simulate=gpu:1
cat >records.flow <<'E2'
fn often(a: f32) -> f32 {
  let h = a
  scan t in 5 { h = tanh(h) + 1 }
  return h
}
pipeline numbers -> (x: f32) {
  return csv("numbers.csv") |> map(x: often(column("a")) @gpu)
}
train fit {
  data = numbers() |> batch(4)
  loss = mean(dense(expand(data.x, 1), 1) ^ 2)
  optimizer = sgd(0.1)
}
E2
expect 1 'gpu(0) is here, but a loop over what a record has runs on the CPU' \
    "$FLOWC" run records.flow --simulate=gpu:1
