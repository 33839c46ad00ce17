# `flowc calibrate` measures this machine and keeps what it found; what a stand-in does is called so.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
export XDG_CONFIG_HOME=$PWD/config
"$FLOWC" calibrate --help | grep -q 'Measures what this machine does' || fail 'no help'
expect 2 'is kept with `-o FILE` alone' "$FLOWC" calibrate --simulate=gpu:1
[ ! -e config ] || fail 'something was kept'

# Each figure of the CPU but what is said to be a guess was measured, and is believable.
"$FLOWC" calibrate -o here.profile >out 2>stderr || fail "$(cat stderr)"
same out here.profile
for name in f32 f64 bf16 cache memory; do
    grep -q "^$name = [0-9.]* [A-Za-z/]* measured$" here.profile || fail "$name: $(cat here.profile)"
done
grep -q '^decode = .* guess$' here.profile || fail "$(cat here.profile)"
grep -qE '^f32 = [0-9.]+ [GT]FLOP/s' here.profile || fail "$(cat here.profile)"
grep -qE '^memory = [0-9.]+ [GT]B/s' here.profile || fail "$(cat here.profile)"

# A stand-in's says it in every figure, and decides about nothing real.
"$FLOWC" calibrate --simulate=gpu:2 -o stand-in.profile >/dev/null 2>stderr || fail "$(cat stderr)"
[ "$(sed -n '/^device gpu/,$p' stand-in.profile | grep -c ' simulated$')" = 18 ] || fail "$(cat stand-in.profile)"
grep -q '^fill = 8192 simulated$' stand-in.profile || fail "$(cat stand-in.profile)"
grep -q '^note = the GPUs are simulated' stand-in.profile || fail "$(cat stand-in.profile)"
sed -e 's/|> batch(1000)/|> take(32) |> batch(32)/' "$digits" >d.flow
cp -r "$data" .
"$FLOWC" explain --machine=stand-in.profile d.flow >out || fail "$(cat out)"
grep -q 'the GPUs are simulated: this is no real machine' out || fail "$(cat out)"
! grep -q '^    gpu(0):' out || fail "$(cat out)"

# It is kept beside what is the user's, and read from there.
"$FLOWC" calibrate >/dev/null 2>stderr || fail "$(cat stderr)"
grep -q "kept in $PWD/config/flowc/machine.profile" stderr || fail "$(cat stderr)"
[ -s config/flowc/machine.profile ] || fail 'nothing was kept'
# A GPU that fails while it is measured is named, and nothing is kept.
FLOWC_SIMULATE_FAULT=cuLaunchKernel:3 expect 3 'gpu(0), simulated GPU 0, is not measured' "$FLOWC" calibrate --simulate=gpu:1 -o broken.profile
FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1 XDG_CACHE_HOME=$PWD/cache expect 3 'is not measured' "$FLOWC" calibrate --simulate=gpu:1 -o broken.profile
[ ! -e broken.profile ] || fail 'it was kept'
