# Random numbers of training: others for each batch, the same in each run, and after a stop.
. tests/programs/lib/common.sh
program() { # name, entries
    cat >"$1.flow" <<EOF
option passes = 1
pipeline numbers -> (i: i64) { return range(40) |> map(i: index) }
model drops(i: i64[B]) -> (f32, f32, f32) {
  weight w: f32 = 0
  state last: f32 = 0
  state changes: f32 = 0
  let kept = mean(dropout(broadcast(1.0, [B, 50])))
  changes = changes + select(kept == last, 0, 1)
  last = kept
  return (w * kept, changes, kept)
}
train fit {
  data = numbers() |> batch(4)
  let (result, changes, kept) = drops(data.i)
  loss = result
  metric = [kept, changes]
  optimizer = sgd(0.1)
  epochs = passes
  $2
}
EOF
}
evaluate='every 1 epoch { evaluate numbers() |> batch(40); save "run.safetensors" }'
changes() { tail -n 1 "$1" | sed 's/.*=\(-*[0-9]*\)[.].*/\1/'; }

# Ten batches in an epoch, of which few may leave out as many values as the one before.
for entries in "" "accumulate = 2;"; do
    rm -f run.safetensors
    program drops "$entries $evaluate"
    "$FLOWC" run drops.flow --passes=3 >first 2>errors || fail "$(cat errors)"
    [ "$(changes first)" -gt 20 ] || fail "the same numbers in each batch: $(cat first)"
    "$FLOWC" run drops.flow --passes=3 >second 2>errors && same first second
    "$FLOWC" run drops.flow --passes=3 --seed=5 >second 2>errors || fail "$(cat errors)"
    cmp -s first second && fail "the same numbers for another seed"
    rm run.safetensors second
    for passes in 1 2 3; do
        "$FLOWC" run drops.flow --passes=$passes --resume >>second 2>errors || fail "$(cat errors)"
    done
    same first second
done
exit 0
