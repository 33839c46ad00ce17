# `replicas`: each simulated GPU computes its share of a batch; losses, metrics and weights are those
# of one device but for rounding, whatever the number of replicas and the records in the last batch.
. tests/programs/lib/common.sh
cat >mlp.flow <<'END'
pipeline drawn(n: int) -> (x: f32[12], y: i32 in 0..4) {
  return range(n) |> map(x: random_normal([12]), y: argmax(random_normal([4])))
}

train fit {
  data      = drawn(22) |> batch(8)
  let p     = data.x |> dense(16) |> relu() |> layer_norm() |> dropout(0.3) |> dense(4)
  loss      = cross_entropy(p, data.y)
  metric    = [accuracy(p, data.y), max(p), mean(data.x * random_normal([12]))]
  optimizer = adamw(0.01)
  clip_norm = 0.5
  ema       = 0.9
  epochs    = 2
  replicas  = gpus(all)
  every 1 epoch {
    evaluate drawn(9) |> batch(4)
    save weights("w.safetensors")
  }
}
END
cat >cnn.flow <<'END'
model net(x: f32[B, 6, 6, 3]) -> f32[B, 4] {
  weight k: f32[3, 3, 3, 8] = glorot_uniform()
  return convolve2d(x, k) |> batch_norm() |> relu() |> max_pool2d(2) |> flatten() |> dense(4)
}

train fit {
  data         = range(20) |> map(x: random_normal([6, 6, 3]), y: argmax(random_normal([4]))) |> batch(8)
  loss         = cross_entropy(net(data.x), data.y)
  optimizer    = sgd(0.1)
  microbatches = 2
  replicas     = gpus(all)
  every 1 epoch { save weights("w.safetensors") }
}
END


# The same numbers to three digits.
close() {
    paste "$1" "$2" | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat "$2"), not $(cat "$1")"
}
weights() { # file: its weights as numbers
    python3 - "$1" <<'END'
import json, struct, sys
content = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", content[:8])[0]
for name, value in sorted(json.loads(content[8 : 8 + size]).items()):
    if name == "__metadata__" or value["dtype"] != "F32": continue
    begin, end = value["data_offsets"]
    for number in struct.unpack(f"<{(end - begin) // 4}f", content[8 + size + begin : 8 + size + end]): print(f"{name}={number:.6f}")
END
}
for name in mlp cnn; do
    "$FLOWC" run --soft-placement $name.flow --progress=plain >out 2>err || fail "$(cat err)"
    grep -q 'replicas is one on the CPU: no GPU here' err || fail "$(cat err)"
    grep -oE '^epoch [^:]*: loss=[^ ]*' err >>out
    weights w.safetensors >kept
    for count in 1 2 3; do
        "$FLOWC" run --simulate=gpu:$count $name.flow --progress=plain >out.$count 2>err || fail "$name, $count: $(cat err)"
        grep -oE '^epoch [^:]*: loss=[^ ]*' err >>out.$count
        close out out.$count
        weights w.safetensors >kept.$count
        close kept kept.$count
    done
    cp w.safetensors first
    "$FLOWC" run --simulate=gpu:3 $name.flow >again 2>err || fail "$(cat err)"
    same first w.safetensors # to the bit
done

# What explain says; no more replicas than GPUs; records stay where they are.
"$FLOWC" explain --simulate=gpu:3 mlp.flow >said
grep -q 'replicas: 3, of 2 to 3 of 8 records each, all-reduce of 1[0-9]* B a step' said || fail "$(cat said)"
sed 's/gpus(all)/4/' mlp.flow >four.flow
expect 1 'gpu(3) is not on this machine' "$FLOWC" run --simulate=gpu:2 four.flow
sed 's/data.x |> dense(16)/flip(data.x, axis = 0) |> dense(16)/' mlp.flow >flipped.flow
expect 1 'error[E0214]' "$FLOWC" run --simulate=gpu:2 flipped.flow
grep -q 'each replica has records of its own' stderr || fail "$(cat stderr)"
sed 's/dense(4)$/dense(4) @gpu(1)/' mlp.flow >placed.flow
expect 1 'error[E0305]' "$FLOWC" run --simulate=gpu:2 placed.flow
sed 's/dense(16) |> relu()/dense(16) |> relu() @cpu/' mlp.flow >mixed.flow
"$FLOWC" run --simulate=gpu:2 mixed.flow >mixed 2>err || fail "$(cat err)"
"$FLOWC" run --simulate=gpu:1 mlp.flow >whole 2>err || fail "$(cat err)"
close whole mixed
