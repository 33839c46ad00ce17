# make check-gpu and make bench-gpu: without a GPU they are "not run", never passed; what they do is
# tried on the stand-in, labelled, and no figure of it is kept. LONG=1 for that.
. tests/programs/lib/common.sh
[ -z "${SAN:-}" ] || { echo "it is of the plain build"; exit 77; }
cd "$root"
code=0
FLOWC_LIBCUDA=/nowhere tests/gpu/run --here >"$folder/out" || code=$?
[ $code = 77 ] && grep -q '^not run: no GPU: ' "$folder/out" || fail "exit $code: $(cat "$folder/out")"
[ -n "${LONG:-}" ] || exit 0 # what is packed takes half a minute: check-long runs it

export SIMULATE=1
tests/gpu/pack >"$folder/out" || fail "$(cat "$folder/out")"
for part in graphs measured example; do
    tests/gpu/run $part >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
    grep -q '^SIMULATED: 1 passed, 0 failed' "$folder/out" || fail "$(cat "$folder/out")"
done
for part in exports replicas; do
    FLOWC_SIMULATE=gpu:2 tests/gpu/run $part >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
    grep -q '^SIMULATED: 1 passed, 0 failed' "$folder/out" || fail "$(cat "$folder/out")"
done
tests/gpu/run replicas >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
grep -qx 'not run replicas: it needs two GPUs, and there is one' "$folder/out" || fail "$(cat "$folder/out")"
# Guests alone replay their calls.
FLOWC_SIMULATE=gpu:2 FLOWC_SIMULATE_FAULT=cuGraphLaunch:2:LAUNCH_FAILED tests/gpu/run exports >"$folder/out" 2>&1 && fail "a guest that fails is not noticed"
grep -qx ' *run:' "$folder/out" || fail "$(cat "$folder/out")"
FLOWC_SIMULATE_FAULT=cuLaunchKernel:1 tests/gpu/run graphs >"$folder/out" 2>&1 && fail "a GPU that fails is not noticed"
export FLOWC_LIBCUDA=$root/$BUILD/lib/flowc/libflowsimcuda.so FLOWC_LIBNVRTC=$root/$BUILD/lib/flowc/libflowsimcuda.so
python3 tests/bench/gpu/bench.py gemm-bf16-4096 >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
grep -qE '^\| gemm-bf16-4096 \| TFLOP/s \| [0-9.e-]+ \|' "$folder/out" || fail "$(cat "$folder/out")"
grep -q '^SIMULATED: ' "$folder/out" || fail "$(cat "$folder/out")"

# Programs are made anew for other GPUs.
GPU_TARGETS=sm_80 tests/gpu/pack >"$folder/out" || fail "$(cat "$folder/out")"
"$BUILD/gpu-simulated/programs/digits" --version >"$folder/out"
grep -q '^for GPUs: sm_80,' "$folder/out" || fail "$(cat "$folder/out")"
