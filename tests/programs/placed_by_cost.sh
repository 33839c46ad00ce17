# What the program places nowhere runs where a profile of the machine says that it takes less; a lock
# keeps that, and stops who changes the program.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
export XDG_CONFIG_HOME=$PWD/config
real=$root/examples/machines/h200.profile
sed -e 's/dense(256)/dense(16)/; s/|> batch(batch_size)/|> take(64) |> batch(16)/' \
    -e 's/|> batch(1000)/|> take(32) |> batch(32)/' "$digits" >d.flow
cp -r "$data" .

# A GPU that nothing is slow on, and one that is far away.
sed -e 's/^start = 4 us/start = 1 ns/; s/^fill = .*/fill = 1 guess/; s/^link = .*/link = 900 TB\/s guess/' \
    -e 's/^latency = .*/latency = 1 ns guess/' "$real" >eager.profile
sed -e 's/^link = .*/link = 1 MB\/s guess/' "$real" >far.profile
on() { grep -c "^    $1:" "$2" || true; }
"$FLOWC" explain --machine=eager.profile d.flow >eager || fail "$(cat eager)"
"$FLOWC" explain --machine=far.profile d.flow >far || fail "$(cat far)"
[ "$(on 'gpu(0)' eager)" -gt 8 ] && [ "$(on 'gpu(0)' far)" = 0 ] || fail "$(cat eager far)"
# What was said of each: time on both devices, copies, what would move it.
grep -q 'us ([a-z]*) on cpu, .* us ([a-z]*) on gpu(0); on cpu .* of copies .*, and a round would take' eager || fail "$(cat eager)"
grep -q 'no batch or link up to 1024 times as large moves it' far || fail "$(cat far)"
# The batch that a kernel is said to go over with sends it over.
"$FLOWC" explain --machine="$real" d.flow >now || fail "$(cat now)"
batch=$(sed -n 's/.*gpu(0) from batches of \([0-9]*\) on.*/\1/p' now | sort -n | head -n 1)
sed "s/|> take(64) |> batch(16)/|> batch($batch)/" d.flow >larger.flow
"$FLOWC" explain --machine="$real" larger.flow >then || fail "$(cat then)"
[ "$(on 'gpu(0)' now)" -lt "$(on 'gpu(0)' then)" ] || fail "$batch: $(cat now then)"

# What a few threads of a GPU do in series takes long there: an embedding's gradient, a column each.
cat >few.flow <<'E2'
pipeline digits(images: path, labels: path) -> (x: u8[28, 28], y: i32 in 0..10) {
  return idx(image: images, label: labels) |> map(x: image, y: label)
}

model table(y: i32[B] in 0..10) -> f32[B, 16] {
  return embedding(y, 16)
}

train fit {
  data      = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz") |> batch(1000)
  loss      = mean(table(data.y) ^ 2)
  optimizer = sgd(0.1)
}
E2
"$FLOWC" explain --machine="$real" few.flow >out || fail "$(cat out)"
grep -A 1 'scatter \[B, 10, 16\]' out | awk '/on gpu/ { found = 1; sub(/.*on cpu, /, ""); if ($1 < 10) exit 1 } END { exit !found }' || fail "$(cat out)"

# Products of f16 take tensor cores, too, which are a GPU's alone.
sed -e 's/batch(1000)/batch(4000)/; s/f32\[B, 16\]/f32[B, 2048]/' \
    -e 's/^  return embedding.*/  weight w: f32[2048, 2048] = normal(0.1)\n  return cast(matmul(cast(embedding(y, 2048), f16), cast(w, f16)), f32)/' few.flow >halves.flow
"$FLOWC" explain --machine="$real" halves.flow >out || fail "$(cat out)"
grep -A 1 'contraction \[B, 2048, 2048\]' out | awk '/on gpu/ { found = 1; sub(/.*on cpu, /, ""); if ($1 > 100) exit 1 } END { exit !found }' || fail "$(cat out)"

# And so do those of tf32, at half their rate.
sed 's/cast(matmul(cast(\(.*\), f16), cast(w, f16)), f32)/matmul(\1, w)/' halves.flow >single.flow
sed 's/^train fit {/& precision = tf32/' single.flow >tf32.flow
product() { "$FLOWC" explain --machine="$real" $1.flow | grep -A 1 'contraction \[B, 2048, 2048\]' | sed -n 's/.* on cpu, \([0-9.]* [mu]s\) .*/\1/p' | sed 's/ ms/e-3/; s/ us/e-6/; 1!d'; }
awk "BEGIN { exit !($(product tf32) * 5 < $(product single) && $(product tf32) > $(product halves)) }" || fail "$(product single) $(product tf32) $(product halves)"

# An annotation and --device come first.
sed 's/|> dense(C)/|> dense(C) @cpu/' d.flow >fixed.flow
"$FLOWC" explain --machine=eager.profile fixed.flow >out || fail "$(cat out)"
grep -q '^    cpu: .*; the program says so' out || fail "$(cat out)"
"$FLOWC" explain --device=cpu --machine=eager.profile d.flow >out || fail "$(cat out)"
! grep -q '^placement of' out || fail "$(cat out)"

# What is fixed is explained by what fixed it, and where it is.
sed -n '/^device gpu/,$p' "$real" | sed 's/gpu(0)/gpu(1)/' | cat eager.profile - >two.profile
sed 's/|> dense(C)/|> dense(C) @gpu(1)/' d.flow >second.flow
"$FLOWC" explain --machine=two.profile second.flow >out || fail "$(cat out)"
grep -q '^    gpu(1): .* on cpu, .* on gpu(1); the program says so' out || fail "$(cat out)"
"$FLOWC" explain --machine=eager.profile second.flow >out || fail "$(cat out)"
grep -q '^    cpu: .*; there is no gpu(1)' out || fail "$(cat out)"
sed 's/^cache = .*/cache = 1 MB\/s guess/' eager.profile >slow.profile
for profile in far slow; do
    "$FLOWC" explain --machine=$profile.profile "$root/examples/housing.flow" >$profile.housing || fail "$(cat $profile.housing)"
    ! grep -E '^    .*; (the program says so|gpu.0. has no room)' $profile.housing || fail "nobody said it"
done
[ "$(grep -c '^    cpu: .*; as in the loop before' far.housing)" = 3 ] || fail "$(cat far.housing)"
[ "$(grep -c '^    gpu(0): .*; as in the loop before' slow.housing)" = 3 ] || fail "$(cat slow.housing)"
# What attention took in goes with its kernel, and that with all of it.
"$FLOWC" explain --machine="$real" "$root/examples/char_gpt.flow" >out || fail "$(cat out)"
grep -q '^    gpu(0): .* on cpu; goes with kernel [0-9]*$' out || fail "$(cat out)"
! grep -q 'e+0' out || fail "$(cat out)"
# What does not fit stays on the CPU, by the profile's memory or by what is left of it.
sed 's/^size = .*published/size = 0.02 MiB guess/' eager.profile >small.profile
for flags in --machine=small.profile '--machine=eager.profile --gpu-memory=20KiB'; do
    "$FLOWC" explain $flags d.flow >out || fail "$(cat out)"
    grep -q '^    cpu: .*; gpu(0) has no room for the program' out || fail "$(cat out)"
    [ "$(on 'gpu(0)' out)" = 0 ] || fail "$(cat out)"
done
"$FLOWC" run --simulate=gpu:1 --machine=eager.profile --gpu-memory=20KiB --explain d.flow --epochs=1 >out 2>stderr || fail "$(cat stderr)"
grep -q 'kernel 0: ' out && ! grep -q 'on gpu(0)$' out || fail "$(cat out)"

# A stored profile is of the devices whose names it has, whatever their numbers are now.
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
mkdir -p config/flowc
sed -e "s/^name = 16.*/name = $(grep -m 1 '^model name' /proc/cpuinfo | sed 's/.*: //')/" -e 's/^name = NV.*/name = simulated GPU 1/' \
    -e 's/ guess$/ measured/; s/ published$/ measured/' "$real" >config/flowc/machine.profile
seen() { FLOWC_LIBCUDA=$standin FLOWC_SIMULATE=gpu:2 "$FLOWC" explain --visible-devices="$1" d.flow >out 2>stderr || fail "$(cat stderr)"; }
seen 1
grep -q '^  gpu(0) is simulated GPU 1; all measured' out || fail "$(cat out)"
seen 0
grep -q 'not measured then: simulated GPU 0; `flowc calibrate` does' out || fail "$(cat out)"
grep -q '^  gpu(0) is simulated GPU 0; not measured: f32' out || fail "$(cat out)"
rm -r config

# It runs so, and learns the same.
close() {
    paste expected "$1" | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat "$1"), not $(cat expected)"
}
"$FLOWC" run --device=cpu d.flow --epochs=2 >expected 2>stderr || fail "$(cat stderr)"
"$FLOWC" run --simulate=gpu:1 --machine=eager.profile --explain d.flow --epochs=2 >both 2>stderr || fail "$(cat stderr)"
grep -q 'kernel 0: .* on gpu(0)$' both || fail "$(cat both)"
grep '^evaluate' both >out || fail "$(cat both)"
close out
# A stand-in's speed decides nothing, and it is said.
"$FLOWC" run --simulate=gpu:1 d.flow --epochs=2 >out 2>stderr || fail "$(cat stderr)"
same out expected
grep -q 'simulated GPUs have no speed to go by: .* FLOWC_DEVICE=gpu, ' stderr || fail "$(cat stderr)"

# A profile is read wherever it is named, and what --device names is of its machine.
for device in "" --device=cpu --visible-devices=none; do
    expect 1 'none.profile: No such file' "$FLOWC" run $device --machine=none.profile d.flow
done
expect 1 'gpu(3) is not on this machine: it has fewer GPUs' "$FLOWC" explain --machine=eager.profile --device='gpu(3)' d.flow

# Locks.
sed 's/guess/simulated/' "$real" >stand-in.profile
expect 1 'stand-in.profile is of simulated GPUs' "$FLOWC" explain --machine=stand-in.profile --lock d.flow
expect 1 'nothing to lock: simulated GPUs have no speed to go by' "$FLOWC" explain --simulate=gpu:1 --lock d.flow
expect 1 'nothing to lock: --device, or FLOWC_DEVICE, says where' "$FLOWC" explain --machine=eager.profile --device=cpu --lock d.flow
[ ! -e d.lock ] || fail 'a lock was written'
expect 1 'nothing to lock' "$FLOWC" explain --visible-devices=none --lock d.flow
"$FLOWC" explain --machine=eager.profile --lock d.flow || fail "no lock"
grep -q '^0 gpu(0) contraction .* in f32$' d.lock || fail "$(cat d.lock)"
"$FLOWC" explain --machine=eager.profile --lock --check d.flow || fail "it differs from itself"
sed 's/^function/\n# a comment\n&/' d.lock >spaced.lock
"$FLOWC" explain --machine=eager.profile --lock=spaced.lock --check d.flow || fail "comments differ"
expect 1 'd.lock: it would be decided otherwise now: `0 cpu contraction' "$FLOWC" explain --machine=far.profile --lock --check d.flow
"$FLOWC" explain --machine=far.profile d.flow >out || fail "$(cat out)"
grep -q 'd.lock decides for `run` and `build`' out || fail 'nothing of the lock'
expect 1 'd.lock places kernels on gpu(0), which is not on this machine' "$FLOWC" run --visible-devices=none d.flow
grep -q 'without the file nothing is locked' stderr || fail "$(cat stderr)"
"$FLOWC" build --simulate=gpu:1 --emit=cuda -o d.cu d.flow 2>stderr && grep -q __global__ d.cu || fail "$(cat stderr)"
# One that is built for has it.
FLOWC_LIBNVRTC=$standin "$FLOWC" build --visible-devices=none --target=native,sm_90 -o ahead d.flow 2>stderr || fail "$(cat stderr)"
./ahead --version | grep -q 'for GPUs: sm_90' || fail "$(./ahead --version)"
"$FLOWC" run --visible-devices=none --soft-placement d.flow --epochs=2 >out 2>stderr || fail "$(cat stderr)"
grep -q 'the CPU runs what .*d.lock places on gpu(0)' stderr || fail "$(cat stderr)"
same out expected
"$FLOWC" run --simulate=gpu:1 --explain d.flow --epochs=2 >both 2>stderr || fail "$(cat stderr)"
grep -q 'kernel 0: .* on gpu(0)$' both || fail "$(cat both)"
"$FLOWC" run --device=cpu d.flow --epochs=2 >out 2>stderr || fail "$(cat stderr)"
same out expected
# Lines that move change nothing; a kernel that becomes another, a batch, and broken locks do.
sed '1i # a comment' d.flow >moved.flow
mv moved.flow d.flow
"$FLOWC" run --simulate=gpu:1 d.flow >out 2>stderr || fail "$(cat stderr)"
for change in 's/dense(16)/dense(17)/' 's/batch(16)/batch(32)/' 's/relu()/tanh()/'; do
    sed "$change" d.flow >changed.flow
    expect 1 'The lock no longer fits the program' "$FLOWC" run --lock=d.lock --simulate=gpu:1 changed.flow
done
expect 1 'none.lock: No such file' "$FLOWC" run --lock=none.lock d.flow
FLOWC_DEVICE=cpu expect 1 'none.lock: No such file' "$FLOWC" run --lock=none.lock d.flow
expect 2 '--lock and --device both say' "$FLOWC" run --lock=none.lock --device=cpu d.flow
expect 2 '--lock and --machine both say' "$FLOWC" run --lock=d.lock --machine=eager.profile d.flow
"$FLOWC" run --simulate=gpu:1 --machine=eager.profile d.flow >out 2>stderr || fail "$(cat stderr)"
grep -q 'd.lock decides, not --machine' stderr || fail "$(cat stderr)"
for change in 1d '$d' 's/gpu(0)/gpu(x)/' 's/^0 /7 /' 's/^1 /99999999999 /' '$a more'; do
    sed "$change" d.lock >broken.lock
    expect 1 'broken.lock:' "$FLOWC" run --lock=broken.lock --simulate=gpu:1 d.flow
done

# Profiles that are wrong.
wrong() { # what is said, the change
    sed "$2" "$real" >wrong.profile
    expect 1 "$1" "$FLOWC" explain --machine=wrong.profile d.flow
}
wrong 'wrong.profile:1: a profile begins with `flowc profile 1`' 's/profile 1/profile 2/'
wrong '`f32` is a number, a unit (MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s) and where it is from' 's/^f32 = .*/f32 = 5 GB\/s guess/'
wrong '`f32` is a number' 's/^f32 = .*/f32 = 5 GFLOP\/s/'
wrong '`f32` is a number' 's/^f32 = .*/f32 = 5 GFLOP\/s guess more/'
wrong '`link` is more than 0' 's/^link = .*/link = -5 GB\/s guess/'
wrong '`link` is more than 0' 's/^link = .*/link = nan GB\/s guess/'
wrong '`cores` is a number, no unit' 's/^cores = .*/cores = many guess/'
wrong '`fill` is missing of the device that ends here' '/^fill/d'
wrong 'the device that ends here has no name' '/^name = NV/d'
wrong '`speed` is nothing that is known of this device: there are name, cores' 's/^decode = .*/speed = 5/'
wrong 'the next device is `gpu(0)`' 's/gpu(0)/gpu(1)/'
for gpu in $(seq 62); do
    sed -n '/^device gpu/,$p' "$real" | sed "s/gpu(0)/gpu($gpu)/"
done | cat "$real" - >wrong.profile
expect 1 'a machine has at most 62 GPUs' "$FLOWC" explain --machine=wrong.profile d.flow
wrong 'there is no `device cpu`' '/^device/,$d'
wrong 'is given a second time' 's/^link = .*/&\n&/'
wrong 'a line is `name = value`' '$a word'
wrong 'there is no `date`' '/^date/d'
expect 1 'none.profile: No such file' "$FLOWC" explain --machine=none.profile d.flow
"$FLOWC" explain --machine=stand-in.profile d.flow >out || fail "$(cat out)"
