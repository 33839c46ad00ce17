# Records that can't be made: the run stops, goes on without them, or also writes down why.
. tests/programs/lib/common.sh
program() { # what the source is told beside the file, the file
    cat >bad.flow <<END
pipeline numbers -> (x: f32, y: i32 in 0..100) {
  return lines("${2-numbers.txt}"$1) |> map(y: integer(line) |> : i32 in 0..100) |> map(x: cast(y, f32), y)
}
pipeline out { return numbers() |> map(y) |> csv(stdout) }
pipeline large { return numbers() |> filter(y > 50) |> map(y) |> csv(stdout) }
train fit {
  data = numbers() |> shuffle(seed = 1) |> batch(8)
  loss = mean((dense(expand(data.x * 0.01, 1), 1) - expand(data.x * 0.02, 1)) ^ 2)
  optimizer = adam(0.01)
  epochs = 4
  every 1 epoch { save "run.safetensors" }
  every 1 epoch { evaluate numbers() |> batch(16) }
}
END
}
seq 0 99 >numbers.txt
sed -i '11s/.*/ten/; 33s/.*/500/; 77s/.*/ /' numbers.txt

# Stop: what stands before the record is written, the message names it.
program ''
expect 1 'numbers.txt: line 11: `line` `ten` is no whole number' "$FLOWC" run bad.flow out
[ "$(tail -1 stdout)" = 9 ] || fail "$(cat stdout)"
expect 1 'numbers.txt: ' "$FLOWC" run bad.flow fit

# Skip: counted, with the first cause.
program ', on_error = skip'
expect 0 'pipeline `numbers`: 3 records rejected; the first: numbers.txt: line 11: `line` `ten` is no whole number' "$FLOWC" run bad.flow out
{ echo y; seq 0 99 | sed '77d; 33d; 11d'; } >expected
same stdout expected
expect 0 '3 records rejected' "$FLOWC" run bad.flow large
{ echo y; seq 51 99 | sed '26d'; } >expected
same stdout expected

# Log: a line for each, once, whatever the number of epochs.
program ', on_error = log("bad.jsonl")'
expect 0 '3 records rejected, see bad.jsonl' "$FLOWC" run bad.flow fit
[ "$(wc -l <bad.jsonl)" = 6 ] || fail "$(cat bad.jsonl)" # for the train block and its evaluate
grep -q '{"pipeline": "numbers", "record": 32, "error": "numbers.txt: line 33: `line` must lie in 0..100' bad.jsonl || fail "$(cat bad.jsonl)"
mv run.safetensors one.safetensors
for way in --threads=3 --workers=2 --workers=0; do
    "$FLOWC" run bad.flow fit $way >out.txt 2>/dev/null
    same one.safetensors run.safetensors
    same out.txt stdout
done
program ', on_error = log("/dev/full")'
expect 3 '/dev/full: ' "$FLOWC" run bad.flow fit

# Nothing good at all is no data.
seq 0 7 >good.txt
{ cat good.txt; yes x | head -200; } >mostly.txt || true
program ', on_error = skip' mostly.txt
sed -i 's/ |> shuffle(seed = 1)//' bad.flow
expect 1 'pipeline `numbers`: none of the 8 records of a batch can be made: mostly.txt: line 9: ' "$FLOWC" run bad.flow fit

# What it can be.
program ', on_error = ignore'
expect 1 '`on_error` is `stop`, `skip` or `log("bad.jsonl")`' "$FLOWC" check bad.flow
program ', on_error = log()'
expect 1 '`log` takes the name of a file' "$FLOWC" check bad.flow
exit 0
