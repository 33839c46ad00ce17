# A bounded dimension on GPUs: what they are given of a batch is as large as the run has it, also of an
# earlier step that went wrong.
. tests/programs/lib/common.sh
cat >train.flow <<'END'
dim T <= 64

pipeline drawn(n: int) -> (x: f32[T, 12], y: i32 in 0..4) {
  return range(n) |> map(x: random_normal([T, 12]), y: argmax(random_normal([4])))
}

train fit {
  data = drawn(70) |> batch(8)
  let count = size(data.y)
  let rows = reshape(data.x, [count * T, 12]) |> dense(4)
  let logits = sum(reshape(rows, [count, T, 4]), axis = 1) / T
  loss = cross_entropy(logits, data.y)
  metric = [mean(data.x), max(logits)]
  optimizer = sgd(0.1)
  epochs = 2
  every 1 epoch { evaluate drawn(9) |> batch(4) }
}
END
sed 's/sgd(0.1)/sgd(0.1 \/ (6 - step))/' train.flow >update.flow
sed 's|random_normal(\[T, 12\])|& * (cast(index, f32) - 50) / (cast(index, f32) - 50)|' train.flow >field.flow
gpu="--device=gpu --simulate=gpu:1"

for size in 3 64; do
    "$FLOWC" run train.flow --T=$size >expected 2>stderr || fail "$(cat stderr)"
    for workers in 0 1; do
        "$FLOWC" run train.flow $gpu --T=$size --workers=$workers >out 2>stderr || fail "$size: $(cat stderr)"
        same out expected
    done
done

# The seventh step goes wrong while others are on their way.
wrong() { # program, what is said
    for device in "" "$gpu"; do
        expect 1 "at step 7 (epoch 1): first $2" "$FLOWC" run "$1.flow" $device --T=3
        grep error: stderr >>"$1.errors"
    done
    [ "$(sort -u "$1.errors" | wc -l)" = 1 ] || fail "$(cat "$1.errors")"
}
wrong update "at divide"
wrong field 'in `drawn.x` of record 3 of the batch'

# A batch of one.
sed 's/drawn(70) |> batch(8)/drawn(3) |> batch(1)/; s/drawn(9) |> batch(4)/drawn(2) |> batch(1)/' train.flow >single.flow
"$FLOWC" run single.flow --T=3 >expected 2>stderr || fail "$(cat stderr)"
"$FLOWC" run single.flow $gpu --T=3 >out 2>stderr || fail "$(cat stderr)"
same out expected
