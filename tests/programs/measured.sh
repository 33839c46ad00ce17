# What kernels took when they ran counts from then on instead of rooflines: kept by runs, used where something is
# decided for this machine, never for another, and never measured on a stand-in.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
export XDG_CONFIG_HOME=$PWD/config XDG_CACHE_HOME=$PWD/cache FLOWC_MEASURE=1
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so times=cache/flowc/times/measured
# As large as programs are that call their threads at once.
sed -e 's/dense(256)/dense(128)/; s/|> batch(batch_size)/|> take(480) |> batch(16)/' \
    -e 's/|> batch(1000)/|> take(32) |> batch(32)/' "$digits" >d.flow
sed 's/dense(128)/dense(16)/; s/take(480)/take(160)/' d.flow >small.flow
cp -r "$data" .
cores=$("$FLOWC" devices | sed -n 's/.* \([0-9]*\) cores.*/\1/p')
[ -n "$cores" ] || cores=$(nproc)
[ "$cores" -le 16 ] || cores=16 # threads of a run
run() { "$FLOWC" run "$@" --epochs=1 >out 2>stderr || fail "$(cat stderr)"; }

# Nothing of a stand-in, however it is found, nor of a CPU beside it; nothing where nobody asks.
run --simulate=gpu:1 --device=gpu small.flow --threads="$cores"
FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=$standin run --device=gpu small.flow --threads="$cores"
FLOWC_MEASURE=0 run d.flow
FLOWC_MEASURE=abc expect 0 'FLOWC_MEASURE is 0 (never) or 1 (without a driver, too), not `abc`' "$FLOWC" run d.flow --epochs=1
[ ! -e $times ] || fail "$(cat $times)"

# Three times of each kernel of the step, and then no more, with the threads that a run has by itself.
for count in 1 2 3 3; do
    run d.flow
    [ "$(cut -d ' ' -f 1 $times | sort | uniq -c | awk '{ print $1 }' | sort -u)" = $count ] || fail "$(cat $times)"
    [ -z "$(ls cache/flowc/times/asked)" ] || fail "what was asked is still there"
done
today=$(awk 'NR == 1 { print $3 }' $times) # of the first run, whatever it is by now
[ $(($(date +%s) - $(date -d "$today" +%s))) -lt 180000 ] || fail "$today"
grep -qE "^[0-9a-f]{16} [0-9.e-]+ [0-9-]{10} .*, [0-9]* cores: contraction .*d.flow:24 matmul.* of 16 records\$" $times || fail "$(cat $times)"
awk '!($2 > 1e-8 && $2 < 1) { exit 1 }' $times || fail "$(cat $times)"
kernels=$(($(wc -l <$times) / 3))
# Runs at once add whole lines; a renamed weight is the same kernel, another size is not.
rm $times
for i in 1 2 3 4; do "$FLOWC" run d.flow --epochs=1 --save=$i.safetensors >/dev/null 2>&1 & done
wait
grep -qvE "^[0-9a-f]{16} [0-9.e-]+ [0-9-]{10} " $times && fail "$(cat $times)"
sed 's/dense(128)/dense(17)/' d.flow >other.flow
run other.flow --threads="$cores"
[ "$(cut -d ' ' -f 1 $times | sort -u | wc -l)" -gt "$kernels" ] || fail "$(cat $times)"

# On GPUs events say it (here of a stand-in, asked by hand): `KEY SECONDS rest`, in shares; other functions are not asked.
"$FLOWC" build --simulate=gpu:1 --device=gpu -o gpu small.flow 2>stderr || fail "$(cat stderr)"
printf '%s\n' "$PWD/answers" "threads $cores" 'function fit.other' '1 gpu 1 dddd no' 'function fit.step' >ask
for call in $(seq 0 20); do printf '%s gpu 0.5 aaaa%s half\n%s gpu 1 bbbb%s all\n' $call $call $call $call; done >>ask
printf '%s\n' '9999 gpu 1 cccc no' 'nonsense' >>ask
cp ask asked
FLOWC_TIMES=$PWD/asked LD_LIBRARY_PATH=$root/$BUILD/lib/flowc/simulated FLOWC_SIMULATE=gpu:1 \
    ./gpu --epochs=1 --threads="$cores" >out 2>stderr || fail "$(cat stderr)"
[ ! -e asked ] && [ "$(grep -c '^bbbb' answers)" -gt 5 ] && ! grep -E '^(cccc|dddd)' answers || fail "$(cat answers stderr)"
awk '/^aaaa/ { half = $2 } /^bbbb/ { if ((half * 2 / $2 - 1) ^ 2 > 1e-4) exit 1 }' answers || fail "$(cat answers)"

# What there is no room for leaves no half of a line behind.
head -c $((4096 * 1024 - 200)) /dev/zero | tr "\0" "\n" >answers
cp answers kept && cp ask asked
(ulimit -f 4096 && FLOWC_TIMES=$PWD/asked LD_LIBRARY_PATH=$root/$BUILD/lib/flowc/simulated FLOWC_SIMULATE=gpu:1 \
    ./gpu --epochs=1 --threads="$cores" >out 2>stderr) || fail "$(cat stderr)"
same kept answers
grep -q 'times of kernels are not kept: .*answers: No space left' stderr || fail "$(cat stderr)"

# Where it is decided for this machine, the least time of a kernel stands for it, with its date. (Here the stand-in is
# taken for a GPU, as flowc explain does with a profile that has its name.)
real=$root/examples/machines/h200.profile
mkdir -p config/flowc
sed -e "s|^name = 16.*|name = $("$FLOWC" devices | sed -n 's/^cpu  *//; s/, [0-9]* cores\{0,1\},.*//p')|; s/^cores = .*/cores = $cores measured/" \
    -e 's/^name = NV.*/name = simulated GPU 0/; s/^link = .*/link = 900 GB\/s guess/' "$real" >config/flowc/machine.profile
placed() { FLOWC_LIBCUDA=$standin FLOWC_SIMULATE=gpu:1 "$FLOWC" explain "$@" >out 2>stderr || fail "$(cat stderr)"; }
on() { grep -c "^    $1: .*(measured" out || true; }
sed -i "s/^\([0-9a-f]*\) [^ ]* [^ ]*/\1 1e-9 $today/" $times # nothing is faster than the CPU
placed d.flow
[ "$(on cpu)" = "$kernels" ] && [ "$(on 'gpu(0)')" = 0 ] || fail "$(cat out)"
grep -q "^    cpu: 0.001 us (measured $today) on cpu, .* us (roofline) on gpu(0)" out || fail "$(cat out)"
grep -q "times of kernels were measured; by them the split that rooflines give takes" out || fail "$(cat out)"
grep -q 'no other split gains a twentieth by them: it stays' out || fail "$(cat out)"
cp out fast
sed -i 's/^\([0-9a-f]*\) [^ ]*/\1 1e-2/' $times # the CPU takes long
placed d.flow
[ "$(on 'gpu(0)')" = "$kernels" ] || fail "$(cat out)"
grep -q 'times of kernels were measured; the split that rooflines give would take' out || fail "$(cat out)"
# Another machine's profile knows nothing of them; what is locked stays.
placed --machine="$real" d.flow
! grep -q measured.20 out || fail "$(cat out)"
placed --lock d.flow
grep -q ' gpu(0) contraction' d.lock || fail "$(cat d.lock)"
sed 's/1e-2 /1e-9 /' $times >faster && mv faster $times && chmod 600 $times
FLOWC_LIBCUDA=$standin FLOWC_SIMULATE=gpu:1 expect 1 'd.lock: it would be decided otherwise now' "$FLOWC" explain --lock --check d.flow
"$FLOWC" run --simulate=gpu:1 --explain d.flow --epochs=1 >out 2>stderr || fail "$(cat stderr)"
grep -q 'kernel 0: .* on gpu(0)$' out || fail "$(cat out)"
rm d.lock

# What is broken is left out, once, with a note; what is old, silently.
cp $times whole
printf 'ffff 1\n%s nan %s x\n\000\000\n' 0123456789abcdef "$today" >>$times
placed d.flow
grep -q "times/measured: 3 of .* lines are broken, and not used" stderr || fail "$(cat stderr)"
same out fast
same $times whole
placed d.flow
[ ! -s stderr ] || fail "$(cat stderr)"
sed -i "s/ $today / 2020-01-01 /" $times
placed d.flow
! grep -q 'measured 20' out || fail "$(cat out)"

# Nobody waits for a FIFO.
rm $times && mkfifo $times
expect 0 'measured: it is not a regular file' "$FLOWC" run d.flow --epochs=1
grep -q 'times of kernels are not kept: ' stderr || fail "$(cat stderr)"
