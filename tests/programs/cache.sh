# Records that are kept: the same as if they were not, made once; a file of them is whole or not there.
. tests/programs/lib/common.sh
(echo a,b; seq 200 | sed 's/.*/&,&/') >t.csv
cat >p.flow <<'EOF'
option from = "-" "a file, or standard input"

pipeline rows {
  return csv("t.csv") |> map(x: a |> : i64, y: sqrt(b)) |> take(150)
}

pipeline plain { return rows() |> repeat(2) |> shuffle(seed = 2) |> csv(stdout) }
pipeline memory { return rows() |> cache() |> repeat(2) |> shuffle(seed = 2) |> csv(stdout) }
pipeline disk { return rows() |> cache("rows.cache") |> repeat(2) |> shuffle(seed = 2) |> csv(stdout) }
pipeline drawn { return rows() |> map(x, dice: random_uniform([1])[0]) |> cache("drawn.cache") |> csv(stdout) }
pipeline dealt { return rows() |> shuffle(seed = 1) |> cache() |> map(x) |> repeat(2) |> csv(stdout) }
pipeline windows { return rows() |> cache() |> map(x) |> window(3, stride = 50) |> csv(stdout) }
pipeline part { return rows() |> cache("part.cache") |> take(7) |> csv(stdout) }
pipeline large { return range(1000000000000) |> map(x: index, y: iota([100])) |> cache() |> take(3) |> csv(stdout) }
pipeline limited { return range(1000000) |> map(x: index, y: iota([100])) |> cache() |> take(3) |> csv(stdout) }
pipeline larger { return range(1000000000000) |> map(x: index, y: iota([100])) |> cache("larger.cache") |> take(3) |> csv(stdout) }
pipeline bad { return csv("bad.csv", on_error = skip) |> map(x: a |> : i64) |> cache("bad.cache") |> repeat(2) |> csv(stdout) }
pipeline fed { return lines(from) |> map(x: integer(line)) |> cache("fed.cache") |> print() }
EOF
run() { "$FLOWC" run p.flow "$@"; }
run plain >expected
for flags in --workers=0 --workers=3; do
    run memory $flags >out && same expected out
    rm -f rows.cache
    run disk $flags >out && same expected out
    [ -f rows.cache ] || fail "the cache has no file"
done
run dealt | tail -n +2 >out
cmp -s <(head -n 150 out) <(tail -n 150 out) || fail "a shuffle is frozen in a cache"
run windows >out && printf '%s\n' 'x[0],x[1],x[2]' 1,2,3 51,52,53 101,102,103 >windows && same windows out

# From the file, which is made anew when what it was made of is another.
stamp=$(stat -c %i rows.cache)
run disk >out 2>err && same expected out && [ ! -s err ] || fail "$(cat err)"
[ "$(stat -c %i rows.cache)" = "$stamp" ] || fail "a good cache was made anew"
run disk --seed=9 >out 2>err && same expected out && [ ! -s err ] || fail "$(cat err)"
run drawn >one
run drawn --seed=9 >two 2>err
grep -q 'drawn.cache: it was made by other code; it is made anew' err || fail "another seed: $(cat err)"
! cmp -s one two || fail "another seed draws the same"
sed -i 's/^200,200$/200,201/' t.csv && touch -d '2001-01-01' t.csv
run disk >out 2>err
grep -q 'rows.cache: it was made ' err || fail "other data: $(cat err)"
run disk >out 2>err && same expected out && [ ! -s err ] || fail "$(cat err)"
sed -i 's/sqrt(b)/exp(b)/' p.flow
run disk 2>&1 >out | grep -q 'rows.cache: it was made by other code' || fail "other code is not seen"
run plain >expected && same expected out

# Damaged: made anew. Something else: left alone.
for size in 4096 4200 5000; do
    head -c $size rows.cache >damaged && cp damaged rows.cache
    run disk 2>err >out && same expected out
    grep -q 'rows.cache: it is damaged; it is made anew' err || fail "$size bytes: $(cat err)"
done
printf 'x' | dd of=rows.cache bs=1 seek=40 conv=notrunc 2>/dev/null
run disk 2>err >out && same expected out && grep -q 'it is damaged' err || fail "$(cat err)"
printf '\0' | dd of=rows.cache bs=1 seek=4100 conv=notrunc 2>/dev/null
run disk 2>err >out && same expected out && grep -q 'it is damaged' err || fail "$(cat err)"
cp t.csv rows.cache
expect 1 'rows.cache: is no cache, and is not written over' "$FLOWC" run p.flow disk
same t.csv rows.cache
rm rows.cache

# One that becomes shorter while it is read: the run waits for the pipe's reader, who waits for us.
cat >shrinks.flow <<'EOF'
pipeline demo { return range(200000) |> map(x: index, y: iota([4])) |> cache("shrinks.cache") |> csv(stdout) }
EOF
"$FLOWC" build shrinks.flow -o shrinks
./shrinks >/dev/null
mkfifo pipe
./shrinks --workers=0 >pipe 2>stderr & id=$!
exec 8<pipe
head -n 10 <&8 >out
truncate -s 5000 shrinks.cache
cat <&8 >/dev/null
code=0 && wait $id || code=$?
exec 8<&-
[ $code = 1 ] && grep -q 'shrinks.cache: has become shorter while it was read' stderr || fail "exit $code: $(cat stderr)"
rm shrinks.cache

# Two at the same time.
run disk >one & first=$!
run disk >two
wait $first
same expected one && same expected two

# Not whole: no file. Too large: said at once.
run part 2>err | wc -l >lines
[ "$(cat lines)" = 8 ] && [ ! -e part.cache ] || fail "a part is kept"
grep -q 'part.cache: not kept, since 7 of 150 records were made' err || fail "$(cat err)"
expect 3 '`cache` needs 409' "$FLOWC" run p.flow large
expect 3 'larger.cache: no space for its 409' "$FLOWC" run p.flow larger
expect 3 'memory is limited to 64.0 MiB' "$FLOWC" run p.flow limited --memory=64MiB
cat >missing.flow <<'EOF'
pipeline demo { return range(3) |> cache("no/folder/x.cache") |> print() }
EOF
expect 3 "no/folder/x.cache: can't be written: No such file or directory" "$FLOWC" run missing.flow

# Records that can't be made are left out, now and from the file.
printf '%s\n' a 1 two 3 >bad.csv
printf '%s\n' x 1 3 1 3 >expected
for try in 1 2; do
    run bad >out 2>err && same expected out
    grep -q 'bad.csv: line 3' err || fail "the rejected record is not told: $(cat err)"
done
[ -f bad.cache ] || fail "no cache with a record that can't be made"
expect 2 '`cache` asks for any record at any time' "$FLOWC" run p.flow fed </dev/null

# Files that say what a text's tokens are belong to the data.
printf '%s\n' abba baa >lines.txt && printf '{"a":0,"b":1}' >letters.json
cat >text.flow <<'EOF'
pipeline demo { return lines("lines.txt") |> map(x: line |> characters(vocabulary = "letters.json") |> pad(5, value = 9)) |> cache("text.cache") |> print() }
EOF
"$FLOWC" run text.flow | grep -qF 'x=[0, 1, 1, 0, 9]' || fail "tokens"
printf '{"b":0,"a":1}' >letters.json
"$FLOWC" run text.flow 2>err | grep -qF 'x=[1, 0, 0, 1, 9]' || fail "tokens of another vocabulary"
grep -q 'text.cache: it was made from other data' err || fail "$(cat err)"

# A run that is killed leaves nothing.
cat >endless.flow <<'EOF'
pipeline demo { return range(3000000) |> map(x: matmul(random_uniform([40, 40]), random_uniform([40, 40]))[0, 0]) |> cache("endless.cache") |> csv("out.csv") }
EOF
"$FLOWC" build endless.flow -o endless
./endless --workers=2 >/dev/null 2>&1 & id=$!
until_true "[ -s out.csv.part ]"
kill -9 $id
wait $id 2>/dev/null || true
[ -z "$(ls | grep -F endless.cache)" ] || fail "a killed run leaves $(ls)"

# Training over a cache: stopped and resumed, over what was made anew, the same weights.
small_data
cat >t.flow <<'EOF'
option updates = 1000000

pipeline digits(images: path, labels: path, kept: path) -> (x: f32[784], y: i32 in 0..10) {
  return idx(image: images, label: labels)
      |> map(x: image |> : u8[28, 28] |> cast(f32) |> scale(1 / 255) |> flatten(), y: label |> : i32 in 0..10)
      |> take(900)
      |> cache(kept)
}

fn noisy(x: f32[N]) -> f32[N] {
  return x + 0.1 * random_normal([N], key = epoch)
}

model classifier(x: f32[B, 784]) -> f32[B, 10] {
  return x |> dense(10)
}

train fit {
  data      = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz", "train.cache")
      |> cache()
      |> shuffle(seed = 7)
      |> map(x: noisy(x), y)
      |> batch(64)
  loss      = cross_entropy(classifier(data.x), data.y)
  optimizer = adam(1e-3)
  epochs    = 2
  steps     = updates
  every 1 epoch {
    evaluate digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz", "test.cache") |> batch(100)
    save "t.safetensors"
  }
}
EOF
"$FLOWC" build t.flow -o trainer
./trainer --threads=1 >whole.out
[ -f train.cache ] && [ -f test.cache ] || fail "there are no caches"
mv t.safetensors whole.safetensors
for updates in 4 22; do
    rm -f t.safetensors
    ./trainer --updates=$updates --workers=2 >/dev/null
    rm -f train.cache test.cache
    ./trainer --resume --workers=1 >resumed.out 2>/dev/null
    same whole.safetensors t.safetensors
done
