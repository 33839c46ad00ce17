# Records of like length are batched with a size of their own: each record comes once and is what it is
# without, training gives the same bits for any workers and sizes that hold the same, and what can't be is told.
. tests/programs/lib/common.sh
python3 - <<'END'
import random
draw = random.Random(3)
with open("lines.txt", "w") as file:
    for i in range(701):
        file.write(f"{i} " + "".join(draw.choices("abcdefg h", k=min(70, int(draw.expovariate(1 / 12))))) + "\n")
END
cat >p.flow <<'END'
option length = 16 "the smallest size"
option source = "lines.txt" "where lines come from"
dim T <= 64

pipeline texts(file: path) -> (x: i32[T] in 0..257, n: i32) {
  return lines(file)
      |> map(x: line |> bytes() |> pad(T, value = 256, cut = "end"), n: line |> bytes() |> length())
}

fn seen(x: i32[B, T]) -> (size: i32[B], sum: i32[B]) {
  let known = select(x == 256, 0, x)
  return (size: broadcast(cast(sum(broadcast(1, [T])), i32), [B]), sum: sum(known * (iota(T) + 1), axis = 1))
}

pipeline alike {
  return texts("lines.txt") |> bucket(n, T, [length, 32]) |> batch(16)
      |> map(n, sum: seen(x).sum, size: seen(x).size) |> unbatch() |> csv("alike.csv")
}
pipeline all {
  return texts("lines.txt") |> batch(16)
      |> map(n, sum: seen(x).sum, size: seen(x).size) |> unbatch() |> csv("all.csv")
}
pipeline folded {
  return concat([texts("lines.txt"), texts("lines.txt") |> shuffle(seed = 2) |> take(100)])
      |> map(x: reshape(x, [T, 1]), n) |> cache() |> bucket(n, T, [length, 32]) |> batch(16)
      |> map(n, sum: seen(squeeze(x, 2)).sum, size: seen(squeeze(x, 2)).size) |> unbatch() |> csv("folded.csv")
}
pipeline letters {
  return lines("lines.txt", on_error = log("bad.jsonl"))
      |> map(x: line |> characters("0123456789 abcdef") |> pad(T, cut = "end"), n: line |> bytes() |> length())
      |> bucket(n, T, [length]) |> batch(16) |> map(n, size: seen(x).size) |> unbatch() |> csv("letters.csv")
}
pipeline stopped {
  return lines("lines.txt")
      |> map(x: line |> characters("0123456789 abcdef") |> pad(T, cut = "end"), n: line |> bytes() |> length())
      |> bucket(n, T, [length]) |> batch(16) |> map(n) |> unbatch() |> csv("stopped.csv")
}
pipeline coming {
  return texts(source) |> bucket(n, T, [length]) |> batch(16) |> map(n) |> unbatch() |> csv("coming.csv")
}

model net(x: i32[B, T] in 0..257) -> f32[B] {
  return x |> embedding(8) |> gru(8) |> last() |> dense(1) |> squeeze(1)
}

train learn {
  data = texts("lines.txt") |> shuffle(seed = 1) |> bucket(n, T, [length, 32]) |> batch(16)
  loss = mse(net(data.x), cast(data.n, f32) / 10)
  optimizer = adam(0.01)
  epochs = 2
  every 1 epoch { save "learn.safetensors"; evaluate texts("lines.txt") |> bucket(n, T, [length]) |> batch(100) }
}
model pairs(x: i32[B, T]) -> f32[B, 1] {
  return dense(reshape(cast(x, f32), [B, T / 2, 2]) |> mean(axis = 1), 1)
}
train paired {
  data = texts("lines.txt") |> bucket(n, T, [length, 32]) |> batch(16)
  loss = mean(pairs(data.x))
  optimizer = adam(0.01)
}
END
sed '/^model pairs/,$d' p.flow >good.flow
"$FLOWC" build good.flow -o good

# Each record is in a batch of the smallest size, and what it is elsewhere.
for workers in 0 1 3; do
    ./good alike --workers=$workers
    [ $workers = 0 ] || same alike.csv first.csv
    cp alike.csv first.csv
done
./good all
same <(cut -d, -f1,2 all.csv | sort) <(cut -d, -f1,2 alike.csv | sort)
sizes() { awk -F, -v size="$1" 'NR > 1 && $size != ($1 <= 16 ? 16 : $1 <= 32 ? 32 : 64) { exit 1 }' "$2" || fail "$2: a record in a batch of another size"; }
sizes 3 alike.csv
awk -F, 'NR > 1 && $3 != 64 { exit 1 }' all.csv || fail "without buckets the size is the bound"
./good alike --T=20
awk -F, 'NR > 1 && $3 != ($1 <= 16 ? 16 : 20) { exit 1 }' alike.csv || fail "--T is the last bucket"
./good folded --workers=2
sizes 3 folded.csv
[ "$(wc -l <folded.csv)" = 802 ] || fail "a joined stream has $(wc -l <folded.csv) lines"
same <(cut -d, -f1,2 all.csv | sort -u) <(cut -d, -f1,2 folded.csv | sort -u)

# As they come without a shuffle: those of a size in their order.
awk -F, 'NR > 1 && $1 <= 16 { print $1 "," $2 }' all.csv >expected
awk -F, 'NR > 1 && $3 == 16 { print $1 "," $2 }' first.csv >found
same expected found

# The same bits from any workers, and from a run that was stopped.
for workers in 0 1 3; do
    ./good learn --workers=$workers >learn.out
    [ $workers = 0 ] || same learn.safetensors whole.safetensors
    [ $workers = 0 ] || same learn.out whole.out
    cp learn.safetensors whole.safetensors
    cp learn.out whole.out
done

# What can't be asked.
./good letters 2>stderr
[ $(($(wc -l <bad.jsonl) + $(wc -l <letters.csv))) = 702 ] || fail "$(wc -l <bad.jsonl) rejected, $(wc -l <letters.csv) lines"
grep -q 'which is not in its alphabet' bad.jsonl || fail "the log has $(head -1 bad.jsonl)"
expect 1 'which is not in its alphabet' ./good stopped
expect 2 '`bucket` asks for all records, and these come one after the other' ./good coming --source=- </dev/null
expect 3 'limit' ./good all --memory=100KiB
expect 2 'a bucket has T = 15, and with these sizes T/2 does not come out whole' "$FLOWC" run p.flow paired --length=15
