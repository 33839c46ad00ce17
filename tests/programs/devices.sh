# `flowc devices`: the processor, GPUs where a driver has some, and what is missing where not.
. tests/programs/lib/common.sh
"$FLOWC" devices >plain || fail "exit $?"
grep -qE "^cpu +.+, $(nproc) cores?, [0-9.]+ (MiB|GiB)" plain || fail "$(cat plain)"
grep -q NVRTC plain || fail "nothing of NVRTC: $(cat plain)"
taskset -c 0 "$FLOWC" devices >one
grep -q ", 1 core," one || fail "affinity does not count"

mkdir stub
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -shared -fPIC -o stub/libcuda.so.1 "$root/tests/programs/lib/cuda_stub.c"
export LD_LIBRARY_PATH=$PWD/stub
listed() { # expected lines of GPUs, flags…
    local expected=$1
    shift
    "$FLOWC" devices "$@" >list 2>stderr || fail "exit $?: $(cat stderr)"
    [ "$(grep '^gpu' list || true)" = "$expected" ] || fail "devices $*: $(cat list)"
}
listed $'gpu(0)  Stub 0, 8.0 GiB\ngpu(1)  Stub 1, 16.0 GiB'
listed $'gpu(0)  Stub 1, 16.0 GiB' --visible-devices=1
listed $'gpu(0)  Stub 1, 12.0 GiB\ngpu(1)  Stub 0, 8.0 GiB' --visible-devices=1,0 --gpu-memory=12GiB
listed '' --visible-devices=none
grep -q 'no GPU: --visible-devices hides them' list || fail "$(cat list)"
grep -q 'have nothing to limit' list || fail "$(cat list)"
for fault in init count get name memory; do
    CUDA_STUB=$fault listed ''
    grep -q 'no GPU: the NVIDIA driver can.t .*: no CUDA-capable device is detected (100)' list || fail "$fault: $(cat list)"
done
CUDA_STUB=empty listed ''
grep -q 'the NVIDIA driver sees no GPU' list || fail "$(cat list)"
echo 'int cuInit(unsigned flags) { return (int)flags; }' | "${CC:-gcc}" -shared -fPIC -x c -o stub/libcuda.so.1 -
listed ''
grep -q 'too old: it has no cuDriverGetVersion' list || fail "$(cat list)"

for list in x 0, 0,0 -1 0.5 99 ''; do expect 2 "not \`$list\`" "$FLOWC" devices "--visible-devices=$list"; done
for size in x 0 -1GiB 4k 4ms 4GiBs ''; do expect 2 "not \`$size\`" "$FLOWC" devices "--gpu-memory=$size"; done
expect 2 'nothing is done with' "$FLOWC" devices file.flow
