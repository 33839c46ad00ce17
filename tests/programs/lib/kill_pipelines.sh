# Five pipelines, each killed in mid-epoch `rounds` times and resumed with other workers and threads: the
# steps that follow, and what the model kept of every batch, are those of a run that was left alone.
. tests/programs/lib/common.sh

ln -s "$data" data
# Records of JSON in frames of zstd that hold them as they are; each 31st is none.
python3 - <<'END'
lines = ['{"x": [%d, %.3f, %d], "y": %d}' % (i, i * 0.37 % 5, i * i % 11, i % 3) if i % 31 else '{"x": [%d' % i
         for i in range(3000)]
with open("lines.jsonl.zst", "wb") as file:
    for start in range(0, 3000, 500):
        text = "".join(line + "\n" for line in lines[start:start + 500]).encode()
        file.write(b"\x28\xb5\x2f\xfd\x60" + (len(text) - 256).to_bytes(2, "little"))
        file.write((len(text) << 3 | 1).to_bytes(3, "little") + text)
END

cat >kill.flow <<'END'
dim STEPS = 2000
dim T <= 60

pipeline digit {
  return idx(image: "data/t10k-images-idx3-ubyte.gz") |> take(3000) |> shuffle(seed = 7)
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> expand(2) |> random_flip() |> random_crop(2) |> flatten() |> scale(1 / 255))
}

pipeline house {
  return csv("data/housing.csv.gz") |> filter(total_rooms > 2000)
      |> map(x: [longitude, latitude, total_rooms / 1000]) |> window(3, stride = 5)
      |> map(x: flatten(x) / 100 + random_normal([9], key = epoch)) |> shuffle(seed = 8)
}

pipeline photo {
  return tar("data/cifar10-*.tar") |> shuffle(seed = 9)
      |> map(x: random_resized_crop(decode_jpeg(jpg), 8, 8) |> cast(f32) |> flatten() |> scale(1 / 255))  @threads(3)
}

pipeline line {
  return jsonl("lines.jsonl.zst", on_error = skip) |> shuffle(seed = 10)
      |> map(x: (x |> : f32[3]) / 100 + random_uniform([3], key = epoch), y: y |> : i32 in 0..3)
}

pipeline text {
  return lines("data/tinyshakespeare.txt.gz") |> take(2000) |> shuffle(seed = 11)
      |> map(x: line |> bytes() |> pad(T, value = 256, cut = "end"), n: line |> bytes() |> length())
      |> bucket(n, T, [4, 24, 40])
      |> map(x: cast(x, f32) / 256)
}

END
filler=$(printf '%0220d' 0)
# `seen` has a number for each step, which follows from all values of the batch and the order of its records.
trains() { # name, batch, epochs, what is seen of data.x
    cat >>kill.flow <<END
model marked_$1(x: f32[B, E], step: f32) -> f32[B, 1] {
  state seen: f32[STEPS] = zeros()
  let rows = expand(sin(cast(iota(B), f32) + 1), 1)
  let mark = sum(x * rows * cos(cast(iota(E), f32)))
  seen = select(cast(iota(STEPS), f32) == step, mark, seen)
  return dense(x, 1)
}

train $1s {
  data      = $1() |> batch($2)
  loss      = mean((marked_$1(${4:-data.x}, step) - 1) ^ 2)
  optimizer = adam(1e-3)
  epochs    = $3
  every 7 steps { save "$1s.safetensors" }
  every 1 step { print step; print "$filler" }
}

END
}
trains digit 20 6
trains house 7 4
trains photo 3 9
trains line 16 5
trains text 16 5 'expand(sum(data.x * cos(cast(iota(T), f32)), axis = 1), 1)'

"$FLOWC" build kill.flow -o trainer

steps_of() { grep '^step' "$1"; }

# The run blocks when the pipe is full: it is somewhere within the 300 steps that follow. The pipe stays
# open, so that nothing but the kill ends it.
kill_after() { # train, steps, flags…
    local train=$1 steps=$2 id
    shift 2
    rm -f pipe && mkfifo pipe
    ./trainer "$train" "$@" >pipe 2>killed.err & id=$!
    exec 8<pipe
    head -n $((2 * steps)) >killed.out <&8
    kill -9 $id || fail "$train: it has ended by itself: $(cat killed.err)"
    wait $id 2>/dev/null && fail "$train: it ended before it was killed: $(cat killed.err)"
    exec 8<&-
    steps_of killed.out | cmp -s - <(steps_of whole.out | head -n "$steps") || fail "$train: other steps before it was killed"
}

check_round() { # train, steps, flags…
    local train=$1 steps=$2
    rm -f "$train.safetensors"
    kill_after "$train" "$steps" "--threads=$((1 + RANDOM % 3))" "--workers=$((RANDOM % 4))"
    way="--threads=$((1 + RANDOM % 3)) --workers=$((RANDOM % 4))"
    # shellcheck disable=SC2086
    ./trainer "$train" $way --resume >resumed.out 2>resumed.err || fail "$train: $(cat resumed.err)"
    first=$(awk -F '[ :]' '/^step/ { print $2; exit }' resumed.out)
    # The step that was saved last says so again: its print comes behind its save.
    [ "$first" = 1 ] || [ $((first % 7)) = 0 ] && [ "$first" -ge $((steps / 7 * 7)) ] || fail "$train: $steps steps were made, it goes on with $first"
    steps_of resumed.out | cmp - <(steps_of whole.out | tail -n "+$first") || fail "$train: other steps follow $first with $way"
    cmp "$train.safetensors" whole.safetensors || fail "$train: other batches behind step $first with $way"
    [ $((first % batches)) = 0 ] || within=$((within + 1))
}

for train in digits:150 houses:321 photos:100 texts:127 lines:188; do
    batches=${train#*:} train=${train%:*} within=0
    ./trainer "$train" --progress=plain >whole.out 2>whole.err || fail "$(cat whole.err)"
    mv "$train.safetensors" whole.safetensors
    last=$(steps_of whole.out | wc -l)
    [ $((last % batches)) = 0 ] || fail "$train: $last steps are no epochs of $batches"
    for round in $(seq "$rounds"); do check_round "$train" $((1 + RANDOM % (last - 320))); done
    echo "$train: killed $rounds times, $within of them within one of its epochs of $batches steps; $last steps in all"
done
grep -q ' 97 records rejected' whole.err || fail "97 bad records: $(cat whole.err)"
grep -q ' 97 records rejected' resumed.err || [ "$first" -gt $((last - batches)) ] || fail "97 bad records: $(cat resumed.err)"
