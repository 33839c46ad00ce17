# A run that shares its processors anew while it goes on gives the same weights as one that does not, and
# says at its end how they were shared.
. tests/programs/lib/common.sh
cat >sum.flow <<'END'
pipeline numbers() -> (x: f32[64]) {
  return range(20000) |> shuffle(seed = 1) |> map(x: sort(random_normal([64], key = index)))
}

train fit {
  data = numbers() |> batch(16)
  loss = mean(dense(data.x, 1) ^ 2)
  optimizer = sgd(0.0001)
  epochs = 4
  every 4 epochs {
    save weights("sum.safetensors")
  }
  every 3 epochs {
    save "run.safetensors"
  }
}
END
"$FLOWC" build sum.flow -o sum
./sum
mv sum.safetensors fixed.safetensors
FLOWC_TUNE=on FLOWC_PROGRESS=plain ./sum 2>stderr
tail -n 1 stderr | grep -qE '(input|step)-bound [0-9]+ %: (map|range) .*, step .*; [0-9]+ workers? and [0-9]+ threads?(, up to [0-9]+ batch(es)? ready)?$' || fail "$(cat stderr)"
same sum.safetensors fixed.safetensors
rm sum.safetensors
FLOWC_TUNE=on ./sum --resume=run.safetensors
same sum.safetensors fixed.safetensors

# A queue becomes no deeper than the program says, nor than a limit leaves; it is told at the end.
told() { tail -n 1 stderr | grep -qE "$1" || fail "not '$1': $(cat stderr)"; }
sed 's/batch(16)/batch(16)  @queue(5)/' sum.flow >queued.flow
"$FLOWC" build queued.flow -o queued
FLOWC_TUNE=on FLOWC_PROGRESS=plain ./queued 2>stderr
told '; 1 worker and [0-9]+ threads?, up to 5 batches ready$'
same sum.safetensors fixed.safetensors
FLOWC_TUNE=on FLOWC_PROGRESS=plain ./sum --workers=2 --threads=2 --memory=200KiB 2>stderr
told '; 2 workers and 2 threads, up to ([7-9]|[1-9][0-9]) batches ready$'
same sum.safetensors fixed.safetensors
FLOWC_PROGRESS=plain ./sum --workers=2 --threads=2 2>stderr
told '; 2 workers and 2 threads, up to 7 batches ready$'
