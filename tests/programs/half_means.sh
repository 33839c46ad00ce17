# Products of bf16, and those by thirds of floats, are right by each means that this processor has or can stand in for, then by the best.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # all levels
cd "$root"
has() { grep -qw "$1" /proc/cpuinfo; }
agree() { # options of the C compiler
    FLOWC_TEST_FLAGS="-O2 $*" "$BUILD/tests/check/codegen" tests/codegen/{half,thirds}*.graph || fail "$*"
}
has avx512vl || { echo "it has no vectors of 512 bits"; exit 77; }
agree -march=x86-64-v4 -DFLOW_HALF_MEANS=FLOW_HALF_vectors
agree -march=x86-64-v4 -DFLOW_HALF_MEANS=FLOW_HALF_pairs -DFLOW_PAIRS_AS_FLOATS
has avx512_bf16 || { echo "it has no products of pairs"; exit 77; }
agree -march=x86-64-v4 -DFLOW_HALF_MEANS=FLOW_HALF_pairs
agree -march=x86-64-v4
