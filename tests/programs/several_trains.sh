# Several train blocks and exports in one file: named on the command line, weights shared by name.
. tests/programs/lib/common.sh
small_data
sed '/^train fit/,$d' "$digits" >p.flow
cat >>p.flow <<'END'
train fit {
  data      = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz") |> batch(batch_size)
  loss      = cross_entropy(classifier(data.x), data.y)
  optimizer = adam(rate)
  every 1 epoch { save "fit.safetensors" }
}
train tune {
  data      = digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz") |> batch(50)
  let y     = classifier(data.x)
  loss      = cross_entropy(y, data.y)
  metric    = accuracy(y, data.y)
  optimizer = adam(rate)
  every 1 epoch {
    evaluate digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz") |> batch(50)
    save "tune.safetensors"
  }
}
export classify(image: u8[28, 28]) -> (label: i32, p: f32[C]) {
  return image |> pixels() |> classifier() |> softmax() |> top1()
}
export brightest(image: u8[28, 28]) -> i32 { return max(cast(image, i32)) }
END
expect 2 "There are: fit, tune" "$FLOWC" run p.flow
expect 2 'no train block `tun`; did you mean `tune`?' "$FLOWC" run p.flow tun
"$FLOWC" run p.flow --help >help
grep -q '^  tune$' help || fail "--help does not list the train blocks: $(cat help)"
"$FLOWC" run p.flow fit --seed=3
[ -s fit.safetensors ] && [ ! -e tune.safetensors ] || fail "fit was not what ran"

# The second begins with random weights too, though the first declares them.
"$FLOWC" run p.flow tune --seed=3 >tune
awk -F'accuracy=' '/^evaluate/ { exit !($2 > 0.5) }' tune || fail "$(cat tune)"
"$FLOWC" build p.flow -o trainer
rm tune.safetensors
./trainer tune --seed=3 >built
same tune built
expect 2 "There are: fit, tune" ./trainer
"$FLOWC" build p.flow tune -o tuner
./tuner --seed=3 >built
same tune built

"$FLOWC" export p.flow brightest -o lib
grep -q p_brightest lib/p.h || fail "not exported"
if grep -q p_classify lib/p.h; then fail "exported though not named"; fi
expect 2 'no export `brighter`' "$FLOWC" export p.flow brighter -o lib
expect 2 'not expected' "$FLOWC" check p.flow fit
