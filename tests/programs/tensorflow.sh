# examples/tensorflow: each program runs softly placed and says what it moved, stops where its GPU is
# missing, and has no more lines of code than the README says and the TensorFlow code has.
. tests/programs/lib/common.sh
programs=$root/examples/tensorflow
export LD_LIBRARY_PATH=$PWD/stub CUDA_STUB=init # a driver that fails, whatever this machine has
mkdir stub
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -shared -fPIC -o stub/libcuda.so.1 "$root/tests/programs/lib/cuda_stub.c"

lines_of() { grep -vcE '^ *(#|$)' "$1"; }
rows() { grep -E '^\| \[[0-9]{2}_' "$programs/README.md" | sed -E 's/^\| \[([^]]*)\][^|]*\| ([0-9]+) of ([0-9]+) \|.*/\1 \2 \3/'; }
[ "$(rows | wc -l)" = 15 ] && [ "$(ls "$programs"/*.flow | wc -l)" = 15 ] || fail "fifteen programs: $(rows)"
rows | while read -r name here there; do
    [ "$(lines_of "$programs/$name.flow")" = "$here" ] || fail "$name has not $here lines"
    [ "$here" -le "$there" ] || fail "$name is longer than what it replaces"
done
"$FLOWC" fmt --check "$programs"/*.flow || fail "not formatted"

# moved NAME PLACES PATTERN flags…: runs softly; so many places are moved; the last line printed fits.
moved() {
    local file=$programs/$1.flow places=$2 pattern=$3
    shift 3
    "$FLOWC" run "$file" --soft-placement --progress=plain "$@" >stdout 2>stderr || fail "$file: exit $?: $(cat stderr)"
    [ "$(grep -cE "^$(basename "$file"):[0-9]+: .* on the CPU: no GPU here$" stderr)" = "$places" ] || fail "$file: $(cat stderr)"
    cat stderr stdout >"$(basename "$file").output"
    grep -E '^epoch|=' stdout stderr -h | grep -v '^fit' | tail -n 1 | grep -qE "$pattern" || fail "$file: $(cat stderr stdout)"
}
# stops NAME flags…: without --soft-placement.
stops() {
    local file=$programs/$1.flow
    shift
    expect 1 'error[E0304]: device not available' "$FLOWC" run "$file" "$@"
    grep -qF -- '--soft-placement' stderr || fail "$file: $(cat stderr)"
}
falls() { # the loss, from epoch to epoch
    grep -oE '^epoch .* loss=[0-9.]+' "$1.flow.output" | sed 's/.*loss=//' >losses
    sort -rnu losses | cmp -s - losses && [ "$(wc -l <losses)" -gt 1 ] || fail "$1: $(cat losses)"
}

stops 01_preprocess_on_cpu
moved 01_preprocess_on_cpu 1 'loss=2\.[0-9]+ accuracy='
falls 01_preprocess_on_cpu
stops 02_replicas_of_images
moved 02_replicas_of_images 1 '^epoch 1/1: loss=2\.'
stops 03_queue
moved 03_queue 1 'epoch 3/3: .* accuracy=0\.[3-9]' --passes=3
falls 03_queue
stops 04_sums_on_two_devices
moved 04_sums_on_two_devices 1 '^cpu=6 gpu=15$'
stops 05_normalise_on_cpu
moved 05_normalise_on_cpu 1 'accuracy=0\.[89]' --passes=2
stops 06_replicas
moved 06_replicas 1 'accuracy=0\.[3-9]'
falls 06_replicas
moved 07_devices_and_memory 0 'accuracy=0\.[89]' --passes=1 --visible-devices=none
sed 's/64MiB/1MiB/; s#\.\./data#'"$data"'#g' "$programs/07_devices_and_memory.flow" >small.flow
expect 1 'memory' "$FLOWC" run small.flow
stops 08_layers_on_gpu
moved 08_layers_on_gpu 1 'accuracy=0\.9' --passes=1
stops 09_replicas_of_digits
moved 09_replicas_of_digits 1 'accuracy=1\.0'
falls 09_replicas_of_digits
stops 10_matmul_and_sum
moved 10_matmul_and_sum 1 '^result=-?[0-9.]+$'
stops 11_batches_of_1024 fit
stops 11_batches_of_1024 classes
moved 11_batches_of_1024 1 'loss=' fit
moved 11_batches_of_1024 1 '^y=[0-9]$' classes
[ "$(grep -cE '^y=[0-9]$' stdout)" = 10000 ] || fail "10000 classes are expected"
stops 12_compiled_function
moved 12_compiled_function 1 '^output=(0\.99|1\.00)'
stops 13_data_parallelism
moved 13_data_parallelism 1 'loss=0\.[0-4]' --passes=1
stops 14_model_parallelism
moved 14_model_parallelism 3 'epoch 10/10: loss='
falls 14_model_parallelism
stops 15_uneven_tasks
moved 15_uneven_tasks 1 '^brightness=[0-9.]+ contrast=[0-9.]+$'
[ "$(wc -l <stdout)" = 300 ] || fail "300 images are expected"
