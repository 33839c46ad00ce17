# Soak: programs that never end hold no more after hours than they did at first. Samples are taken as
# the work goes on, not as time does, until $soak seconds are over and there are enough of them.
. tests/programs/lib/common.sh
[ -z "$SAN" ] || { echo "a sanitizer keeps memory that the program has freed"; exit 77; }
enough=60     # samples
allowance=512 # KiB that the last third may hold more than the first

# sample PROCESS: what it holds now: KiB of its own memory, open files, threads. The status is read at
# once: it is made anew for each read, and its lines move.
sample() {
    local key value rest memory threads
    while read -r key value rest; do
        case $key in RssAnon:) memory=$value ;; Threads:) threads=$value ;; esac
    done <<<"$(<"/proc/$1/status")"
    local files=("/proc/$1/fd/"*)
    echo "$memory ${#files[@]} $threads"
}

# soaked NAME PROCESS SIZE: reads what the process writes, and takes a sample behind each SIZE bytes.
soaked() {
    local piece count=0
    while [ $SECONDS -lt $soak ] || [ $count -lt $enough ]; do
        piece=$(head -c "$3" | wc -c)
        [ "$piece" = "$3" ] || fail "$1 has ended: $(cat "$1.stderr")"
        sample "$2" >>"$1.samples"
        count=$((count + 1))
    done
}

# flat NAME: nothing grows from the first third to the last. A file may be open while a state is saved.
flat() {
    awk -v name="$1" -v allowance="$allowance" '
        { for (i = 1; i <= 3; i++) held[NR, i] = $i }
        function most(from, to, i, sign,  n, found) {
            found = sign * held[int(from) + 1, i]
            for (n = int(from) + 1; n <= to; n++) if (sign * held[n, i] > found) found = sign * held[n, i]
            return sign * found
        }
        END {
            for (i = 1; i <= 3; i++) {
                first = most(0, NR / 3, i, 1); last = most(2 * NR / 3, NR, i, i == 1 ? 1 : -1)
                text = text sprintf(" %d -> %d", first, last)
                grown = grown || last > first + (i == 1 ? allowance : 0)
            }
            print name ":" text " (KiB, files, threads), " NR " samples"
            exit grown
        }' "$1.samples" || fail "$1 grows"
}

cat >soak.flow <<'END'
option epochs = 100

pipeline numbers -> (x: f32) { return lines("numbers.txt") |> map(x: integer(line) |> : f32) }

model net(x: f32[B]) -> f32[B, 1] { return expand(x, 1) |> dense(32) |> tanh() |> dense(1) }

train fit {
  data = numbers() |> shuffle(seed = 1) |> batch(30)
  loss = mean((net(data.x * 0.001) - expand(data.x * 0.002, 1)) ^ 2)
  optimizer = adam(0.001)
  epochs = epochs
  every 1 epoch { evaluate numbers() |> batch(100) }
  every 100 epochs { save "net.safetensors" }
}

pipeline score {
  let trained = load(net, "net.safetensors")
  return lines(stdin) |> map(x: integer(line) |> : f32)
      |> batch(32, timeout = 10ms)
      |> map(x, y: trained(x * 0.001)) |> unbatch() |> csv(stdout)
}
END
seq 1000 >numbers.txt
"$FLOWC" build soak.flow -o program >/dev/null
./program fit >/dev/null 2>&1

# Both at the same time: a stream of lines through the model, and a training without end.
mkfifo lines scores evaluations
(while seq 100000; do :; done) >lines 2>/dev/null & source=$!
./program score <lines >scores 2>score.stderr & score=$!
./program fit --epochs=1000000000000 --save=endless.safetensors >evaluations 2>fit.stderr & fit=$!
trap 'kill $source $score $fit 2>/dev/null || true' EXIT
soaked score $score 1048576 <scores & first=$!
soaked fit $fit 512 <evaluations & second=$!
wait $first && wait $second
kill $source $score $fit 2>/dev/null || true
flat score
flat fit
