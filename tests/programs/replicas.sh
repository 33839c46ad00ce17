# `replicas`: each simulated GPU computes its share of a batch; losses, metrics and weights are those
# of one device but for rounding, whatever the number of replicas and the records in the last batch,
# whether NCCL adds up or copies between GPUs do.
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
    for count in 1 2 3 "3 --all-reduce=peer"; do
        "$FLOWC" run --simulate=gpu:$count $name.flow --progress=plain >found 2>err || fail "$name, $count: $(cat err)"
        grep -oE '^epoch [^:]*: loss=[^ ]*' err >>found
        close out found
        weights w.safetensors >found
        close kept found
    done
    cp w.safetensors first
    FLOWC_SIMULATE_SEED=7 "$FLOWC" run --simulate=gpu:3 --all-reduce=peer $name.flow >again 2>err || fail "$(cat err)"
    same first w.safetensors # to the bit
    for seed in 1 7; do
        FLOWC_SIMULATE_SEED=$seed "$FLOWC" run --simulate=gpu:3 --exact $name.flow >again 2>err || fail "$(cat err)"
        [ $seed = 7 ] || cp w.safetensors first
        same first w.safetensors
    done
done

# A share of no records: the depth of a product whose operands the GPU brings by itself.
cat >none.flow <<'END'
train fit {
  data      = range(1) |> map(x: random_normal([1024]), y: argmax(random_normal([4]))) |> batch(2)
  loss      = cross_entropy(data.x |> dense(1024) |> dense(4), data.y)
  optimizer = sgd(0.1)
  precision = bf16
  replicas  = gpus(all)
}
END
"$FLOWC" check --explain --simulate=gpu:2 none.flow >explained 2>&1 || fail "$(cat explained)"
grep -q 'cuda_ring.h on sm_90' explained || fail "no ring"
FLOWC_SIMULATE_CHECKS=0 "$FLOWC" run --simulate=gpu:2 none.flow >out 2>err || fail "$(cat err)"

# A step that goes wrong while others are on their way is made again of its records.
sed '/clip_norm\|ema/d; s/adamw(0.01)/sgd(0.1 \/ (5 - step))/' mlp.flow >wrong.flow
for order in nccl peer; do
    expect 1 'the update of `dense/w` is infinite at step 6 (epoch 2): first at divide' "$FLOWC" run --simulate=gpu:2 --all-reduce=$order wrong.flow
done

# What NCCL meets ends the run, as any fault of a GPU: what was saved stays, and is resumed from.
FLOWC_SIMULATE_FAULT=ncclCommInitAll:1:SYSTEM_ERROR expect 3 "can't connect them: unhandled system error" "$FLOWC" run --simulate=gpu:2 cnn.flow
FLOWC_SIMULATE_FAULT=ncclGroupEnd:3 expect 3 '(1); NCCL_DEBUG=WARN says more; --all-reduce=peer' "$FLOWC" run --simulate=gpu:2 cnn.flow
FLOWC_SIMULATE_FAULT=ncclCommGetAsyncError:2:SYSTEM_ERROR expect 3 "can't go on: unhandled system error" "$FLOWC" run --simulate=gpu:2 cnn.flow
sed 's/save weights(.*)/save "c.safetensors"/' mlp.flow >saved.flow
"$FLOWC" run --simulate=gpu:2 --all-reduce=peer saved.flow >whole 2>err || fail "$(cat err)"
weights c.safetensors >kept && rm c.safetensors
FLOWC_SIMULATE_LOSE=ncclAllReduce:120:1000000 expect 3 "can't go on: remote process exited" "$FLOWC" run --simulate=gpu:2 saved.flow
"$FLOWC" run --simulate=gpu:2 saved.flow --resume >rest 2>err || fail "$(cat err)"
weights c.safetensors >found && close kept found
expect 2 'is nccl or peer, not `ring`' "$FLOWC" run --simulate=gpu:2 --all-reduce=ring cnn.flow
expect 2 'not with --all-reduce=nccl' "$FLOWC" run --simulate=gpu:2 --exact --all-reduce=nccl cnn.flow

"$FLOWC" devices --simulate=gpu:2 >said
grep -q '^Replicas add up by NCCL 2.27.3' said || fail "$(cat said)"

# What explain says; no more replicas than GPUs; records stay where they are.
"$FLOWC" explain --simulate=gpu:3 mlp.flow >said
grep -q 'replicas: 3, of 2 to 3 of 8 records each, all-reduce of 1[0-9]* B a step by NCCL 2.27.3 ' said || fail "$(cat said)"
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
env -u FLOWC_DEVICE FLOWC_NCCL=none.so FLOWC_LIBCUDA="$standin" FLOWC_LIBNVRTC="$standin" FLOWC_SIMULATE=gpu:3 \
    "$FLOWC" explain mlp.flow >said
grep -A 1 "a step, which can't be done here: NCCL can't be loaded (FLOWC_NCCL): none.so: cannot open" said | grep -q '^    ' || fail "$(cat said)"
sed 's/gpus(all)/4/' mlp.flow >four.flow
expect 1 'gpu(3) is not on this machine' "$FLOWC" run --simulate=gpu:2 four.flow
sed 's/data.x |> dense(16)/flip(data.x, axis = 0) |> dense(16)/' mlp.flow >flipped.flow
expect 1 'error[E0214]' "$FLOWC" run --simulate=gpu:2 flipped.flow
grep -q '`flip` goes from record to record here, and each replica has records of its own' stderr || fail "$(cat stderr)"
# `check` finds it wherever it could be so.
sed 's/data.x |> dense(16)/data.x |> standardise() |> dense(16)/' mlp.flow >fitted.flow
for flags in "" --simulate=gpu:2; do expect 1 '`standardise` goes from record to record' "$FLOWC" check $flags fitted.flow; done
for flags in "--simulate=gpu:1 fitted" mlp; do "$FLOWC" check $flags.flow 2>err || fail "$(cat err)"; done
sed -i 's/standardise()/& @cpu/' fitted.flow && "$FLOWC" check fitted.flow 2>err || fail "$(cat err)"
sed 's/dense(4)$/dense(4) @gpu(1)/' mlp.flow >placed.flow
expect 1 'error[E0305]' "$FLOWC" run --simulate=gpu:2 placed.flow
sed 's/dense(16) |> relu()/dense(16) |> relu() @cpu/' mlp.flow >mixed.flow
"$FLOWC" run --simulate=gpu:2 mixed.flow >mixed 2>err || fail "$(cat err)"
"$FLOWC" run --simulate=gpu:1 mlp.flow >whole 2>err || fail "$(cat err)"
close whole mixed
