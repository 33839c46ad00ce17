# What a program reads and is not there: it is named with who asks for it, an option or a line. An empty
# name is a mistake of the command line, before anything is read or written.
. tests/programs/lib/common.sh
mkdir -p program/photos/a
cat >program/p.flow <<'END'
option photos = "photos"
option file = "numbers.txt"
option out = "out.csv"
option log = "log.jsonl"
option kept = "kept.cache"
option run = "run.safetensors"

pipeline folder { return images(photos) |> map(label) |> csv(stdout) }
pipeline numbers(file: path) -> (x: f32) {
  return lines(file, on_error = log(log)) |> map(x: integer(line) |> : i32) |> map(x: cast(x, f32))
}
pipeline option { return numbers(file) |> csv(out) }
pipeline fixed { return numbers("gone.txt") |> csv(stdout) }
pipeline pattern { return numbers("gone-*.txt") |> csv(stdout) }
pipeline cached { return numbers(file) |> cache(kept) |> csv(stdout) }
pipeline coming { return watch("gone/*.txt") |> map(n: path |> bytes() |> length()) |> print() }
pipeline texts { return lines("numbers.txt") |> map(x: line |> characters(vocabulary = "gone.json") |> pad(4)) |> csv(stdout) }

train fit {
  data = numbers(file) |> batch(2)
  loss = mean(dense(expand(data.x, 1), 1) ^ 2)
  optimizer = sgd(0.01)
  every 1 epoch { save run }
}
END
seq 3 >program/numbers.txt
there=$PWD/program
p=program/p.flow
expect 1 "lost: no such folder, nor is there $there/lost (--photos, pipeline \`folder\`, p.flow:8)" "$FLOWC" run $p folder --photos=lost
expect 1 "lost.txt: no such file, nor is there $there/lost.txt (--file, pipeline \`numbers\`, p.flow:10)" "$FLOWC" run $p option --file=lost.txt
expect 1 "/lost.txt: no such file (--file, pipeline \`numbers\`, p.flow:10)" "$FLOWC" run $p option --file=/lost.txt
expect 1 "lost.txt: no such file, nor is there $there/lost.txt (--file, pipeline \`numbers\`, p.flow:10)" "$FLOWC" run $p cached --file=lost.txt
expect 1 "gone.txt: no such file, nor is there $there/gone.txt (pipeline \`numbers\`, p.flow:10)" "$FLOWC" run $p fixed
expect 1 "gone-*.txt: no such file, nor is there $there/gone-*.txt (pipeline \`numbers\`, p.flow:10)" "$FLOWC" run $p pattern
expect 1 "gone/: no such folder, nor is there $there/gone/ (pipeline \`coming\`, p.flow:16)" "$FLOWC" run $p coming
expect 1 "gone.json: no such file, nor is there $there/gone.json (pipeline \`texts\`, p.flow:17)" "$FLOWC" run $p texts

# A folder is taken as it is named, whatever it would match, and a file is no folder.
mkdir 'g[1]\?*' && cp $p program/numbers.txt 'g[1]\?*'
mv 'g[1]\?*/numbers.txt' 'g[1]\?*/gone-1.txt'
"$FLOWC" run 'g[1]\?*/p.flow' pattern | tail -n 1 | grep -qx 3 || fail "what matches is not found"
rm 'g[1]\?*/gone-1.txt'
expect 1 "gone-*.txt: no such file, nor is there $PWD/g[1]\\?*/gone-*.txt (" "$FLOWC" run 'g[1]\?*/p.flow' pattern
cd 'g[1]\?*'
expect 1 'gone-*.txt: no such file (pipeline `numbers`, p.flow:10)' "$FLOWC" run p.flow pattern
cd ..
expect 1 'numbers.txt: is no folder' "$FLOWC" run $p folder --photos=numbers.txt
touch gone
expect 1 "gone/: no such folder, nor is there $there/gone/ (" "$FLOWC" run $p coming
rm gone

# Beside the program there is one place, named once.
cd program
expect 1 'gone.txt: no such file (pipeline `numbers`, p.flow:10)' "$FLOWC" run p.flow fixed

# Empty names.
empty() { # what, option, what is run
    expect 2 "the name of a $1 is empty (--$2, " "$FLOWC" run p.flow "$3" --$2=
}
empty folder photos folder
empty file file option
empty file out option
empty file log option
empty file kept cached
empty file run fit
expect 2 '--save: the name of a file is empty' "$FLOWC" run p.flow fit --save=
expect 2 '--resume: the name of a file is empty' "$FLOWC" run p.flow fit --resume=
rm stdout stderr
[ "$(ls)" = "numbers.txt
p.flow
photos" ] || fail "something was written: $(ls)"
