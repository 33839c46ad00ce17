# Batches that may overtake each other: every record comes once an epoch, also when the run is killed within
# one and resumed with other workers.
. tests/programs/lib/common.sh
filler=$(printf '%02000d' 0)
cat >numbers.flow <<END
pipeline numbers() -> (index: i64) {
  return range(1003) |> shuffle(seed = 1)
}

pipeline ordered {
  return numbers() |> batch(10) |> unbatch() |> csv("ordered.csv")
}
pipeline unordered {
  return numbers() |> batch(10, ordered = false) |> unbatch() |> csv("unordered.csv")
}

model counted(index: i64[B]) -> f32[B, 1] {
  state seen: f32[1003] = zeros()
  seen = seen + sum(cast(reshape(index, [B, 1]) == cast(iota(1003), i64), f32), axis = 0)
  return dense(expand(cast(index, f32), 1) * 0.001, 1)
}

train fit {
  data = numbers() |> batch(10, ordered = false)
  loss = mean(counted(data.index) ^ 2)
  optimizer = sgd(0.01)
  epochs = 3
  every 3 steps { save "fit.safetensors" }
  every 1 step { print step; print "$filler" }
}
END
"$FLOWC" build numbers.flow -o numbers
./numbers ordered
for workers in 0 1 3; do
    ./numbers unordered --workers=$workers
    sort ordered.csv >expected
    sort unordered.csv >found
    same expected found
done

# Each of the 1003 numbers was counted once in each of the 3 epochs.
counted() {
    python3 - <<'END'
import json, struct
with open("fit.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    begin, end = next(tensor["data_offsets"] for name, tensor in header.items() if name.endswith("seen"))
    file.seek(begin, 1)
    seen = struct.unpack("<1003f", file.read(end - begin))
assert header["__metadata__"]["step"] == "303", header["__metadata__"]
assert set(seen) == {3.0}, [(i, times) for i, times in enumerate(seen) if times != 3]
END
}

# The run blocks when the pipe is full, which some 30 steps fill; nothing but the kill ends it.
kill_after() { # steps
    local id
    rm -f fit.safetensors pipe && mkfifo pipe
    ./numbers fit --workers=3 >pipe 2>stderr & id=$!
    exec 8<pipe
    head -n $((2 * $1)) >killed.out <&8
    kill -9 $id || fail "it has ended by itself: $(cat stderr)"
    wait $id 2>/dev/null && fail "it ended before it was killed: $(cat stderr)"
    exec 8<&-
}

./numbers fit --workers=3 >/dev/null
counted
for steps in 40 101 150 222; do
    kill_after $steps
    ./numbers fit --resume --workers=$((steps % 3)) >resumed.out
    first=$(awk -F '[ :]' '/^step/ { print $2; exit }' resumed.out)
    [ "$first" -gt $((steps / 3 * 3 - 1)) ] && [ "$first" -lt 303 ] || fail "killed after $steps, it goes on with $first"
    counted
done
