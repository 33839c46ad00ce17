# Killed at any moment and resumed, a run ends with the bytes of one that was left alone.
. tests/programs/lib/common.sh
ln -s "$data" data
sed -e 's/dense(256)/dense(64)/; s/|> batch(batch_size)/|> take(6400) |> batch(batch_size)/' \
    -e 's/|> batch(1000)/|> take(1000) |> batch(1000)/' "$digits" >digits.flow
"$FLOWC" build digits.flow -o trainer
begin=$(date +%s%N)
./trainer --epochs=4 >whole.out
took=$((($(date +%s%N) - begin) / 1000)) # in microseconds
mv digits.safetensors whole.safetensors
within=0 # rounds that killed it before its end
for round in 1 2 3 4 5 6 7 8 9 10; do
    rm -f digits.safetensors
    ./trainer --epochs=4 >/dev/null 2>&1 & id=$!
    moment=$((RANDOM * took / 32768))
    sleep "$((moment / 1000000)).$(printf %06d $((moment % 1000000)))"
    kill -9 $id 2>/dev/null || true
    wait $id 2>/dev/null || within=$((within + 1))
    ./trainer --epochs=4 --resume >resumed.out 2>resumed.err
    same whole.safetensors digits.safetensors
done
[ $within -gt 0 ] || fail "each run had ended before it was killed"
set -m # so that processes in the background don't ignore SIGINT
# Ctrl-C: the step is finished, the state is saved, the exit code says so.
rm -f digits.safetensors
./trainer --epochs=5000 >/dev/null 2>&1 & id=$!
until_true "[ -s digits.safetensors ]"
kill -INT $id
code=0; wait $id || code=$?
[ $code = 4 ] || fail "interrupted with exit $code, not 4"
./trainer --epochs=5000 --resume --progress=off >resumed.out 2>stderr & id=$!
until_true "[ -s resumed.out ]"
stopped $id
