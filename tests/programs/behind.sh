# What bytes are multiplied with goes behind the products that read them, if nothing else reads them.
. tests/programs/lib/common.sh
program() { # TRAIN's lines; what pixels are made of
    cat <<END
dim C = 10

pipeline digits(images: path, labels: path) -> (x: f32[784], y: i32 in 0..C) {
  return idx(image: images, label: labels) |> take(960) |> map(x: flatten($2), y: label)
}

train learn {
  data      = digits("$data/train-images-idx3-ubyte.gz", "$data/train-labels-idx1-ubyte.gz")
      |> batch(32)
  let z     = data.x |> dense(100) |> relu() |> dense(C)
  loss      = cross_entropy(z, data.y)
  optimizer = sgd(0.1)
  epochs    = 2
  $1
  every 1 epoch { save weights("weights.safetensors") }
}
END
}
scaled='scale(cast(image |> : u8[28, 28], f32), 1 / 255)'
evaluates="every 1 epoch { evaluate digits(\"$data/t10k-images-idx3-ubyte.gz\", \"$data/t10k-labels-idx1-ubyte.gz\") |> batch(1000) }"
means='metric = mean(data.x)'
last() { grep '^epoch 2' stderr | sed 's/.*loss=\([0-9.]*\).*/\1/'; }
# Does the function of a record multiply?
multiplies() {
    "$FLOWC" run "$1" --dump-ir=differentiate --epochs=0 "${@:2}" 2>&1 | awk '/^graph/{p=/digits.record/} p' >record
    grep -q 'result "x"' record || fail "no function of a record: $(cat record)"
    grep -q ' = multiply' record
}

program "$evaluates" "$scaled" >behind.flow
program "$means" "$scaled" >read.flow
program '' "($scaled - 0.5)" >shifted.flow
! multiplies behind.flow || fail "records are multiplied: $(cat record)"
multiplies behind.flow --exact || fail "not so with --exact"
multiplies read.flow || fail "a metric reads x, too"
multiplies shifted.flow || fail "what is added does not go behind"
sed 's/  optimizer = .*/&\n  precision = bf16/' behind.flow >half.flow
multiplies half.flow || fail "products of bf16 round what is multiplied"
sed 's/dense(100)/dense(900)/' behind.flow >wide.flow
multiplies wide.flow || fail "products that are larger than x take more to multiply"
# What flows back to a product flows back to its bias, too, but for the factor: it is stored once.
"$FLOWC" check behind.flow --dump-ir=plan >plan 2>&1 || fail "$(cat plan)"
grep -A 1 'matmul, select, multiply$' plan | grep -q 'writes f32\[B, 100\]$' || fail "stored twice: $(cat plan)"
# Both ways give the same, but for rounding.
for how in "" --exact; do
    FLOWC_PROGRESS=plain "$FLOWC" run behind.flow $how --seed=3 >stdout 2>stderr || fail "$(cat stderr)"
    losses+=("$(last)")
done
[ -n "${losses[0]}" ] || fail "no loss: $(cat stderr)"
awk -v a="${losses[0]}" -v b="${losses[1]}" 'BEGIN { exit !((a - b) ^ 2 < (1e-3 * b) ^ 2) }' || fail "losses differ: ${losses[*]}"
for threads in 1 2 7; do
    "$FLOWC" run behind.flow --seed=3 --threads=$threads >stdout 2>stderr || fail "$(cat stderr)"
    mv weights.safetensors $threads.safetensors
    same 1.safetensors $threads.safetensors
done
