# What was compiled before is not compiled again: a changed program compiles the units that changed.
. tests/programs/lib/common.sh
export XDG_CACHE_HOME=$PWD/cache
cp "$digits" p.flow
grep -q 'dense(256) |> relu()' p.flow || fail "the example has changed"
# More kernels than one unit holds.
deeper='dense(256) |> relu() |> dense(96) |> sigmoid() |> dense(48) |> sigmoid()'
sed -i "s/dense(256) |> relu()/$deeper/" p.flow
cp p.flow deeper.flow

# compiled WORDS…: builds, and counts the sources that were compiled.
compiled() { "$FLOWC" build p.flow -o p -v "$@" 2>&1 | grep -c ' -c ' || true; }
all=$(compiled)
[ "$all" -gt 4 ] || fail "$all units only"
cp p first
objects=cache/flowc/objects
[ "$(ls $objects | wc -l)" = "$all" ] || fail "$(ls $objects | wc -l) objects are kept, not $all"
[ "$(compiled)" = 0 ] || fail "the same program is compiled again"
same first p

sed -i '1i # moved by a line' p.flow
changed=$(compiled)
[ "$changed" -le 1 ] || fail "$changed sources were compiled for a moved line"
sed -i 's/dense(256) |> relu()/dense(256) |> tanh()/' p.flow
changed=$(compiled)
[ "$changed" -ge 2 ] && [ "$changed" -lt "$all" ] || fail "$changed of $all were compiled for another activation"

# A damaged object is made anew, and no object is taken from where others can write.
cp deeper.flow p.flow
for object in "$objects"/*; do printf x | dd of="$object" bs=1 seek=500 conv=notrunc 2>/dev/null; done
: >"$object"
[ "$(compiled)" -ge 1 ] || fail "damaged objects are taken"
[ -n "$SAN" ] || same first p # sanitizers write down in which folder it was compiled
[ "$(compiled)" = 0 ] || fail "an object that was made anew is not kept"
chmod go+w cache/flowc
[ "$(compiled)" = "$all" ] || fail "objects are trusted that others could write"
chmod go-w cache/flowc

# --no-cache compiles all.
"$FLOWC" run p.flow --no-cache -v --help 2>err >out
[ "$(grep -c ' -c ' err)" -ge 1 ] || fail "--no-cache takes objects"

# What takes longest is begun first: files full of kernels before program.c, which is nearly all tables.
grep ' -c ' err | grep -o '[a-z_0-9]*\.c -o' >order
[ "$(grep -n kernels_1 order | cut -d: -f1)" -lt "$(grep -n program order | cut -d: -f1)" ] ||
    fail "compiled in the order $(tr '\n' ' ' <order)"
