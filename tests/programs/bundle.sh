# A bundled trainer finds libomp beside itself; a trainer is small.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # all levels
small_data
"$FLOWC" build "$digits" --bundle -o trainer
ldd trainer >libraries
grep -q "$PWD/./libomp" libraries || fail "libomp is not taken from beside the trainer: $(ldd trainer)"
./trainer --epochs=1 >/dev/null
./trainer --help >help
grep -q -- --rate help || fail "--help does not list the options"
[ -n "$SAN" ] || [ "$(stat -c %s trainer)" -lt 1500000 ] || fail "the trainer has $(stat -c %s trainer) bytes"
