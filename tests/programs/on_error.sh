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
grep -q '{"pipeline": "numbers", "record": 32, "error": "numbers.txt: line 33: `line` must lie in 0..100, but is 500' bad.jsonl || fail "$(cat bad.jsonl)"
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

program ', on_error = skip' -
sed -i 's/"-"/stdin/; /^train/,$d' bad.flow
expect 1 'error: pipeline `numbers`: every record that was looked at was rejected' "$FLOWC" run bad.flow out <<<$'x\ny'
grep -q '2 records rejected; the first: standard input: line 1' stderr || fail "$(cat stderr)"
expect 1 'error: pipeline `numbers`: every record that was looked at was rejected' "$FLOWC" run bad.flow large <<<x
{ "$FLOWC" run bad.flow large <<<$'x\n7' && "$FLOWC" run bad.flow out </dev/null; } 2>stderr || fail "one is good, or there is none: $(cat stderr)"

# Of a stream without an end they are told while they become more.
mkfifo stream
"$FLOWC" run bad.flow out <stream 2>stderr & child=$!
exec 3>stream
until_true 'echo x >&3; grep -q "records rejected so far; the latest: standard input: line" stderr'
exec 3>&-
wait $child && fail "none of them is good" || [ $? = 1 ] || fail "$(cat stderr)"

# On a terminal they are told on a line of their own, not behind the progress that stands there.
cat >slow.flow <<'END'
pipeline numbers -> (x: f32) { return lines("long.txt", on_error = skip) |> map(x: cast(integer(line) |> : i32 in 0..10, f32)) }
model net(x: f32[B]) -> f32[B, 1] { return dense(dense(dense(expand(x, 1), 512), 256), 1) }
train fit {
  data = numbers() |> batch(250)
  loss = mean(net(data.x) ^ 2)
  optimizer = sgd(0.0001)
  epochs = 1
}
END
yes 1 | head -n 4000000 | sed '0~1000s/.*/x/' >long.txt || true
timeout 120 python3 - "$FLOWC" >terminal <<'END'
import os, pty, signal, sys
os.environ.update(FLOWC_PROGRESS="auto", TERM="xterm")
child, terminal = pty.fork()
if not child: os.execv(sys.argv[1], [sys.argv[1], "run", "slow.flow"])
text = b""
while b"rejected so far" not in text: text += os.read(terminal, 4096)
os.kill(child, signal.SIGKILL)
sys.stdout.buffer.write(text)
END
grep -q $'\r\033\\[Kpipeline `numbers`: [0-9]* records rejected so far' terminal || fail "$(cat -v terminal)"
rm long.txt

# Of joined pipelines: the log names the one whose record it is; a record that comes again, behind `window`
# too, is told once.
seq 0 99 | sed 's/^1[02]$/x/' >other.txt
program ', on_error = log("joined.jsonl")'
cat >>bad.flow <<'END'
pipeline high { return lines("other.txt", on_error = log("joined.jsonl")) |> map(y: integer(line) |> : i32 in 0..100) |> filter(y > 50) }
pipeline both { return concat([numbers() |> map(y), high()]) |> csv(stdout) }
pipeline again { return numbers() |> shuffle(seed = 1) |> map(y) |> repeat(4) |> window(1) |> map(y: y[0]) |> csv(stdout) }
END
expect 0 '5 records rejected' "$FLOWC" run bad.flow both
[ "$(grep -c '"pipeline": "high", "record": 1[02], ' joined.jsonl)" = 2 ] || fail "$(cat joined.jsonl)"
[ "$(grep -c '"pipeline": "numbers"' joined.jsonl)" = 3 ] || fail "$(cat joined.jsonl)"
expect 0 '3 records rejected' "$FLOWC" run bad.flow again
[ "$(wc -l <stdout)" = 389 ] || fail "$(wc -l <stdout) lines"

# Of an archive the record is called by its name.
mkdir members && echo 5 >members/second.cls && echo 1 >members/first.cls
tar -cf members.tar -C members first.cls second.cls
echo 'pipeline out { return tar("members.tar") |> map(n: integer(cls) |> : i32 in 0..3) |> csv(stdout) }' >members.flow
expect 1 'members.tar: second: `cls` must lie in 0..3, but is 5 (members.flow:1)' "$FLOWC" run members.flow

# Of a whole number all digits are told.
printf 'id\n1\n9007199254740993\n' >ids.csv
echo 'pipeline out { return csv("ids.csv") |> map(id: column("id") |> : i64 in 0..3) |> csv(stdout) }' >ids.flow
expect 1 'ids.csv: line 3: `id` must lie in 0..3, but is 9007199254740993 (ids.flow:1)' "$FLOWC" run ids.flow

# What it can be.
program ', on_error = ignore'
expect 1 '`on_error` is `stop`, `skip` or `log("bad.jsonl")`' "$FLOWC" check bad.flow
program ', on_error = log()'
expect 1 '`log` takes the name of a file' "$FLOWC" check bad.flow

# A record for which there is no memory is as good as others: whichever thread meets it, the run ends.
row() { printf 'fn %s(i: i64) -> u8[1, %d, 1] { return cast(remainder(reshape(iota(%d), [1, %d, 1]) + cast(i, i32), 256), u8) }\n' "$1" "$2" "$2" "$2"; }
{
    row short 100
    row long 1000000
    cat <<'END'
pipeline small { return range(40) |> map(png: short(index)) |> tar("short.tar") }
pipeline large { return range(1) |> map(png: long(index)) |> tar("long.tar") }
END
} >rows.flow
"$FLOWC" run rows.flow small
"$FLOWC" run rows.flow large
mkdir -p photos/a && tar -xf short.tar -C photos/a && mkdir long && tar -xf long.tar -C long
mv long/*.png photos/a/large.png
(cd photos/a && ls -- *.png) | LC_ALL=C sort >names
{ echo file; sed 's|^|photos/a/|' names; } >names.csv
sed 's|.*|{"file": "photos/a/&", "text": "short\\n"}|' names >names.jsonl
{ cat names; head -c 6000000 /dev/zero | tr '\0' x; echo; } >texts.txt
{ cat names.jsonl; printf '{"file": "", "text": "\\n'; head -c 6000000 /dev/zero | tr '\0' x; echo '"}'; } >texts.jsonl
cat >scarce.flow <<'END'
pipeline folder { return images("photos", on_error = skip) |> map(image: image |> decode_png() |> resize(2, 2) |> : u8[2, 2, 3]) |> map(n: sum(cast(image, i32))) |> csv(stdout) }
pipeline table { return csv("names.csv", on_error = skip) |> map(image: file |> read_file() |> decode_png() |> resize(2, 2) |> : u8[2, 2, 3]) |> map(n: sum(cast(image, i32))) |> csv(stdout) }
pipeline objects { return jsonl("names.jsonl", on_error = skip) |> map(image: file |> read_file() |> decode_png() |> resize(2, 2) |> : u8[2, 2, 3]) |> map(n: sum(cast(image, i32))) |> csv(stdout) }
pipeline texts { return lines("texts.txt", on_error = skip) |> map(n: line |> bytes() |> length()) |> csv(stdout) }
pipeline escaped { return jsonl("texts.jsonl", on_error = skip) |> map(n: text |> bytes() |> length()) |> csv(stdout) }
pipeline chosen { return lines("texts.txt", on_error = skip) |> map(n: line |> bytes() |> length()) |> filter(n > 0) |> csv(stdout) }
pipeline stream { return lines(stdin, on_error = skip) |> map(n: line |> bytes() |> length()) |> filter(n > 0) |> csv(stdout) }
pipeline packed { return lines("texts.txt", on_error = skip) |> map(x: bytes(line)) |> pack(8) |> csv(stdout) }
END
for kind in folder table objects texts escaped chosen stream packed; do
    "$FLOWC" run scarce.flow $kind <texts.txt >whole 2>stderr
    ! grep rejected stderr || fail "$kind: $(cat stderr)"
    [ $kind = stream ] && limit=30MiB || limit=3MiB
    for way in --threads=2 --workers=2; do
        expect 3 'memory is limited to ' "$FLOWC" run scarce.flow $kind $way --memory=$limit <texts.txt
    done
done
exit 0
