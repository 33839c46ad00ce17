# Batches that may overtake each other: every record comes once, and a run that was stopped goes on to
# the end of its epochs without losing one.
. tests/programs/lib/common.sh
cat >numbers.flow <<'END'
pipeline numbers() -> (index: i64) {
  return range(1003) |> shuffle(seed = 1)
}

pipeline ordered {
  return numbers() |> batch(10) |> unbatch() |> csv("ordered.csv")
}
pipeline unordered {
  return numbers() |> batch(10, ordered = false) |> unbatch() |> csv("unordered.csv")
}

train fit {
  data = numbers() |> batch(10, ordered = false)
  loss = mean(dense(expand(cast(data.index, f32), 1) * 0.001, 1) ^ 2)
  optimizer = sgd(0.01)
  epochs = 3
  every 50 steps {
    save "fit.safetensors"
  }
}
END
"$FLOWC" build numbers.flow -o numbers
./numbers ordered
for workers in 0 1 3; do
    ./numbers unordered --workers=$workers
    sort ordered.csv >expected
    sort unordered.csv >found
    same expected found
done
./numbers fit --workers=3
for kill in 1 2 3; do
    rm -f fit.safetensors
    ./numbers fit --workers=3 2>stderr & child=$!
    until_true '[ -e fit.safetensors ]'
    kill -KILL $child 2>/dev/null || true
    wait $child || true
    ./numbers fit --resume --workers=2
done
