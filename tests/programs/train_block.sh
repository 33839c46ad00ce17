# What a train block can say: gradients of several batches, clipping, averages, optimizers for some
# weights, what is saved and kept, when it stops; and all of it goes on bit for bit after a stop.
. tests/programs/lib/common.sh
program() { # name, size of a batch, entries and actions
    cat >"$1.flow" <<EOF
option rate = 0.1
option passes = 2
dim C = 10
fn pixels(image: u8[28, 28]) -> f32[784] { return image |> cast(f32) |> scale(1 / 255) |> flatten() }
pipeline digits -> (x: f32[784], y: i32 in 0..C) {
  return idx(image: "$data/t10k-images-idx3-ubyte.gz", label: "$data/t10k-labels-idx1-ubyte.gz")
      |> map(x: pixels(image), y: label)
}
model net(x: f32[B, 784]) -> f32[B, C] { return x |> dense(8) |> relu() |> dense(C) }
fn precision_of_zero(logits: f32[B, C], y: i32[B]) -> f32 {
  let hit = cast(argmax(logits, axis = -1) == 0, f32)
  return total(sum(hit * cast(y == 0, f32))) / total(sum(hit))
}
train fit {
  data = digits() |> batch($2)
  let logits = net(data.x)
  loss = cross_entropy(logits, data.y)
  metric = precision_of_zero(logits, data.y)
  epochs = passes
  $3
}
EOF
}
data=$root/examples/data
evaluate='evaluate digits() |> batch(1000)'
evaluated() { "$FLOWC" run "$@" 2>errors | grep ^evaluate | tail -n 1; }

# Two batches of half the size make the same update.
program whole 100 "optimizer = sgd(rate); every 1 epoch { $evaluate }"
program halves 50 "optimizer = sgd(rate); accumulate = 2; every 1 epoch { $evaluate }"
evaluated whole.flow >first && evaluated halves.flow >second
same first second

# A measure over the whole pass does not depend on how it is cut into batches.
program cut 100 "optimizer = sgd(rate); every 1 epoch { evaluate digits() |> batch(77) }"
evaluated cut.flow | sed 's/.*precision/precision/' >second
sed -i 's/.*precision/precision/' first
same first second

# Nothing is learned where the optimizer is `sgd(0)` for all weights, or where gradients are cut to 0.
program still 100 "optimizer \"*\" = sgd(0); optimizer = sgd(rate); every 1 epoch { $evaluate }"
program clipped 100 "optimizer = sgd(rate); clip_value = 0; every 1 epoch { $evaluate }"
program short 100 "optimizer = sgd(rate); clip_norm = 0; every 1 epoch { $evaluate }"
evaluated still.flow >first
for other in clipped short; do evaluated $other.flow >second && same first second; done

# The average that follows at once is the weight; the one that never moves is the first weight.
program follows 100 "optimizer = sgd(rate); ema = 0; every 1 epoch { $evaluate }"
program lags 100 "optimizer = sgd(rate); ema = 1; every 1 epoch { $evaluate }"
evaluated whole.flow >second && evaluated follows.flow >third && same second third
evaluated lags.flow >third && same first third

# Stopping and reducing when a measure stays.
program stops 100 "optimizer = sgd(0); every 1 epoch { $evaluate; stop patience(3, lowest = loss); save \"stops.safetensors\" }"
"$FLOWC" run stops.flow --passes=20 2>errors | wc -l | grep -qx 4 || fail "it did not stop after four"
grep -q 'stopped after step 400: loss was best' errors || fail "no word of stopping: $(cat errors)"
"$FLOWC" run stops.flow --passes=20 --resume >out 2>errors || fail "resuming what has stopped"
[ ! -s out ] || fail "it went on after it had stopped"
program reduces 100 "optimizer = sgd(0); every 1 epoch { $evaluate; reduce plateau(2, lowest = loss, factor = 0.5); print plateau }"
"$FLOWC" run reduces.flow --passes=5 2>errors | grep '^step 500: plateau = 0.25' >out || fail "$(cat errors)"

# What is saved, and going on from it.
everything='optimizer "*/b" = sgd(rate)
  optimizer = adam(1e-3 * plateau)
  accumulate = 3; clip_norm = 1; ema = 0.9
  every 1 epoch {
    evaluate digits() |> batch(1000)
    save best("best.safetensors", highest = precision_of_zero)
    save weights("weights.safetensors")
    reduce plateau(1, highest = precision_of_zero)
    print "saving"
    save keep("run.safetensors", 3)
  }'
program everything 64 "$everything"
"$FLOWC" run everything.flow --passes=4 >first 2>errors || fail "$(cat errors)"
[ -e run.1.safetensors ] && [ -e run.2.safetensors ] && [ ! -e run.3.safetensors ] || fail "three are to be kept"
mv run.safetensors whole && rm -f ./*.safetensors second
for passes in 1 3 4; do "$FLOWC" run everything.flow --passes=$passes --resume >>second 2>errors || fail "$(cat errors)"; done
same first second
cmp -s <(tail -c 60000 whole) <(tail -c 60000 run.safetensors) || fail "resumed, it ends with other weights"
tr -c 'a-z0-9/.' '\n' <weights.safetensors | grep -E '^(optimizer|accumulated|total)/' && fail "more than weights"
tr -c 'a-z0-9/.' '\n' <weights.safetensors | grep 'net/dense.1/w' >/dev/null || fail "no weights"


# No steps, no epochs: nothing is trained, and saved as it is. Less is a mistake.
cat >none.flow <<EOF
option steps = 10
option passes = 1
pipeline numbers -> (x: f32) { return range(8) |> map(x: cast(index, f32)) }
model net(x: f32[B]) -> f32[B, 1] { return dense(expand(x, 1), 1) }
train fit {
  data = numbers() |> batch(4)
  loss = mean(net(data.x) ^ 2)
  optimizer = sgd(0.1)
  steps = steps
  epochs = passes
  every 1 epoch { save "none.safetensors" }
}
EOF
for flag in --steps=0 --passes=0; do
    rm -f none.safetensors
    expect 0 '0 steps: nothing is trained' "$FLOWC" run none.flow $flag
    [ -f none.safetensors ] || fail "$flag saves nothing"
done
expect 2 'steps is -1; it must be a whole number, at least 0' "$FLOWC" run none.flow --steps=-1
expect 0 'training is complete after 0 steps' "$FLOWC" run none.flow --steps=0 --resume
"$FLOWC" run none.flow --resume 2>stderr || fail "what was saved untrained can't be trained: $(cat stderr)"

# What ends before its first `save` says so: its file, when it would have come, and how long the run was.
program unsaved 1000 "optimizer = sgd(rate); every 100 steps { save \"never.safetensors\" }"
expect 0 'unsaved: nothing was saved in never.safetensors: train `fit` saves it every 100 steps, and ended after 20 steps' "$FLOWC" run unsaved.flow
expect 0 'nothing was saved in other.safetensors: train `fit` saves it every 100 steps' "$FLOWC" run unsaved.flow --save=other.safetensors
[ ! -e never.safetensors ] && [ ! -e other.safetensors ] || fail "it was saved"
"$FLOWC" run unsaved.flow --passes=10 2>stderr || fail "$(cat stderr)"
if grep "nothing was saved" stderr; then fail "it was saved"; fi
program resumed 1000 "optimizer = sgd(rate); every 2 epochs { save \"resumed.safetensors\" }"
expect 0 'nothing was saved in resumed.safetensors: train `fit` saves it every 2 epochs, and ended after 1 epoch' "$FLOWC" run resumed.flow --passes=1 --resume
for flag in --passes=2 '--passes=3 --resume'; do
    "$FLOWC" run resumed.flow $flag 2>stderr || fail "$flag: $(cat stderr)"
    if grep "nothing was saved" stderr; then fail "$flag: it was saved after two epochs"; fi
done
program unplaced 1000 "optimizer = sgd(rate); every 1 epoch { save weights(\"net.safetensors\") }"
expect 0 'nothing was saved in other.safetensors: train `fit` has no `save` of the whole run' "$FLOWC" run unplaced.flow --save=other.safetensors
