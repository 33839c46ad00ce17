# A built trainer gives the bytes of `flowc run`, with any number of threads and workers.
. tests/programs/lib/common.sh
small_data
"$FLOWC" run "$digits" --epochs=2 >run.out
mv digits.safetensors run.safetensors
"$FLOWC" build "$digits" -o trainer
for threads in 1 2 7; do
    for workers in 0 1 3; do
        ./trainer --epochs=2 --threads=$threads --workers=$workers >built.out
        same run.out built.out
        same run.safetensors digits.safetensors
    done
done

# agree PROGRAM SAVED: the weights after an epoch are the same with any number of threads.
agree() {
    "$FLOWC" build "$1" -o agreeing
    for threads in 1 2 7; do
        ./agreeing --epochs=1 --threads=$threads >/dev/null
        mv "$2" $threads.safetensors
    done
    same 1.safetensors 2.safetensors
    same 1.safetensors 7.safetensors
}

# Updates of columns that end within a tile are rounded alike wherever threads divide them.
sed 's/dense(256)/dense(84)/; s/optimizer .*/optimizer = sgd(rate)/' "$digits" >narrow.flow
grep -q 'dense(84)' narrow.flow && grep -q 'sgd(rate)' narrow.flow || fail "the example has changed"
agree narrow.flow digits.safetensors

# So is all of LeNet.
sed 's/conv2d(32)/conv2d(6, 5, padding = "same")/; s/conv2d(64)/conv2d(16, 5)/; s/dense(128)/dense(84)/
    s/optimizer .*/optimizer = sgd(rate)/' "$root/examples/digits_cnn.flow" >lenet.flow
grep -q 'conv2d(16, 5)' lenet.flow && grep -q 'dense(84)' lenet.flow || fail "the example has changed"
agree lenet.flow digits_cnn.safetensors

# So are updates that make several results of a sum which other batches have begun.
sed 's/dense(256)/dense(8)/; s/optimizer .*/optimizer = adam(1e-3); accumulate = 3; ema = 0.9/' "$digits" >adam.flow
grep -q 'dense(8)' adam.flow && grep -q 'accumulate' adam.flow || fail "the example has changed"
agree adam.flow digits.safetensors

# So are those with a factor for each column: it is loaded between a product and what that is added to.
cat >scaled.flow <<END
option epochs = 1 "passes over the images"
pipeline digits() -> (x: f32[784], y: i32 in 0..10) {
  return idx(image: "data/train-images-idx3-ubyte.gz", label: "data/train-labels-idx1-ubyte.gz")
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> scale(1/255) |> flatten(), y: label)
}
model net(x: f32[B, 784]) -> f32[B, 10] {
  weight w: f32[64, 120] = glorot_uniform()
  weight s: f32[120]     = ones()
  return matmul(x |> dense(64) |> tanh(), w * s) |> dense(10)
}
train fit {
  data      = digits() |> batch(37)
  loss      = cross_entropy(net(data.x), data.y)
  optimizer = adam(2e-3)
  epochs    = epochs
  every 1 epoch { save "scaled.safetensors" }
}
END
agree scaled.flow scaled.safetensors
