# A library whose export is placed on a GPU tells what one on the CPU does, as a guest in its
# process: instances don't disturb each other nor what the host does with GPUs, errors come back by
# the library's own functions, all that was taken is given back, calls take nothing.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
sed -e 's/|> batch(batch_size)/|> take(64) |> batch(16)/' -e 's/|> batch(1000)/|> take(32) |> batch(32)/' \
    -e 's/dense(256)/dense(16)/' "$digits" >digits.flow
cp -r "$data" .
"$FLOWC" run digits.flow --epochs=1 >run.out
"$FLOWC" export digits.flow -o cpu
"$FLOWC" export --simulate=gpu:2 --device=gpu -v digits.flow -o gpu 2>stderr || fail "$(cat stderr)"
[ "$(sed -n 's/^flowc: built in for GPUs: \(.*\),.*/\1/p' stderr)" = $'code of sm_90\nPTX of sm_90' ] || fail "not for the GPUs here: $(cat stderr)"
gzip -dc "$data/t10k-images-idx3-ubyte.gz" >images
grep -q 'Returns 0; or 3, when a GPU has failed' gpu/digits.h || fail "$(cat gpu/digits.h)"
! grep -q GPU cpu/digits.h || fail "$(cat cpu/digits.h)"
alone cpu/libdigits.a
compiler=${CC:-gcc}
$compiler ${SAN:+-fsanitize=$SAN} -Igpu -o gpu/host "$root/tests/programs/lib/classify_gpu.c" gpu/libdigits.a -lz -lm -lpthread
$compiler ${SAN:+-fsanitize=$SAN} -Icpu '-Ddigits_message(x)=""' -o cpu/host "$root/tests/programs/lib/classify_gpu.c" cpu/libdigits.a -lz -lm -lpthread
export FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=/nowhere FLOWC_SIMULATE=gpu:2 FLOWC_SIMULATE_DELAY=20
tell() { timeout 100 gpu/host images gpu/digits.safetensors "$@" >told 2>stderr || fail "$*: $(cat told stderr)"; [ ! -s stderr ] || fail "$(cat stderr)"; }
close() {
    [ "$(wc -l <told)" = "$(wc -l <expected)" ] || fail "$(cat told)"
    paste expected told | awk '{ for (i = 1; i <= 11; i++) if (($i - $(i + 11)) ^ 2 > 1e-10) exit 1 }' || fail "$(cat told), not $(cat expected)"
}

cpu/host images cpu/digits.safetensors 8 run >expected
for how in run threads context capture; do tell 8 $how && close; done
FLOWC_VISIBLE_DEVICES=1 tell 8 run && close
tell 8 fork && sed 's/^3: this process was forked from the one that opened `digits`, and GPUs .*/forked/' told >forked
[ "$(grep -c '^forked$' forked)" = 1 ] || fail "$(cat told)"
grep -v '^forked$' forked >told && close

# What calls take, and what is given back.
calls() { rm -f calls; FLOWC_SIMULATE_CALLS=$PWD/calls tell "$1" run; sort calls | uniq -c | awk '{ print $2, $1 }' >calls.$1; }
of() { awk -v name="$1" '$1 == name { print $2 }' calls.$2; }
calls 8 && calls 40
for call in cuMemAlloc_v2 cuMemHostAlloc cuModuleGetFunction cuGraphInstantiateWithFlags cuStreamSynchronize; do
    [ "$(of $call 8)" = "$(of $call 40)" ] || fail "$call: $(of $call 8) times, then $(of $call 40)"
done
[ "$(of cuGraphLaunch 40)" = 38 ] || fail "calls are not replayed: $(cat calls.40)"
for pair in cuMemAlloc_v2:cuMemFree_v2 cuMemHostAlloc:cuMemFreeHost cuStreamCreate:cuStreamDestroy_v2 cuEventCreate:cuEventDestroy_v2 \
    cuModuleLoadData:cuModuleUnload cuDevicePrimaryCtxRetain:cuDevicePrimaryCtxRelease_v2; do
    [ "$(of ${pair%:*} 40)" = "$(of ${pair#*:} 40)" ] || fail "not as often: $pair"
done
[ "$(of cuGraphDestroy 40)" = 2 ] || fail "one graph, and what was made of it"
! grep -q cuDevicePrimaryCtxSetFlags calls.40 || fail "a guest sets flags of the context"

# Errors: no process ends, nothing is printed.
fails() { # text variables…
    local text=$1
    shift
    if env "$@" gpu/host images gpu/digits.safetensors 8 run >told 2>stderr; then fail "$*: no error"; fi
    grep -qF -- "$text" told && [ "$(wc -l <told)" = 1 ] && [ ! -s stderr ] || fail "'$text' is not in: $(cat told stderr)"
}
fails 'not created: `digits` was built with --simulate, and finds no GPU: no NVIDIA driver: /nowhere is not found; FLOWC_SIMULATE=gpu:1, with' FLOWC_LIBCUDA=/nowhere
fails 'not created: `digits` was built with --simulate, and finds no GPU: the NVIDIA driver is too old: it has no cuInit' FLOWC_LIBCUDA=libm.so.6
fails "not created: \`digits\` computes on a GPU: the simulated driver can't start: no CUDA-capable device is detected (100)" FLOWC_SIMULATE=gpu:0
fails 'not created: gpu(0), simulated GPU 0, has no memory for the program' FLOWC_SIMULATE_MEMORY=1000
fails '3: gpu(0), simulated GPU 0, has no memory for the data of a batch' FLOWC_SIMULATE_FAULT="cuMemAlloc_v2:$(of cuMemAlloc_v2 8)"
fails "3: gpu(0), simulated GPU 0, can't launch the kernel" FLOWC_SIMULATE_FAULT=cuLaunchKernel:2:LAUNCH_FAILED
fails "not created: gpu(0), simulated GPU 0, can't load the program's kernels" FLOWC_SIMULATE_FAULT=cuModuleLoadData:1:ILLEGAL_ADDRESS
FLOWC_SIMULATE_FAULT=cuModuleLoadData:1:NO_BINARY_FOR_GPU tell 8 run && close # the driver compiles what it was given for later GPUs
fails 'not created: `digits` computes on gpu(0), and there is none: FLOWC_VISIBLE_DEVICES=9' FLOWC_VISIBLE_DEVICES=9
fails 'not created: `digits` has no code for a GPU of compute capability 9.0, only for sm_90, PTX of sm_90: `flowc export --target=sm_90` makes it' FLOWC_BUILT_IN=off

# What there is no room for: nothing stays, wherever it ends.
for blocks in 5 100; do
    (ulimit -f $blocks && expect 3 'File too large' "$FLOWC" export --simulate=gpu:1 --device=gpu digits.flow -o large)
    [ ! -e large ] || fail "$blocks: $(ls large)"
done
FLOWC_LIBCUDA=/nowhere expect 1 '--device=gpu(0) is not on this machine' "$FLOWC" export --device=gpu digits.flow -o none

# Placed in the program: what is missing is said, but for `prefer`.
mkdir placed
sed 's/return x |> dense(16).*/on gpu(1) { let h = x |> dense(16) |> relu() }\n  return h |> dense(C) @cpu/' digits.flow >placed/digits.flow
sed 's/on gpu(1)/on prefer(gpu(1))/' placed/digits.flow >placed/prefer.flow
FLOWC_LIBCUDA=/nowhere expect 1 'gpu(1) is not on this machine' "$FLOWC" export placed/digits.flow -o none
FLOWC_LIBCUDA=/nowhere "$FLOWC" export placed/prefer.flow -o none 2>stderr || fail "$(cat stderr)"
! grep -q GPU none/prefer.h || fail "$(cat none/prefer.h)"
"$FLOWC" export --simulate=gpu:2 placed/digits.flow -o both --weights=gpu/digits.safetensors 2>stderr || fail "$(cat stderr)"
$compiler ${SAN:+-fsanitize=$SAN} -Iboth -o gpu/host "$root/tests/programs/lib/classify_gpu.c" both/libdigits.a -lz -lm -lpthread
tell 8 run && close
fails 'not created: `digits` computes on gpu(1), and there is only gpu(0)' FLOWC_SIMULATE=gpu:1

# Sizes that differ from call to call, up to the declared one; wrong ones are refused, and harm nothing.
cat >far.flow <<'EOF'
dim T <= 64
export far(x: f32[T, 8]) -> (y: f32[T, 8], m: f32[8]) {
  let y = x |> softmax()
  return (y, y |> mean(axis = 0))
}
EOF
cat >far.c <<'EOF'
#include "far.h"
#include <stdio.h>
int main(void) {
    static float x[512], y[512], m[8];
    const int sizes[] = {3, 64, 5, 64, 65, 5, 64, 0, 5, 1};
    Far *far = far_create(NULL, NULL, 0);
    if (!far) return 1;
    for (int i = 0; i < 512; i++) x[i] = (float)(i * 37 % 101) / 25;
    for (int i = 0; i < 10; i++) {
        printf("%d", far_far(far, sizes[i], x, y, m));
        for (int k = 0; k < 8; k++) printf(" %.4f %.4f", m[k], y[sizes[i] % 65 / 2 * 8 + k]);
        printf("\n");
    }
    far_destroy(far);
    return 0;
}
EOF
"$FLOWC" export far.flow -o cpu
"$FLOWC" export far.flow -o gpu --simulate=gpu:1 --device=gpu
for place in cpu gpu; do
    $compiler ${SAN:+-fsanitize=$SAN} -I$place -o far far.c $place/libfar.a -lm -lpthread
    ./far >far.$place || fail "$place: $(cat far.$place)"
done
same far.cpu far.gpu
