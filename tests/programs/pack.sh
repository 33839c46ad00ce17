# pack: the tokens of all texts become rows: of one size, overlapping or not, with a token between the texts;
# the same for any number of threads, resumed exactly, and shuffled anew in each epoch.
. tests/programs/lib/common.sh
cp "$data/shakespeare-vocab.json" vocab.json
cp "$data/shakespeare-merges.txt" merges.txt
gzip -dc "$data/tinyshakespeare.txt.gz" | awk 'NR <= 2000' >plays.txt
cat >said.jsonl <<'END'
{"text": "abc", "y": 1}
{"text": "", "y": 2}
{"text": "defgh", "y": 3}
{"text": "ijklmn", "y": 1}
{"text": "mm", "y": 4}
END
cat >p.flow <<'END'
option epochs = 3 "passes"
dim T <= 6
const V = 1024

pipeline said { return jsonl("said.jsonl") |> map(ids: text |> bytes()) }
pipeline plain { return said() |> pack(6) |> print() }
pipeline between { return said() |> pack(6, stride = 5, separator = 256) |> print() }
pipeline bounded { return said() |> pack(T) |> print() }
pipeline once { return said() |> pack(3) |> shuffle(seed = 1) |> map(x: ids[:-1], y: ids[1:]) |> print() }
pipeline chosen { return jsonl("said.jsonl") |> filter(y > 1) |> map(ids: text |> bytes()) |> pack(3) |> print() }
pipeline lengths { return jsonl("said.jsonl") |> map(n: length(bytes(text)), ids: text |> bytes()) |> filter(n > 2) |> map(ids) |> pack(3) |> print() }
pipeline skipped { return jsonl("said.jsonl", on_error = skip) |> map(ids: characters(text, "abcdefghijklm")) |> pack(3) |> print() }
pipeline stopped { return jsonl("said.jsonl") |> map(ids: characters(text, "abcdefghijklm")) |> pack(3) |> print() }
pipeline windows { return said() |> pack(4) |> map(x: ids) |> window(2) |> print() }
pipeline too_few { return said() |> pack(17) |> print() }
option from = "-" "a file, or standard input"
pipeline fed { return lines(from) |> map(ids: bytes(line)) |> pack(3) |> print() }
pipeline rows { return lines("plays.txt") |> map(ids: line |> bpe("vocab.json", "merges.txt")) |> pack(33, stride = 32, separator = 198) }
pipeline all { return rows() |> print() }

model guess(x: i32[B, 32] in 0..V) -> f32[B, 32, V] { return x |> embedding(16) |> dense(V) }

train fit {
  data      = rows() |> shuffle(seed = 7) |> map(x: ids[:-1] |> : i32[32] in 0..V, y: ids[1:] |> : i32[32] in 0..V) |> batch(16)
  loss      = cross_entropy(guess(data.x), data.y)
  optimizer = adam(1e-2)
  epochs    = epochs
  every 10 steps { save "fit.safetensors" }
}
END
printed() { [ "$("$FLOWC" run p.flow "$@" 2>&1)" = "$wanted" ] || fail "$*: $("$FLOWC" run p.flow "$@" 2>&1)"; }
wanted='ids=[97, 98, 99, 100, 101, 102]
ids=[103, 104, 105, 106, 107, 108]'
printed plain
printed bounded --T=6
wanted='ids=[97, 98, 99, 256, 256, 100]
ids=[100, 101, 102, 103, 104, 256]
ids=[256, 105, 106, 107, 108, 109]
ids=[109, 110, 256, 109, 109, 256]' && printed between
wanted='ids=[100, 101, 102]
ids=[103, 104, 109]' && printed chosen
wanted='ids=[97, 98, 99]
ids=[100, 101, 102]
ids=[103, 104, 105]
ids=[106, 107, 108]' && printed lengths
wanted='x=[[97, 98, 99, 100], [101, 102, 103, 104]]
x=[[101, 102, 103, 104], [105, 106, 107, 108]]
x=[[105, 106, 107, 108], [109, 110, 109, 109]]' && printed windows
"$FLOWC" run p.flow once >once.out
[ "$(sort once.out | sed -n 1p)" = 'x=[100, 101] y=[101, 102]' ] && [ "$(wc -l <once.out)" = 5 ] || fail "$(cat once.out)"
"$FLOWC" run p.flow skipped >skipped.out 2>skipped.err
[ "$(tail -n 1 skipped.out)" = 'ids=[6, 7, 12]' ] || fail "$(cat skipped.out)"
grep -qF '1 record rejected; the first: said.jsonl: line 4, column 10: `text` has `n` (U+006E) at character 6' skipped.err || fail "$(cat skipped.err)"
expect 1 'said.jsonl: line 4, column 10: `text` has `n` (U+006E) at character 6' "$FLOWC" run p.flow stopped
expect 1 'pipeline `said` (p.flow:5): all texts together have 16 tokens, and a row of `pack` takes 17' "$FLOWC" run p.flow too_few
expect 2 '`pack` asks for all records, and these come one after the other' "$FLOWC" run p.flow fed </dev/null

# Rows are what lies end to end: a row begins with the last token of the one before.
"$FLOWC" run p.flow all >all.out
sed 's/.*, //; s/]//' all.out | head -n -1 >lasts
sed 's/ids=\[//; s/,.*//' all.out | tail -n +2 >firsts
same firsts lasts

# The same steps for any workers, and when it goes on from half.
"$FLOWC" build p.flow -o p
./p --workers=0 >whole.out
mv fit.safetensors whole.safetensors
./p --workers=3 >/dev/null
same whole.safetensors fit.safetensors
rm fit.safetensors
./p --epochs=1 >/dev/null 2>half.err
./p --resume --workers=2 >resumed.out
same whole.safetensors fit.safetensors

# Killed in mid-epoch, it goes on with the rows that were not seen.
rm fit.safetensors
./p >/dev/null 2>&1 & id=$!
until_true "[ -s fit.safetensors ]"
kill -9 $id 2>/dev/null || true
wait $id 2>/dev/null || true
./p --resume >resumed.out 2>resumed.err
same whole.safetensors fit.safetensors
