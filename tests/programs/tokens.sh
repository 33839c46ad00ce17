# Text becomes tokens: bytes, characters, byte-level BPE, of lines and of what other sources hold; padded, cut
# and counted; what can't be is told with its file, line and character.
. tests/programs/lib/common.sh
cp "$data/shakespeare-vocab.json" vocab.json
cp "$data/shakespeare-merges.txt" merges.txt
printf 'First Citizen:\n\nthe thou, and\n' >plays.txt
cat >said.jsonl <<'END'
{"text": "the \u00e9 \ud83d\ude00 thou\n", "n": {"text": "and"}}
{"n": {"text": ""}, "text": "we'll"}
END
printf '{"a": 0, " ": 1, "\\u00e9": 2}' >letters.json
mkdir said && printf 'the thou' >said/0.txt && tar -C said -cf said.tar 0.txt
cat >p.flow <<'END'
option vocabulary = "vocab.json" "the vocabulary"
const V = 1024

pipeline of_bytes { return lines("plays.txt") |> map(x: line |> bytes() |> pad(4, value = 256, cut = "start"), n: length(bytes(line))) |> print() }
pipeline of_letters { return lines("plays.txt") |> map(x: characters(line, "Fenirst zC:,ouahd", unknown = 99) |> pad(15, value = -1)) |> print() }
pipeline of_file { return lines("a.txt") |> map(x: line |> characters(vocabulary = "letters.json") |> : i32[4] in 0..3) |> print() }
pipeline of_merged { return lines("plays.txt") |> map(x: line |> bpe(vocabulary, "merges.txt") |> pad(9) |> : i32[9] in 0..V, n: line |> bpe(vocabulary, "merges.txt") |> length()) |> print() }
pipeline of_json { return jsonl("said.jsonl") |> map(x: text |> bpe("vocab.json", "merges.txt") |> pad(12), y: column("n.text") |> bytes() |> pad(3)) |> print() }
pipeline of_tar { return tar("said.tar") |> map(x: txt |> bpe("vocab.json", "merges.txt") |> pad(4)) |> print() }
pipeline exact { return lines("plays.txt") |> map(x: bytes(line) |> : i32[14]) |> print() }
pipeline long { return lines("plays.txt") |> map(x: bytes(line) |> pad(8)) |> print() }
pipeline letters { return lines("plays.txt") |> map(x: characters(line, "First ") |> pad(20)) |> print() }
pipeline few { return lines("plays.txt") |> map(x: bpe(line, "vocab.json", "merges.txt") |> pad(9) |> : i32[9] in 0..300) |> print() }
pipeline numbers { return jsonl("said.jsonl") |> map(x: n |> bytes() |> pad(3)) |> print() }
pipeline none { return jsonl("said.jsonl") |> map(x: tex |> bytes() |> pad(3)) |> print() }
pipeline unfound { return lines("plays.txt") |> map(x: bpe(line, "none.json", "merges.txt") |> pad(9)) |> print() }
pipeline swapped { return lines("plays.txt") |> map(x: bpe(line, "merges.txt", "vocab.json") |> pad(9)) |> print() }
pipeline typed { return lines(stdin) |> map(x: line |> bpe("vocab.json", "merges.txt") |> pad(4, cut = "end")) |> print() }
END
printf 'a \303\251a\n' >a.txt
printed() { [ "$("$FLOWC" run p.flow "$1" 2>&1)" = "$2" ] || fail "$1: $("$FLOWC" run p.flow "$1" 2>&1)"; }
printed of_bytes 'x=[122, 101, 110, 58] n=14
x=[256, 256, 256, 256] n=0
x=[32, 97, 110, 100] n=13'
printed of_file 'x=[0, 1, 2, 0]'
printed of_letters 'x=[0, 3, 4, 5, 6, 7, 9, 3, 6, 3, 8, 1, 2, 10, -1]
x=[-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]
x=[6, 15, 1, 7, 6, 15, 12, 13, 11, 7, 14, 2, 16, -1, -1]'
printed of_merged 'x=[648, 417, 896, 25, 0, 0, 0, 0, 0] n=4
x=[0, 0, 0, 0, 0, 0, 0, 0, 0] n=0
x=[913, 343, 11, 298, 0, 0, 0, 0, 0] n=4'
printed of_json 'x=[913, 220, 127, 102, 220, 172, 253, 246, 222, 343, 198, 0] y=[97, 110, 100]
x=[86, 68, 455, 0, 0, 0, 0, 0, 0, 0, 0, 0] y=[0, 0, 0]'
printed of_tar 'x=[913, 343, 0, 0]'
[ "$(printf 'the thou\nand\n' | "$FLOWC" run p.flow typed)" = 'x=[913, 343, 0, 0]
x=[390, 0, 0, 0]' ] || fail "standard input: $(cat stderr)"
cp vocab.json other.json
[ "$("$FLOWC" run p.flow of_merged --vocabulary=other.json | sed -n 1p)" = 'x=[648, 417, 896, 25, 0, 0, 0, 0, 0] n=4' ] || fail "a path that an option says"

expect 1 'plays.txt: line 2: `line` has 0 tokens, the program expects i32[14]' "$FLOWC" run p.flow exact
expect 1 'plays.txt: line 1: `line` has 14 tokens, the program expects 8 at most; `pad(…, cut = "end")` leaves out the rest' "$FLOWC" run p.flow long
expect 1 'plays.txt: line 1: `line` has `C` (U+0043) at character 7, which is not in its alphabet; `unknown = …` says what stands for others' "$FLOWC" run p.flow letters
expect 1 'must lie in 0..300, but is ' "$FLOWC" run p.flow few
expect 1 'said.jsonl: line 1, column 49: `n` is an object, the program takes a text' "$FLOWC" run p.flow numbers
expect 1 'said.jsonl: line 1, column 1: there is no `tex`; did you mean `text`?' "$FLOWC" run p.flow none
expect 1 'none.json: no such file' "$FLOWC" run p.flow unfound
expect 1 'merges.txt: byte 0: an object is expected' "$FLOWC" run p.flow swapped
