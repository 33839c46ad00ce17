# `flowc build --target=…,sm_90`: kernels are compiled when the program is built, on a machine that
# needs no GPU, and run where there is no NVRTC: the GPU's own code, else what the driver compiles.
. tests/programs/lib/common.sh
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
sed -e 's/|> batch(batch_size)/|> take(64) |> batch(16)/' -e 's/|> batch(1000)/|> take(32) |> batch(32)/' \
    -e 's/dense(256)/dense(16)/' "$digits" >small.flow
cp -r "$data" .
build() { FLOWC_LIBNVRTC=$standin "$FLOWC" build small.flow --device=gpu "$@"; }
trained() { # program, variables…: what it prints
    local program=$1
    shift
    rm -f digits.safetensors
    env FLOWC_LIBCUDA="$standin" "$@" "./$program" --epochs=1 2>stderr || fail "$program: $(cat stderr)"
}

# No GPU is here, and none is needed to build.
build --target=native,sm_90,sm_80 -v -o both 2>stderr || fail "$(cat stderr)"
[ "$(sed -n 's/^flowc: built in for GPUs: \(.*\),.*/\1/p' stderr)" = $'code of sm_80\ncode of sm_90\nPTX of sm_90' ] || fail "$(cat stderr)"
build --target=sm_80 -o early 2>stderr || fail "$(cat stderr)"
build -o late 2>stderr && fail "without --target a GPU has to be here"
grep -q 'gpu(0) is not on this machine' stderr || fail "$(cat stderr)"
build --simulate=gpu:1 -o late 2>stderr || fail "$(cat stderr)"
./both --version | grep -qx 'for GPUs: sm_80, sm_90, PTX of sm_90; for others NVRTC compiles when it starts' || fail "$(./both --version)"
./late --version | grep -qx 'for GPUs: NVRTC compiles when it starts' || fail "$(./late --version)"

sed 's/return x |> dense(16).*/on gpu(0) { let h = x |> dense(4) |> relu() }\n  return h |> dense(C) @gpu(1)/' small.flow >two.flow
FLOWC_LIBNVRTC=$standin "$FLOWC" build two.flow --target=native,sm_90 -o two 2>stderr || fail "$(cat stderr)"
FLOWC_SIMULATE=gpu:1 FLOWC_LIBCUDA=$standin expect 3 'computes on gpu(1), and there is only gpu(0)' ./two

# The same with and without NVRTC.
trained late FLOWC_LIBNVRTC="$standin" >expected
trained both FLOWC_LIBNVRTC=/nowhere >out && same expected out
trained early FLOWC_LIBNVRTC=/nowhere >out && same expected out
FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=/nowhere expect 3 'NVRTC, which compiles for GPUs, is not found (/nowhere)' ./late

# What the driver refuses is said, and what comes next is taken.
trained both FLOWC_LIBNVRTC=/nowhere FLOWC_SIMULATE_FAULT=cuModuleLoadData:1:NO_BINARY_FOR_GPU >out && same expected out
grep -q 'the driver does not take the code that is built in for sm_90' stderr || fail "$(cat stderr)"
trained early FLOWC_LIBNVRTC="$standin" FLOWC_SIMULATE_FAULT=cuModuleLoadData:1:UNSUPPORTED_PTX_VERSION >out && same expected out
grep -q 'the driver does not take the PTX that is built in for sm_80' stderr || fail "$(cat stderr)"

# As C.
build --target=sm_90a --emit=c -o source 2>stderr || fail "$(cat stderr)"
grep -q '{90, true, image_1}' source/device_text.c || fail "no PTX"

# What is wrong.
for kind in sm_ sm_9x sm_80a sm_90ab smx compute_90 sm_-90; do
    FLOWC_LIBNVRTC=$standin expect 2 "--target=$kind: a kind of GPU is sm_ and" "$FLOWC" build small.flow --device=gpu "--target=$kind"
done
FLOWC_LIBNVRTC=$standin expect 2 'does not compile for sm_99; it does for sm_75, sm_80, sm_86, sm_90' "$FLOWC" build small.flow --device=gpu --target=sm_99
FLOWC_SIMULATE_NVRTC=11 FLOWC_LIBNVRTC=$standin expect 3 'does not compile for sm_90a, which NVRTC 12 and later do' "$FLOWC" build small.flow --device=gpu --target=sm_90a
FLOWC_LIBNVRTC=/nowhere expect 3 'NVRTC, which compiles for GPUs, is not found (/nowhere); it comes with' "$FLOWC" build small.flow --device=gpu --target=sm_90
expect 1 'nothing of `small` runs on a GPU' "$FLOWC" build small.flow --target=sm_90
expect 2 'kinds of GPUs are for `flowc build` and `export`' "$FLOWC" run small.flow --target=sm_90
expect 2 "--device is cpu, gpu or gpu(1), not \`gpu( 1)\`" "$FLOWC" build small.flow --target=sm_90 '--device=gpu( 1)'

# A compiler that hangs, crashes or takes all memory is ended, whether ahead or when a program starts.
export FLOWC_NVRTC_SECONDS=2 XDG_CACHE_HOME=$PWD/cache
mkdir cache
broken() { # fault, text
    FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1:$1 FLOWC_LIBNVRTC=$standin expect 3 "$2" "$FLOWC" build small.flow --device=gpu --target=sm_90
    rm -rf cache/flowc/gpu
    FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1:$1 FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=$standin expect 3 "$2" ./late
}
broken HANG 'compiling for GPUs (sm_90a), was stopped after 2 seconds'
broken CRASH 'compiling for GPUs (sm_90a), was ended by signal 11'
FLOWC_NVRTC_SECONDS=0 FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1 FLOWC_LIBNVRTC=$standin expect 70 'does not compile the kernels' "$FLOWC" build small.flow --device=gpu --target=sm_90
