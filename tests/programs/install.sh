# `make install`: what lies there does all that flowc does, the stand-in for GPUs included.
. tests/programs/lib/common.sh
[ -z "${SAN:-}" ] || { echo "install is of the plain build"; exit 77; }
make -C "$root" install DESTDIR="$PWD" PREFIX=/usr >log 2>&1 || fail "$(tail -n 5 log)"
mv usr moved # it may be moved
sed -e 's/|> batch(batch_size)/|> take(64) |> batch(32)/' -e 's/|> batch(1000)/|> take(32) |> batch(32)/' \
    -e 's/dense(256)/dense(4)/' "$digits" >small.flow
cp -r "$data" .
moved/bin/flowc doctor >list || fail "$(cat list)"
grep -q "^ok *stand-in .*$PWD/moved/lib/flowc/libflowsimcuda.so" list || fail "$(cat list)"
moved/bin/flowc run small.flow --epochs=1 >cpu 2>stderr || fail "$(cat stderr)"
moved/bin/flowc run small.flow --epochs=1 --device=gpu --simulate=gpu:1 >gpu 2>stderr || fail "$(cat stderr)"
grep -q '^evaluate digits' cpu && grep -q '^evaluate digits' gpu || fail "$(cat cpu gpu)"
rm moved/lib/flowc/libflowsimcuda.so
expect 3 '--simulate: ' moved/bin/flowc devices --simulate=gpu:1
