# What a trainer's own Makefile compiles for a processor that has AVX-512F and none of its extensions is right, too.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # all levels
cd "$root"
grep -qw avx512f /proc/cpuinfo || { echo "it has no AVX-512F"; exit 77; }
FLOWC_TEST_FLAGS="-O1 -march=x86-64-v3 -mavx512f" \
    "$BUILD/tests/check/codegen" tests/codegen/{keep,at_once}.graph || fail "AVX-512F alone"
