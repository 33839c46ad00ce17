# A perceptron, a convolutional network and a small GPT learn the same on each level of processor that
# this machine has, but for rounding; on one of them to the bit, with 1, 2 and 7 threads.
. tests/programs/lib/common.sh
small_data
ln -s "$data/tinyshakespeare.txt.gz" data/
cat >models.flow <<'EOF'
option width = 32

pipeline digits() -> (x: f32[28, 28, 1], y: i32 in 0..10) {
  return idx(image: "data/train-images-idx3-ubyte.gz", label: "data/train-labels-idx1-ubyte.gz")
      |> shuffle(seed = 7)
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> scale(1 / 255) |> expand(-1), y: label)
}

model perceptron(x: f32[B, 28, 28, 1]) -> f32[B, 10] {
  return x |> flatten() |> dense(width) |> relu() |> dense(10)
}

model convolutions(x: f32[B, 28, 28, 1]) -> f32[B, 10] {
  return x |> conv2d(8) |> max_pool2d() |> relu() |> conv2d(16) |> max_pool2d() |> relu() |> flatten() |> dense(10)
}

train mlp {
  data      = digits() |> batch(64)
  loss      = cross_entropy(perceptron(data.x), data.y)
  optimizer = sgd(0.1, momentum = 0.9)
  steps     = 100
  every 100 steps { save "mlp" }
}

train cnn {
  data      = digits() |> batch(64)
  loss      = cross_entropy(convolutions(data.x), data.y)
  optimizer = sgd(0.05, momentum = 0.9)
  steps     = 100
  every 100 steps { save "cnn" }
}

pipeline text_windows() -> (x: i32[32] in 0..128, y: i32[32] in 0..128) {
  return text("data/tinyshakespeare.txt.gz")
      |> window(33, 33)
      |> map(x: cast(byte[:-1], i32), y: cast(byte[1:], i32))
}

model transformer(ids: i32[B, T] in 0..128) -> f32[B, T, 128] {
  weight position: f32[32, width] = normal(0.02)
  let x = embedding(ids, width, 0.02) + gather(position, iota(T))
  return x |> transformer_block(4, causal = true) |> layer_norm() |> dense(128)
}

train gpt {
  data      = text_windows() |> shuffle(seed = 7) |> batch(16)
  loss      = cross_entropy(transformer(data.x), data.y)
  optimizer = sgd(0.05, momentum = 0.9)
  steps     = 100
  every 100 steps { save "gpt" }
}
EOF

levels=x86-64
for level in x86-64-v3 x86-64-v4; do
    if /lib64/ld-linux-x86-64.so.2 --help | grep -q "$level (supported"; then levels+=" $level"; fi
done
for level in $levels; do
    "$FLOWC" build models.flow --target="$level" -o models.$level >/dev/null
    for model in mlp cnn gpt; do
        for threads in 1 2 7; do
            ./models.$level $model --threads=$threads >/dev/null
            mv $model $model.$level.$threads
            same $model.$level.1 $model.$level.$threads
        done
    done
done

# Each tensor's difference to that of the lowest level, beside the largest of its numbers.
python3 - $levels <<'EOF'
import array, json, sys

def tensors(path):
    content = open(path, "rb").read()
    size = int.from_bytes(content[:8], "little")
    for name, tensor in json.loads(content[8 : 8 + size]).items():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            yield name, array.array("f", content[8 + size + begin : 8 + size + end])

compared = 0
for model in "mlp", "cnn", "gpt":
    lowest = dict(tensors(f"{model}.{sys.argv[1]}.1"))
    for level in sys.argv[2:]:
        for name, values in tensors(f"{model}.{level}.1"):
            difference = max(abs(a - b) for a, b in zip(values, lowest[name], strict=True))
            largest = max(map(abs, lowest[name]))  # 0: another model's
            assert difference <= 1e-4 * largest, f"{model}, {level}: {name} differs by {difference:.2g} of {largest:.2g}"
            compared += largest > 0
print(f"{compared} tensors alike on {len(sys.argv) - 1} levels")
assert compared or len(sys.argv) == 2, "nothing is compared"
EOF
