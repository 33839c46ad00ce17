# A device that is missing stops the program and says what to do; --soft-placement and `prefer` go on.
. tests/programs/lib/common.sh
small_data
export LD_LIBRARY_PATH=$PWD/stub # a driver that fails, whatever this machine has
mkdir stub
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -shared -fPIC -o stub/libcuda.so.1 "$root/tests/programs/lib/cuda_stub.c"
export CUDA_STUB=init
sed -e 's/return x |> dense(256).*/on gpu(1) {\n    let h = x |> dense(32) |> relu() }\n  return h |> dense(C) @gpu/' "$digits" >p.flow
sed -e 's/on gpu(1)/on prefer(gpu(1))/; s/@gpu/@prefer(gpu)/' p.flow >prefer.flow
sed -e 's/on gpu(1)/on cpu/; s/@gpu/@cpu/' p.flow >cpu.flow

for command in run build export; do
    expect 1 'error[E0304]: device not available' "$FLOWC" $command p.flow
    grep -qF 'gpu(1) is not on this machine' stderr || fail "$(cat stderr)"
    grep -qF 'the devices are cpu (' stderr || fail "$(cat stderr)"
    grep -qF -- '--soft-placement' stderr || fail "$(cat stderr)"
    grep -qF '2 errors' stderr || fail "each place once: $(cat stderr)"
done
[ -z "$(ls ./*.h 2>/dev/null)" ] || fail "something was made: $(ls)"
"$FLOWC" run p.flow --help >help || fail "exit $?: help comes, whatever is missing"
grep -qF -- '--epochs=N' help || fail "$(cat help)"
"$FLOWC" run p.flow --version >/dev/null || fail "exit $?"
"$FLOWC" check p.flow 2>check
[ ! -s check ] || fail "check reads devices: $(cat check)"
"$FLOWC" check --explain p.flow >explain
grep -qE 'on cpu, gpu\(1\) wanted at p.flow:24' explain || fail "$(cat explain)"
grep -q '^planned for a CPU alone: no GPU is here or visible, ' explain || fail "$(cat explain)"

run() { "$FLOWC" run "$@" --epochs=1 2>stderr || fail "exit $?: $(cat stderr)"; }
run --soft-placement p.flow >soft
grep -qxF 'p.flow:24: on gpu(1) runs on the CPU: no GPU here' stderr || fail "$(cat stderr)"
grep -qxF 'p.flow:26: @gpu(0) runs on the CPU: no GPU here' stderr || fail "$(cat stderr)"
[ "$(grep -c 'runs on the CPU' stderr)" = 2 ] || fail "each place once: $(cat stderr)"
mv digits.safetensors soft.safetensors
run prefer.flow >prefer
if grep -q CPU stderr; then fail "prefer is not silent: $(cat stderr)"; fi
"$FLOWC" check --explain prefer.flow >explain
grep -q 'on cpu, gpu(0) preferred at prefer.flow:26' explain || fail "$(cat explain)"
run cpu.flow >cpu
same soft prefer
same soft cpu
"$FLOWC" run cpu.flow --resume=soft.safetensors --epochs=2 >/dev/null # moving code changes no identity
"$FLOWC" build --soft-placement p.flow -o trainer 2>/dev/null && ./trainer --epochs=1 >built
same soft built
"$FLOWC" export --soft-placement p.flow -o lib 2>stderr
grep -q 'p.flow:24' stderr || fail "$(cat stderr)"

unset CUDA_STUB # two GPUs, but no more than their names
"$FLOWC" check --explain p.flow >explain 2>stderr || fail "$(cat stderr)"
grep -qxF 'planned for a CPU and 2 GPUs' explain || fail "$(cat explain)"
grep -qE ' on gpu\(1\), gpu\(1\) wanted at p.flow:24' explain || fail "$(cat explain)"
expect 3 "gpu(0), Stub 0, can't say what it is: an unknown error (801)" "$FLOWC" run p.flow
expect 3 'the driver does not say what kind the GPUs here are' "$FLOWC" export p.flow
expect 1 'gpu(1) is not on this machine' "$FLOWC" export --visible-devices=0 p.flow
grep -qF 'gpu(0) (Stub 0)' stderr || fail "$(cat stderr)"
expect 1 'gpu(1) is not on this machine' "$FLOWC" run --visible-devices=0 p.flow
expect 2 'not `x`' "$FLOWC" run --visible-devices=x p.flow
