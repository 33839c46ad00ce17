# Killed at any moment and resumed, a run ends with the bytes of one that was left alone.
. tests/programs/lib/common.sh
ln -s "$data" data
"$FLOWC" build "$digits" -o trainer
./trainer --epochs=4 >whole.out
mv digits.safetensors whole.safetensors
for round in 1 2 3 4 5 6 7 8 9 10; do
    rm -f digits.safetensors
    ./trainer --epochs=4 >/dev/null 2>&1 & id=$!
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    kill -9 $id 2>/dev/null || true
    wait $id 2>/dev/null || true
    ./trainer --epochs=4 --resume >resumed.out 2>resumed.err
    same whole.safetensors digits.safetensors
done
set -m # so that processes in the background don't ignore SIGINT
# Ctrl-C: the step is finished, the state is saved, the exit code says so.
rm -f digits.safetensors
./trainer --epochs=50 >/dev/null 2>&1 & id=$!
until_true "[ -s digits.safetensors ]"
kill -INT $id
code=0; wait $id || code=$?
[ $code = 4 ] || fail "interrupted with exit $code, not 4"
./trainer --epochs=50 --resume --progress=off >resumed.out 2>stderr & id=$!
until_true "[ -s resumed.out ]"
stopped $id
