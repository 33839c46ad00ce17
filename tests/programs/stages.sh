# `@gpu` in pipelines: stages run on GPUs, in any order with those on the CPU, and give what the CPU gives.
. tests/programs/lib/common.sh
seq 0 99 >numbers.txt
cp "$data"/train-*-ubyte.gz .

# alike NAME: what the program prints on two simulated GPUs is what it prints without `@gpu`. Numbers are whole, so
# all digits are the same; some kernel runs on a GPU.
alike() {
    local name=$1
    shift
    sed 's/ *@gpu([01])//g; s/ *@gpu//g' "$name.flow" >"$name.cpu.flow"
    "$FLOWC" check --explain --simulate=gpu:2 "$name.flow" >explain
    grep -qE 'kernel .* on gpu\(' explain || fail "$name: nothing runs on a GPU: $(cat explain)"
    "$FLOWC" run "$name.cpu.flow" "$@" >expected 2>stderr || fail "$name: $(cat stderr)"
    "$FLOWC" run --simulate=gpu:2 "$name.flow" "$@" >out 2>stderr || fail "$name: exit $?: $(cat stderr)"
    [ -s out ] || fail "$name prints nothing"
    same out expected
}

# GPU, CPU, GPU; a last block that is not full; sums and tables; two outputs with one value.
cat >order.flow <<'END'
fn wave(x: i32) -> i32[70] { return remainder(iota(70) * x, 13) }
pipeline order {
  return range(101)
      |> map(n: cast(index, i32), w: wave(cast(index, i32)))  @gpu
      |> map(n, w, s: sum(w), t: w[3])  @cpu
      |> map(n, k: w * s + t, s, again: s)  @gpu
      |> map(n, s, again, m: max(k), at: argmax(k))
      |> csv(stdout)
}
END
alike order
for count in 1 31 32 33; do
    sed "s/range(101)/range($count)/" order.flow >"order$count.flow"
    alike "order$count"
done

# Two GPUs, one after the other, and beside each other.
cat >two.flow <<'END'
pipeline two {
  return range(50)
      |> map(a: cast(index, i32) + iota(40))  @gpu(0)
      |> map(b: a * 3, a)  @gpu(1)
      |> map(c: sum(b)  @gpu(0), d: max(a)  @gpu(1))
      |> csv(stdout)
}
END
alike two
grep -q 'copies .* from gpu(0) to cpu' explain && grep -q 'copies .* from cpu to gpu(1)' explain || fail "$(cat explain)"

# What records are chosen, in which order, and how often: a filter that a GPU asks, one behind it, joins, windows.
cat >chosen.flow <<'END'
pipeline numbers -> (n: i32) { return lines("numbers.txt") |> map(n: integer(line) |> : i32) |> map(n: n * 2 + 1)  @gpu }
pipeline chosen {
  return numbers() |> filter(remainder(n, 3) == 0)  @gpu |> shuffle(seed = 3) |> map(n: n + 7)  @gpu |> filter(n > 20) |> csv(stdout)
}
pipeline often { return numbers() |> repeat(2) |> map(n, m: remainder(n, 10))  @gpu |> csv(stdout) }
pipeline kept { return numbers() |> cache() |> repeat(2) |> map(n: n * n)  @gpu |> csv(stdout) }
pipeline pairs { return zip(numbers(), numbers() |> skip(1) |> map(k: n)) |> map(p: n * k)  @gpu |> csv(stdout) }
pipeline windows { return numbers() |> window(4, stride = 3) |> map(s: sum(n))  @gpu |> csv(stdout) }
pipeline drawn { return numbers() |> map(u: cast(random_uniform([5]) * 1000, i32), n)  @gpu |> map(s: sum(u), n) |> csv(stdout) }
END
for name in chosen often kept pairs windows drawn; do alike chosen "$name"; done

# Fields that lie in files, made by several workers; a stage of batches.
cat >images.flow <<'END'
pipeline digits -> (x: u8[28, 28], y: u8) { return idx(image: "train-images-idx3-ubyte.gz", label: "train-labels-idx1-ubyte.gz") |> take(1000) |> map(x: image, y: label) }
pipeline sums { return digits() |> shuffle(seed = 5) |> map(s: sum(cast(x, i32)), y)  @gpu @threads(2) |> csv(stdout) }
pipeline batches { return digits() |> map(x: cast(x, i32), y)  @gpu |> batch(48) |> map(s: sum(x, axis = [1, 2])  @gpu(1), y) |> unbatch() |> csv(stdout) }
END
for name in sums batches; do alike images "$name"; done

# A record that does not meet what is said of it is named, behind a GPU as before it; others go on without it.
sed '41s/.*/250/; 77s/.*/300/' numbers.txt >wrong.txt
cat >wrong.flow <<'END'
pipeline numbers -> (n: i32 in 0..200, m: i32) {
  return lines("wrong.txt") |> map(n: integer(line) |> : i32 in 0..200) |> map(n, m: n * 2)  @gpu
}
pipeline out { return numbers() |> csv(stdout) }
END
sed 's/ *@gpu//' wrong.flow >wrong.cpu.flow
sed 's/"wrong.txt"/"wrong.txt", on_error = skip/' wrong.flow >skip.flow
expect 1 'wrong.txt: line 41: ' "$FLOWC" run wrong.cpu.flow
mv stdout expected && sed 's/wrong\.cpu/wrong/g' stderr >expected_error
expect 1 'wrong.txt: line 41: ' "$FLOWC" run --simulate=gpu:1 wrong.flow
same stdout expected
grep -v simulated stderr >error
same error expected_error
alike skip
grep -q '2 records rejected' stderr || fail "$(cat stderr)"

# A GPU that fails is no record's fault: the run ends, whatever becomes of records.
for program in wrong skip; do
    FLOWC_SIMULATE_FAULT=cuLaunchKernel:2 expect 3 "can't launch the kernel" "$FLOWC" run --simulate=gpu:1 $program.flow --threads=1
    FLOWC_SIMULATE_FAULT=cuMemAlloc_v2:4 expect 3 'has no memory for' "$FLOWC" run --simulate=gpu:1 $program.flow
done

for call in cuStreamCreate:5 cuModuleGetFunction:3 cuMemcpyHtoDAsync_v2:2 cuMemcpyDtoHAsync_v2:3 cuStreamSynchronize:6; do
    FLOWC_SIMULATE_FAULT=$call expect 3 'order: error: gpu(0), simulated GPU 0, ' "$FLOWC" run --simulate=gpu:1 order.flow
done

# Training on what a GPU prepares, with workers and without, and beside a step that is on a GPU as well.
cat >learn.flow <<'END'
pipeline numbers -> (x: f32[8], y: f32) { return range(64) |> map(x: cast(remainder(iota(8) * cast(index, i32), 5), f32))  @gpu |> map(x, y: x[1] + x[2]) }
train fit {
  data = numbers() |> shuffle(seed = 1) |> batch(16)
  loss = mean((dense(data.x, 1) - expand(data.y, 1)) ^ 2)
  optimizer = sgd(0.01)
  epochs = 2
  every 1 epoch { evaluate numbers() |> batch(16) }
}
END
alike learn
sed 's/ ^ 2)$/ ^ 2)  @gpu/; s/batch(16)$/batch(16)  @threads(2)/' learn.flow >both.flow
"$FLOWC" run --simulate=gpu:1 both.flow >out 2>stderr || fail "exit $?: $(cat stderr)"
paste out expected | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat out), not $(cat expected)"

# What a GPU can't do stops with the reason, or is the CPU's where a GPU is only preferred.
cat >decoded.flow <<'END'
pipeline decoded { return images("no/*.jpg") |> map(m: mean(cast(decode_jpeg(image, 3) |> resize(8, 8), f32)))  @gpu |> csv(stdout) }
END
expect 1 'gpu(0) is here, but images are decoded on the CPU' "$FLOWC" run --simulate=gpu:1 decoded.flow
sed -E 's/@gpu\(([01])\)/@prefer(gpu(\1))/g' two.flow >prefer.flow
"$FLOWC" run prefer.flow >expected 2>stderr || fail "$(cat stderr)"
"$FLOWC" run --simulate=gpu:1 prefer.flow >out 2>stderr || fail "$(cat stderr)"
same out expected
"$FLOWC" check --explain --simulate=gpu:1 prefer.flow >explain
grep -q 'on gpu(0), gpu(0) preferred' explain && grep -q 'on cpu, gpu(1) preferred' explain || fail "$(cat explain)"
