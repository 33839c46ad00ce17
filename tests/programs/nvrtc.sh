# The kernels of examples, all placed on a GPU, compile for every kind of GPU by the real NVRTC, where
# there is one: no GPU is needed for that.
. tests/programs/lib/common.sh
nvrtc=$root/$BUILD/tests/check/runtime-nvrtc
"$nvrtc" >out || { code=$?; cat out; exit $code; }
names="digits titanic"
few="75 90 120" # the oldest and the newest, and the one with warpgroups; without LONG all but digits is for these
[ -z "${LONG:-}" ] || few=
[ -z "${LONG:-}" ] || names=$(cd "$root/examples" && ls ./*.flow | sed 's/\.flow$//; s/^\.\///')
for name in $names; do
    for block in $(sed -n 's/^train \([a-z_]*\) {.*/\1/p' "$root/examples/$name.flow"); do
        "$FLOWC" build "$root/examples/$name.flow" $block --device=gpu --simulate=gpu:1 --emit=cuda -o "$name.cu" || fail "$name"
        grep -q 'FLOW_GLOBAL(k' "$name.cu" || fail "$name has no kernels"
        kinds=$few
        [ "$name" != digits ] || kinds=
        "$nvrtc" "$name.cu" $kinds >out || fail "$name $block: $(cat out)"
        echo "$name $block: $(cat out)"
    done
done
# Products of halves that are large enough for warpgroups, each operand along the depth and across it.
"$FLOWC" build "$root/tests/bench/gpu/kernels.flow" gemm --n=4096 --device=gpu --simulate=gpu:1 --emit=cuda -o gemm.cu || fail gemm
grep -q 'define RING_BYTES 196672' gemm.cu || fail "a large product has no ring"
"$nvrtc" gemm.cu $few >out || fail "gemm: $(cat out)"
sed 's/precision = bf16/precision = tf32/' "$root/tests/bench/gpu/kernels.flow" >tf32.flow
"$FLOWC" build tf32.flow gemm --n=4096 --device=gpu --simulate=gpu:1 --emit=cuda -o tf32.cu || fail tf32
grep -q 'define MULTIPLY FLOW_MULTIPLY_tf32' tf32.cu || fail "no product of tf32"
"$nvrtc" tf32.cu $few >out || fail "tf32: $(cat out)"
for name in 10_matmul_and_sum 12_compiled_function 15_uneven_tasks; do # kernels of records
    "$FLOWC" build "$root/examples/tensorflow/$name.flow" --simulate=gpu:1 --emit=cuda -o "$name.cu" || fail "$name"
    grep -q 'flow_at_record' "$name.cu" || fail "$name has no kernels of records"
    "$nvrtc" "$name.cu" $few >out || fail "$name: $(cat out)"
    echo "$name: $(cat out)"
done
