# A GPU that fails at any call of its driver, with any error: the run ends at once with one clear
# line and what helps, or does as well without that call; the last checkpoint stays and is resumed
# from to the same weights; what is lost is said. LONG=1: at each call, else at some.
. tests/programs/lib/common.sh
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
sed -e 's/|> batch(batch_size)/|> take(64) |> batch(32)/' -e 's/|> batch(1000)/|> take(32) |> batch(32)/' \
    -e 's/dense(256)/dense(4)/' "$digits" >small.flow
cp -r "$data" .
FLOWC_LIBNVRTC=$standin "$FLOWC" build small.flow --device=gpu --target=native,sm_90 -o small 2>stderr || fail "$(cat stderr)"
export FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=/nowhere FLOWC_SIMULATE_DELAY=0 FLOWC_SIMULATE_CHECKS=0
train() { timeout 60 ./small --epochs=2 --threads=1 "$@" >out 2>stderr; }

FLOWC_SIMULATE_CALLS=$PWD/calls train || fail "$(cat stderr)"
mv out expected && mv digits.safetensors trained
total=$(grep -vcx cuDriverGetVersion calls)
[ "$total" -gt 100 ] || fail "only $total calls"

resumed=0 ended=0 harmless=0 lost=0
fault() { # FUNCTION:N:ERROR
    local code=0
    rm -f digits.safetensors
    FLOWC_SIMULATE_FAULT=$1 train || code=$?
    [ $code != 124 ] || fail "$1 hangs"
    if [ $code = 0 ]; then
        same out expected && same digits.safetensors trained
        harmless=$((harmless + 1))
        return
    fi
    [ $code = 3 ] || fail "$1: exit $code: $(cat stderr)"
    [ "$(grep -c 'small: error: ' stderr)" = 1 ] || fail "$1: not one line: $(cat stderr)"
    ended=$((ended + 1))
    [ -e digits.safetensors ] || return 0
    if grep -qE '^small: what [12] steps? learnt is lost: .*digits.safetensors has step 2, where --resume=' stderr; then lost=$((lost + 1)); fi
    train --resume || fail "$1, resumed: $(cat stderr)"
    same digits.safetensors trained
    resumed=$((resumed + 1))
}
stride=61
[ -z "${LONG:-}" ] || stride=1
first=1
for error in OUT_OF_MEMORY ILLEGAL_ADDRESS LAUNCH_TIMEOUT NO_DEVICE UNKNOWN; do
    for ((n = first; n <= total; n += stride)); do fault "*:$n:$error"; done
    first=$((first + stride / 5))
done
[ $resumed -gt 0 ] && [ $harmless -gt 0 ] && [ $lost -gt 0 ] || fail "$resumed resumed, $harmless harmless, $lost lost"
echo "$ended ended, $resumed of them resumed, $lost with a loss, $harmless did without the call; of $total calls"

# Each allocation that fails, and what each error says of itself.
says() { # fault, text
    rm -f digits.safetensors
    FLOWC_SIMULATE_FAULT=$1 expect 3 "$2" ./small --epochs=2
}
for ((n = 1; n <= $(grep -c cuMemAlloc calls); n++)); do says "cuMemAlloc_v2:$n" 'a smaller batch or `microbatches` take less'; done
says cuInit:1:NO_DEVICE 'the simulated driver can'"'"'t start: no CUDA-capable device is detected (100); FLOWC_SIMULATE=gpu:N says'
says cuDevicePrimaryCtxRetain:1:NO_DEVICE 'is detected (100); `nvidia-smi` lists'
says cuInit:1:SYSTEM_DRIVER_MISMATCH 'are of different versions: restart the machine'
says cuDevicePrimaryCtxRetain:1:DEVICE_UNAVAILABLE 'another program holds it alone'
says cuLaunchKernel:2:LAUNCH_TIMEOUT 'the GPU has a display, too'
says cuLaunchKernel:2:LAUNCH_TIMEOUT '(small.flow:'
says cuStreamSynchronize:9:ILLEGAL_ADDRESS 'that is a defect of flowc, or of the GPU; flowc'"'"'s --device=cpu goes without it'
FLOWC_LIBCUDA=libm.so.6 expect 3 'the NVIDIA driver is too old: it has no cuInit' ./small
FLOWC_LIBCUDA=/nowhere expect 3 'no NVIDIA driver: /nowhere is not found; it comes with' ./small
