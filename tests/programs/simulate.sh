# `--simulate=gpu:N`: a program trains on GPUs that the CPU stands in for as it does without, saves,
# resumes, and ends with one clear line when a GPU fails.
. tests/programs/lib/common.sh
for value in cpu gpu gpu: gpu:0 gpu:17 gpu:2x gpu:-1 ''; do
    expect 2 "--simulate is gpu:N, a number of GPUs from 1 to 16, not \`$value\`" "$FLOWC" devices "--simulate=$value"
done
"$FLOWC" devices --simulate=gpu:2 >list || fail "$(cat list)"
grep -q '^gpu(1)  simulated' list || fail "$(cat list)"
grep -q 'The GPUs are simulated' list || fail "$(cat list)"
! grep -q '^gpu(2)' list || fail "$(cat list)"

sed -e 's/return x |> dense(256).*/on gpu(0) {\n    let h = x |> dense(16) |> relu() }\n  return h |> dense(C) @gpu(1)/' \
    -e 's/|> batch(batch_size)/|> take(64) |> batch(16)/' -e 's/|> batch(1000)/|> take(32) |> batch(32)/' "$digits" >gpu.flow
sed -e 's/on gpu(0)/on cpu/; s/@gpu(1)/@cpu/' gpu.flow >cpu.flow
cp -r "$data" .
expect 1 'gpu(1) is not on this machine' "$FLOWC" run --simulate=gpu:1 gpu.flow
"$FLOWC" run cpu.flow --epochs=2 >expected 2>stderr || fail "exit $?"
"$FLOWC" run --simulate=gpu:2 gpu.flow --epochs=2 >out 2>stderr || fail "exit $?: $(cat stderr)"
grep -q 'the GPUs are simulated' stderr || fail "$(cat stderr)"
weights() { tail -c 40000 digits.safetensors >"$1.weights"; }
weights out
# What was built for simulated GPUs says so, with the stand-in and without it.
"$FLOWC" build --simulate=gpu:2 gpu.flow -o built 2>stderr || fail "$(cat stderr)"
FLOWC_LIBCUDA=/nowhere expect 3 '`gpu` was built with --simulate, and finds no GPU: no NVIDIA driver' ./built
export LD_LIBRARY_PATH=$root/$BUILD/lib/flowc/simulated
FLOWC_SIMULATE=gpu:0 expect 3 "the simulated driver can't start" ./built
FLOWC_SIMULATE=gpu:2 expect 0 'gpu: the GPUs are simulated' ./built --epochs=1
unset LD_LIBRARY_PATH
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
FLOWC_SIMULATE=gpu:2 FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=$standin FLOWC_NCCL=$standin \
    expect 0 'gpu: the GPUs are simulated' ./built --epochs=1
close() { # file: the same to three digits as was expected
    paste expected "$1" | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat "$1"), not $(cat expected)"
}
close out

# Products of halves, by tensor cores.
for placed in cpu gpu; do
    sed 's/^  epochs  .*/&\n  precision  = bf16/' $placed.flow >${placed}_halves.flow
    "$FLOWC" run --simulate=gpu:2 ${placed}_halves.flow --epochs=2 >$placed.halves 2>stderr || fail "exit $?: $(cat stderr)"
done
"$FLOWC" check --explain --simulate=gpu:2 gpu_halves.flow >explained 2>&1 || fail "$(cat explained)"
grep -q 'cuda_mma.h from sm_80 on, a block for each tile' explained || fail "no tensor cores"
sed 's/let y     = product(data.x)/& @gpu(0)/' "$root/tests/bench/gpu/kernels.flow" >ring.flow
"$FLOWC" check --explain --simulate=gpu:1 ring.flow >explained 2>&1 || fail "$(cat explained)"
grep -q 'cuda_ring.h on sm_90 (wgmma of 128 x 256, TMA, ring of 4), cuda_mma.h from sm_80 on' explained || fail "no ring"
# Each kernel's text has the lines that it is of, also the two of a product of parts.
sed 's/batch(batch_size)/batch(8192)/' "$digits" >parts.flow
"$FLOWC" build --simulate=gpu:1 --device=gpu --emit=cuda -o parts.cu parts.flow 2>stderr || fail "$(cat stderr)"
grep -q '^FLOW_GLOBAL(.*_parts, ' parts.cu || fail "no parts"
awk '/^FLOW_GLOBAL/ && before !~ /^\/\* parts.flow:/ { exit 1 } { before = $0 }' parts.cu || fail "a kernel without lines"
! cmp -s out gpu.halves || fail "halves make no difference"
mv expected whole && mv cpu.halves expected
close gpu.halves
mv whole expected

# tf32 rounds what GPUs multiply, and nothing on the CPU.
for placed in cpu gpu; do
    sed 's/^  epochs  .*/&\n  precision  = tf32/' $placed.flow >${placed}_tf32.flow
    "$FLOWC" run --simulate=gpu:2 ${placed}_tf32.flow --epochs=2 >$placed.tf32 2>stderr || fail "exit $?: $(cat stderr)"
done
same cpu.tf32 expected
close gpu.tf32
weights tf32
! cmp -s out.weights tf32.weights || fail "tf32 makes no difference"
"$FLOWC" check --explain --simulate=gpu:2 gpu_tf32.flow >explained 2>&1 || fail "$(cat explained)"
grep -q 'cuda_mma.h in tf32 from sm_80 on, else cuda_fma.h in f32' explained || fail "no tf32"
"$FLOWC" check --explain cpu_tf32.flow >explained 2>&1 || fail "$(cat explained)"
grep -q 'in f32: only GPUs have tf32' explained || fail "it is not said that the CPU has none"
cat >doubles.flow <<'END'
train fit {
  data      = range(4) |> map(x: cast(random_normal([8]), f64)) |> batch(2)
  loss      = mean(dense(data.x |> cast(f32), 1)) + cast(mean(matmul(data.x, transpose(data.x))), f32)
  optimizer = sgd(0.1)
  precision = tf32
}
END
"$FLOWC" check --explain doubles.flow 2>&1 | grep -A 3 'writes f64\[B, B\]' >explained
grep -q 'matmul.c' explained && ! grep -q 'only GPUs have tf32' explained || fail "$(cat explained)"

# What is saved has come home; it is resumed from, and read by others.
rm digits.safetensors
"$FLOWC" run --simulate=gpu:2 gpu.flow --epochs=1 >first 2>stderr || fail "exit $?: $(cat stderr)"
"$FLOWC" run --simulate=gpu:2 gpu.flow --epochs=2 --resume >resumed 2>stderr || fail "exit $?: $(cat stderr)"
cat first resumed >both
cmp out both || fail "$(cat both), not $(cat out)"

# gpu(0) and gpu(1) are those that are visible, in that order.
FLOWC_SIMULATE_FAULT=cuDevicePrimaryCtxRetain:1 expect 3 'gpu(0), simulated GPU 2, ' "$FLOWC" run --simulate=gpu:3 --visible-devices=2,0 gpu.flow

# Where a number that is none began is found on GPUs, too.
for placed in cpu gpu; do
    expect 1 'of an infinity that began at divide' "$FLOWC" run --simulate=gpu:2 $placed.flow --rate=3e38
    sed -n "s/$placed/FILE/gp" stderr | grep 'error:' >$placed.error
done
same cpu.error gpu.error

# Faults.
cp digits.safetensors kept
FLOWC_SIMULATE_FAULT=cuLaunchKernel:30 expect 3 "can't launch the kernel" "$FLOWC" run --simulate=gpu:2 gpu.flow
FLOWC_SIMULATE_FAULT=cuMemAlloc_v2:3 expect 3 'has no memory for' "$FLOWC" run --simulate=gpu:2 gpu.flow
XDG_CACHE_HOME=$PWD/cache FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1 expect 70 'does not compile the kernels' "$FLOWC" run --simulate=gpu:2 gpu.flow
same digits.safetensors kept
