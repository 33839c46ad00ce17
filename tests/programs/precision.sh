# `precision = bf16`: products of rounded operands, in what is as good a model; weights stay f32.
. tests/programs/lib/common.sh
program() { # name, entries
    cat >"$1.flow" <<EOF
dim C = 10
fn pixels(image: u8[28, 28]) -> f32[28, 28, 1] { return image |> cast(f32) |> scale(1 / 255) |> expand(2) }
pipeline digits -> (x: f32[28, 28, 1], y: i32 in 0..C) {
  return idx(image: "$data/t10k-images-idx3-ubyte.gz", label: "$data/t10k-labels-idx1-ubyte.gz")
      |> map(x: pixels(image), y: label)
}
model net(x: f32[B, 28, 28, 1]) -> f32[B, C] {
  let seen = x |> conv2d(4, kernel = 5, stride = 2) |> relu()
  let read = simple_rnn(reshape(x, [B, 28, 28]), 8)
  return concat([flatten(seen), last(read)]) |> dense(32) |> relu() |> dense(C)
}
train fit {
  data = digits() |> batch(100)
  let logits = net(data.x)
  loss = cross_entropy(logits, data.y)
  metric = accuracy(logits, data.y)
  optimizer = adam(2e-3)
  epochs = 2
  every 2 epochs { evaluate digits() |> batch(1000); save weights("$1.safetensors") }
  $2
}
EOF
}
accuracy() { "$FLOWC" run "$@" 2>errors | sed 's/.*accuracy=//'; }

program exact ''
program rounded 'precision = bf16'
exact=$(accuracy exact.flow) && rounded=$(accuracy rounded.flow) || fail "$(cat errors)"
awk "BEGIN { exit !($exact > 0.9 && $rounded > $exact - 0.003) }" || fail "f32: $exact, bf16: $rounded"
cmp -s exact.safetensors rounded.safetensors && fail "nothing was rounded"
grep -aq bf16 rounded.safetensors && fail "weights are stored as bf16"
mv rounded.safetensors first
accuracy rounded.flow --threads=3 >/dev/null && same first rounded.safetensors

# f32 is what it is without a word.
sed 's/precision = bf16/precision = f32/' rounded.flow >plain.flow
for name in exact plain; do "$FLOWC" check --dump-ir=precision $name.flow | sed "s,  *# .*,," >$name.graph; done
same exact.graph plain.graph

# Both operands of each product lie in memory as bf16; what is deployed computes in f32.
"$FLOWC" check --dump-ir=precision rounded.flow >graph
sed -n '/fit.step/,/fit.evaluate/p' graph | grep -c ' = cast .* : bf16' >count
[ "$(cat count)" -ge 10 ] || fail "few casts: $(cat count)"
sed -n '/fit.evaluate/,$p' graph | grep -q bf16 && fail "evaluate rounds"

# A bias is taught by a sum of what products read, rounded; but where others read it too, as it is.
cat >biases.flow <<'EOF'
model net(x: f32[B, 8]) -> f32[B, 16] {
  let first = x |> dense(16)
  return first + (relu(first) |> dense(16))
}
pipeline numbers -> (x: f32[8]) { return range(64) |> map(x: random_normal([8])) }
train fit {
  data = numbers() |> batch(16)
  let y = net(data.x) - 1
  loss = mean(y * y)
  optimizer = sgd(0.1)
  precision = bf16
}
EOF
"$FLOWC" check --dump-ir=precision biases.flow | sed -n "/fit.step/,\$p" >graph
for sum in $(sed -n 's/.* = sum \(%[0-9]*\) axes=\[0\] .*/\1/p' graph); do
    sed -n "s/.* $sum = \([a-z]*\) .*/\1/p" graph
done >sums
[ "$(sort sums | tr '\n' ' ')" = 'add cast ' ] || fail "sums of $(cat sums)"

# Parts of one product of rounded operands are read where they lie; the C is without a warning.
cat >parts.flow <<'EOF'
model attend(x: f32[B, T, E]) -> f32[B, T, E] {
  let (q, k, v) = x |> dense(3 * E) |> split(3, axis = -1)
  return softmax(matmul(q, transpose(k))) |> matmul(v) |> dense(E)
}
pipeline numbers -> (x: f32[6, 16]) { return range(64) |> map(x: random_normal([6, 16])) }
train fit {
  data = numbers() |> batch(16)
  let y = attend(data.x)
  loss = mean(y * y)
  optimizer = sgd(0.1)
  precision = bf16
  every 1 epoch { evaluate numbers() |> batch(16) }
}
EOF
"$FLOWC" run parts.flow --progress=off 2>warnings | grep -q 'loss=0\.' || fail "$(cat warnings)"
! grep -q warning warnings || fail "$(cat warnings)"
