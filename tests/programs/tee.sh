# Tee: records go to a second sink as they are at that place, and on.
. tests/programs/lib/common.sh
cat >p.flow <<'END'
option log = "log.csv"

model line(x: f32[B]) -> f32[B, 1] {
  return dense(expand(x, 1), 1)
}

pipeline numbers -> (x: f32) {
  return range(2500) |> map(x: cast(index, f32))
}

train fit {
  data      = numbers() |> batch(100)
  loss      = mean((line(data.x * 0.001) - expand(data.x * 0.002, 1)) ^ 2)
  optimizer = adam(0.05)
  every 1 epoch { save weights("net.safetensors") }
}

# Before a batch: what the later maps change, and what they drop.
pipeline maps {
  return range(2500) |> map(i: index, a: index * 2) |> tee(csv("first.csv")) |> map(b: a + 1, i) |> tee(jsonl("second.jsonl"))
      |> map(b, c: b * b) |> csv("last.csv")
}

pipeline same { return range(2500) |> map(i: index) |> tee(csv("first.csv")) |> csv("last.csv") }

# Around the function of a batch.
pipeline batches {
  let trained = load(line, "net.safetensors")
  return numbers() |> map(x, half: x / 2) |> tee(npy(x: "x.npy", half: "half.npy")) |> map(x) |> tee(csv("records.csv"))
      |> batch(64) |> tee(csv("batched.csv")) |> map(x, y: trained(x * 0.001)) |> tee(csv("model.csv"))
      |> map(x, z: 2 * y) |> tee(csv("again.csv")) |> unbatch() |> tee(jsonl("end.jsonl")) |> csv(stdout)
}

pipeline plain_batches { return numbers() |> batch(10) |> tee(csv("batched.csv")) |> unbatch() |> csv(stdout) }
pipeline lined { return lines(stdin) |> map(n: integer(line) |> : i32) |> tee(csv(log)) |> map(n: n + 1) |> csv(stdout) }
pipeline pictures {
  return range(5) |> map(image: cast(broadcast(remainder(index, 200), [4, 4, 3]), u8), index) |> map(image)
      |> tee(images("out/{index}.png")) |> map(m: mean(cast(image, f32))) |> csv(stdout)
}
pipeline endless { return range(1000000000000) |> map(i: index) |> tee(csv("endless.csv")) |> map(j: 2 * i) |> csv("twice.csv") }
pipeline shown { return range(1000000000000) |> map(i: index) |> tee(csv("endless.csv")) |> csv(stdout) }
pipeline broken { return lines("lines.txt") |> map(n: integer(line) |> : i32) |> tee(csv("good.csv")) |> csv("result.csv") }
pipeline skipped { return lines("lines.txt", on_error = skip) |> map(n: integer(line) |> : i32) |> tee(csv("good.csv")) |> csv("result.csv") }
pipeline to_log { return range(100000) |> map(i: index) |> tee(csv(log)) |> csv("result.csv") }
END
"$FLOWC" build p.flow -o p
awks() { awk "BEGIN { OFMT = \"%.17g\"; $1 }"; }

for flags in '' '--workers=3' '--threads=1 --workers=0'; do
    rm -f ./*.csv ./*.jsonl
    # shellcheck disable=SC2086
    ./p maps $flags
    awks 'print "i,a"; for (i = 0; i < 2500; i++) print i "," 2 * i' | same - first.csv
    awks 'for (i = 0; i < 2500; i++) print "{\"b\":" 2 * i + 1 ",\"i\":" i "}"' | same - second.jsonl
    awks 'print "b,c"; for (i = 0; i < 2500; i++) { b = 2 * i + 1; print b "," b * b }' | same - last.csv
done
./p same && same first.csv last.csv

./p fit --progress=off
for flags in '' '--workers=2'; do
    # shellcheck disable=SC2086
    ./p batches $flags >out.csv
    awks 'print "x"; for (i = 0; i < 2500; i++) print i' | same - records.csv
    same records.csv batched.csv
    cut -d, -f1 model.csv | same - records.csv
    same again.csv out.csv
    awk -F, 'NR > 1 { print 2 * $2 }' model.csv | paste -d, - <(tail -n +2 again.csv | cut -d, -f2) |
        awk -F, '{ d = $1 - $2; if (d > 1e-4 || d < -1e-4) { print "wrong: " $0; exit 1 } }'
    [ "$(wc -l <end.jsonl)" = 2500 ] || fail "$(wc -l <end.jsonl) records in end.jsonl"
    [[ $(head -n 1 end.jsonl) = '{"x":0,"z":['*']}' ]] || fail "$(head -n 1 end.jsonl)"
done
python3 - <<'END'
for name, factor in (("x.npy", 1), ("half.npy", 0.5)):
    data = open(name, "rb").read()
    import struct
    values = struct.unpack("<2500f", data[-10000:])
    assert list(values) == [i * factor for i in range(2500)], name
END
./p plain_batches >out.csv && same batched.csv out.csv

# Of standard input, as it comes; a sink that all threads write to.
seq 5 | ./p lined >out.csv
printf '%s\n' n 1 2 3 4 5 | same - log.csv
printf '%s\n' n 2 3 4 5 6 | same - out.csv
: | ./p lined >out.csv && [ "$(cat log.csv out.csv)" = $'n\nn' ] || fail "nothing: $(cat log.csv out.csv)"
mkfifo in
./p lined <in | cat >answers & run=$!
exec 9>in
echo 7 >&9
until_true "grep -qx 8 answers"
exec 9>&-
wait $run
./p pictures | tail -n +2 | same - <(seq 0 4)
[ "$(ls out | wc -l)" = 5 ] || fail "$(ls out)"

# How it ends: interrupted, with parts of as many records; when a reader has gone; when a sink fails.
rm -f ./*.csv
./p endless 2>stderr & run=$!
until_true "[ -s endless.csv.part ] && [ -s twice.csv.part ]"
stopped $run
records=$(($(wc -l <endless.csv.part) - 1))
grep -qx "p: interrupted after $records records; they are in endless.csv.part and twice.csv.part" stderr || fail "$records: $(cat stderr)"
[ "$(wc -l <twice.csv.part)" = $((records + 1)) ] || fail "other records in twice.csv.part"
[ ! -e endless.csv ] && [ ! -e twice.csv ] || fail "a part has its name"
rm -f ./*.part
{ ./p shown 2>stderr || echo $? >code; } | head -n 1 >/dev/null
records=$(($(wc -l <endless.csv.part) - 1))
[ "$(cat code)" = 4 ] && grep -qx "p: the reader of standard output has gone after $records records; they are in endless.csv.part" stderr || fail "$(cat code stderr)"
rm -f ./*.part
seq 100 >lines.txt && echo x >>lines.txt
expect 1 'lines.txt: line 101: `line` `x` is no whole number' ./p broken
[ ! -e good.csv ] && [ ! -e good.csv.part ] && [ ! -e result.csv.part ] || fail "something stays: $(ls)"
expect 0 '1 record rejected' ./p skipped
same good.csv result.csv
rm -f ./*.csv
expect 3 '/dev/full: cannot be written: No space left on device' ./p to_log --log=/dev/full
[ ! -e result.csv ] && [ ! -e result.csv.part ] || fail "the result stays"
expect 3 'nowhere/x.csv: cannot be written: No such file or directory' ./p to_log --log=nowhere/x.csv
expect 3 'result.csv: is being written already' ./p to_log --log=result.csv
[ ! -e result.csv ] || fail "the result is there"
