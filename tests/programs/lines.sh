# Lines of text: of files, and of standard input, as they come.
. tests/programs/lib/common.sh
cat >lines.flow <<'END'
pipeline numbers {
  return lines(stdin) |> map(n: integer(line) |> : i32) |> map(n, twice: 2 * n) |> csv(stdout)
}

pipeline parts {
  return lines("numbers.txt") |> map(n: integer(line) |> : i32) |> skip(2) |> window(3, stride = 2) |> take(4) |> csv(stdout)
}

pipeline streamed_parts {
  return lines(stdin) |> map(n: integer(line) |> : i32) |> skip(2) |> window(3, stride = 2) |> take(4) |> csv(stdout)
}

pipeline words {
  return lines(stdin) |> map(word: line |> : u8[6]) |> print()
}

option from = "-" "a file, or standard input"

pipeline shuffled {
  return lines(from) |> shuffle(seed = 1) |> map(n: integer(line) |> : i32) |> print()
}

pipeline images {
  return idx(image: from) |> map(image: image |> : u8[28, 28]) |> print()
}
END

# The same records from a file and from standard input.
seq 1000 >numbers.txt
"$FLOWC" run lines.flow parts >parts.csv
"$FLOWC" run lines.flow streamed_parts <numbers.txt >streamed.csv
same parts.csv streamed.csv
[ "$(tail -1 parts.csv)" = 9,10,11 ] || fail "$(cat parts.csv)"

# In order, with any number of workers, and more than are held at a time.
seq 400000 >many.txt
for workers in 1 3; do
    "$FLOWC" run lines.flow numbers --workers=$workers <many.txt | tail -n +2 | cut -d, -f1 >out.txt
    same out.txt many.txt
done

# What comes is answered before more comes.
mkfifo in
"$FLOWC" run lines.flow numbers <in | cat >answers &
run=$!
exec 9>in
echo 7 >&9
until_true "grep -q '^7,14$' answers"
echo 8 >&9
exec 9>&-
wait $run
[ "$(tail -1 answers)" = 8,16 ] || fail "$(cat answers)"

# Lines end in LF, CRLF or with the data; what is too long or no number is an error with its line.
printf 'one\ntwo\r\n\nlast' | "$FLOWC" run lines.flow words >words.txt
printf 'word=[%s]\n' '111, 110, 101, 0, 0, 0' '116, 119, 111, 0, 0, 0' '0, 0, 0, 0, 0, 0' '108, 97, 115, 116, 0, 0' >expected
same words.txt expected
printf 'one\nseventy\n' >long.txt
expect 1 'standard input: line 2: `line` has 7 bytes, the program expects u8[6] at most' "$FLOWC" run lines.flow words <long.txt
printf '1\n2\nx\n4\n' >bad.txt
expect 1 'standard input: line 3: `line` `x` is no whole number' "$FLOWC" run lines.flow numbers <bad.txt

# A reader that goes away, no input at all, a signal.
{ seq 1000000 || true; } | { "$FLOWC" run lines.flow numbers 2>said || [ $? = 4 ]; } | head -2 >head.txt
[ ! -s said ] || fail "$(cat said)"
[ "$(tail -1 head.txt)" = 1,2 ] || fail "$(cat head.txt)"
"$FLOWC" run lines.flow numbers </dev/null >nothing
"$FLOWC" build lines.flow -o lines_program
./lines_program numbers <>in > >(cat >answers) 2>stderr & run=$!
echo 7 >in
until_true "grep -q '^7,14$' answers"
stopped $run
grep -qx 'lines: interrupted after 1 record' stderr || fail "$(cat stderr)"

# What asks for any record at any time can't read it.
expect 2 '`shuffle` asks for all records, and these come one after the other; give it a window: `shuffle(seed = 1, window = 10000)`' "$FLOWC" run lines.flow shuffled </dev/null
expect 2 '`idx` looks up any record, which standard input does not let it; `lines`, `csv`, `jsonl` and `binary` read it' "$FLOWC" run lines.flow images </dev/null
cat >train.flow <<'END'
option from = "-" "a file, or standard input"
pipeline numbers -> (x: f32) { return lines(from) |> map(x: integer(line) |> : f32) }
train fit {
  data = numbers() |> batch(4)
  loss = mean(dense(expand(data.x, 1), 1))
  optimizer = sgd(0.1)
}
END
expect 2 'its records come one after the other, and a train block asks for any record at any time' "$FLOWC" run train.flow <numbers.txt

# A model in the middle, with batches by time.
cat >score.flow <<'END'
pipeline numbers -> (x: f32) { return lines("numbers.txt") |> map(x: integer(line) |> : f32) }
model net(x: f32[B]) -> f32[B, 1] { return dense(expand(x, 1), 1) }
train fit {
  data = numbers() |> batch(100)
  loss = mean((net(data.x * 0.001) - expand(data.x * 0.002, 1)) ^ 2)
  optimizer = adam(0.05)
  epochs = 40
  every 40 epochs { save weights("net.safetensors") }
}
pipeline score {
  let trained = load(net, "net.safetensors")
  return lines(stdin) |> map(x: integer(line) |> : f32)
      |> batch(32, timeout = 10ms)
      |> map(x, y: trained(x * 0.001)) |> unbatch() |> csv(stdout)
}
END
"$FLOWC" run score.flow fit >/dev/null
"$FLOWC" run score.flow score <numbers.txt >scores.csv
[ "$(wc -l <scores.csv)" = 1001 ] || fail "$(wc -l <scores.csv) lines"
tail -n +2 scores.csv | awk -F, '{ d = $2 - 0.002 * $1; if (d < -0.1 || d > 0.1) { print "wrong: " $0; exit 1 } }'
sed 's/timeout = 10ms/timeout = 10/' score.flow >bad.flow
expect 1 '`timeout` is a time, not' "$FLOWC" check bad.flow
exit 0
