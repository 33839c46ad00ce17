# examples/tensorflow on two simulated GPUs: each runs exactly where it says, which `explain` shows, and gives what
# the CPU gives. There are fewer and smaller records here, as the stand-in is slow.
. tests/programs/lib/gpus.sh

# small NAME SED: the program with less to do.
small() { sed "s#\.\./data#$data#g; $2" "$root/examples/tensorflow/$1.flow" >"$1.flow"; }

# annotated NAME PLACED flags…: so many kernels and stages are on a device that is asked for by an order, none is elsewhere.
annotated() {
    local name=$1 placed=$2
    shift 2
    "$FLOWC" check --explain --simulate=gpu:2 "$name.flow" >explain || fail "$name: $(cat explain)"
    grep -E 'on (cpu|gpu\([01]\)), .* wanted at' explain >wanted || fail "$name: nothing is placed: $(cat explain)"
    if grep -vE 'on (cpu|gpu\([01]\)), \1 wanted' wanted; then fail "$name: not where it is to be"; fi
    [ "$(grep -c 'on gpu' wanted)" -ge "$placed" ] || fail "$name: $(cat wanted)"
    run expected --soft-placement --visible-devices=none "$@"
    run out --simulate=gpu:2 "$@"
    if grep -q 'runs on the CPU' stderr; then fail "$name: $(cat stderr)"; fi
    [ -s out ] || fail "$name prints nothing"
    close "$name"
}
small 01_preprocess_on_cpu "s/224/32/g; s/|> batch(32)/|> take(16) |> batch(8)/; s/^  epochs .*/  epochs = 1/"
small 03_queue "s/|> batch(32)/|> take(32) |> batch(16)/; s/^  epochs .*/  epochs = 1/"
small 05_normalise_on_cpu "s/100k/64/; s/^  epochs .*/  epochs = 1/"
small 08_layers_on_gpu "s/|> batch(32)/|> take(64) |> batch(32)/; s/^  epochs .*/  epochs = 1/"
small 07_devices_and_memory "s/|> batch(100)/|> take(60) |> batch(20)/; s/^  epochs .*/  epochs = 1/"
small 14_model_parallelism "s/2k/64/; s/^  epochs .*/  epochs = 1/"
for name in 01_preprocess_on_cpu 03_queue 05_normalise_on_cpu 08_layers_on_gpu 14_model_parallelism; do annotated $name 2; done
name=07_devices_and_memory
run expected --visible-devices=none
run out --simulate=gpu:2
grep -q 'on gpu(0), gpu(0) preferred' <("$FLOWC" check --explain --simulate=gpu:2 $name.flow) || fail "$name is not on the GPU"
close 07_devices_and_memory

small 04_sums_on_two_devices ''
annotated 04_sums_on_two_devices 1
small 10_matmul_and_sum 's/1024/64/g'
annotated 10_matmul_and_sum 2
grep -q '^  map, on gpu(0), gpu(0) wanted at 10_matmul_and_sum.flow:5$' explain || fail "$(cat explain)"
small 12_compiled_function 's/1000/100/g'
annotated 12_compiled_function 1
small 15_uneven_tasks 's/^pipeline tasks/&/'
annotated 15_uneven_tasks 2
[ "$(wc -l <out)" = 300 ] || fail "300 images are expected"

small 11_batches_of_1024 's/10k/2100/'
"$FLOWC" run --simulate=gpu:2 11_batches_of_1024.flow fit 2>stderr || fail "exit $?: $(cat stderr)"
annotated 11_batches_of_1024 2 classes
same out expected
[ "$(wc -l <out)" = 2100 ] || fail "2100 classes are expected"

# replicated NAME: each of two GPUs has half of every batch.
replicated() {
    local name=$1
    "$FLOWC" explain --simulate=gpu:2 "$name.flow" >explain || fail "$name: $(cat explain)"
    grep -qE '^  replicas: 2, of [0-9]+ of [0-9]+ records each, all-reduce of ' explain || fail "$name: $(cat explain)"
    run expected --soft-placement --visible-devices=none
    run out --simulate=gpu:2
    [ -s out ] || fail "$name prints nothing"
    close "$name"
}
small 02_replicas_of_images "s/224/32/g; s/|> batch(32)/|> take(14) |> batch(6)/"
small 06_replicas "s/2k/50/; s/^  epochs .*/  epochs = 1/"
small 09_replicas_of_digits "s/2k/50/; s/^  epochs .*/  epochs = 1/"
small 13_data_parallelism "s/|> batch(32)/|> take(50) |> batch(32)/; s/^  epochs .*/  epochs = 1/"
for name in 02_replicas_of_images 06_replicas 09_replicas_of_digits 13_data_parallelism; do replicated $name; done
