# Sources that take records as they come, on standard input: the same records as from a file.
. tests/programs/lib/common.sh
cat >feeds.flow <<'END'
option data = "-"

pipeline table {
  return csv(data, comment = "#", missing = ["NA"]) |> map(a, b: missing(b, 7), c: category(c, ["x", "two\nlines"])) |> csv(stdout)
}

pipeline columns_table {
  return csv(data) |> map(x: columns(2, except = ["c"])) |> csv(stdout)
}

pipeline bare {
  return csv(data, header = false, separator = ";") |> map(a: column(0), b: column(2)) |> csv(stdout)
}

pipeline objects {
  return jsonl(data) |> map(a, b: b |> : f32[2]) |> jsonl(stdout)
}

pipeline frames {
  return binary(data, header = 2, label: u8, frame: u8[2, 2]) |> map(label, frame) |> print()
}

pipeline chosen {
  return lines(data)
      |> map(n: integer(line) |> : i32)
      |> filter(remainder(n, 3) != 0)
      |> skip(10)
      |> shuffle(seed = 3, window = 100)
      |> filter(remainder(n, 2) == 0)
      |> map(n)
      |> window(3, stride = 2)
      |> map(a: n[0], b: n[1], c: n[2])
      |> csv(stdout)
}

pipeline shuffled {
  return lines(data) |> map(n: integer(line) |> : i32) |> shuffle(seed = 3, window = 100) |> csv(stdout)
}

pipeline positive {
  return lines(data) |> map(n: integer(line) |> : i32) |> filter(n > 0) |> csv(stdout)
}

pipeline kept {
  return lines(data) |> map(n: integer(line) |> : i32) |> csv("kept.csv")
}

pipeline none {
  return lines(data) |> map(n: integer(line) |> : i32) |> filter(n < 0) |> csv(stdout)
}

pipeline lenient {
  return lines(data, on_error = log("bad.jsonl")) |> map(n: integer(line) |> : i32) |> filter(n > 0) |> csv(stdout)
}

pipeline counted {
  return range() |> filter(remainder(index, 3) == 1) |> take(5) |> map(index) |> print()
}

pipeline noise {
  return range() |> map(index, x: random_normal([])) |> take(1000) |> csv(stdout)
}

pipeline endless {
  return range() |> map(index) |> csv(stdout)
}

pipeline endless_filter {
  return range() |> filter(index < 3) |> map(index) |> csv(stdout)
}
END
"$FLOWC" build feeds.flow -o feeds

# as_file PIPELINE FILE LINES: the same from the file, and as it comes: whole, byte by byte, compressed.
as_file() {
    ./feeds "$1" --data="$2" >from_file
    ./feeds "$1" <"$2" >from_input
    same from_file from_input
    dd if="$2" bs=1 status=none | ./feeds "$1" >from_input
    same from_file from_input
    gzip -c "$2" | dd bs=1 status=none | ./feeds "$1" >from_input
    same from_file from_input
    [ "$(wc -l <from_file)" = "$3" ] || fail "$1: $(cat from_file)"
}
printf '\xef\xbb\xbf# "no quote\na,b,c\n\n1,2,"x"\n3,,"two\nlines"\r\n# x,"\r\n\r\n4,NA,x\n"5",6.5,"x"' >table.csv
as_file table table.csv 5
printf 'a,b,c\n1,2,x\n3,4,y\n' >columns.csv
as_file columns_table columns.csv 3
printf '1;2;3\n4;5;6' >bare.csv
as_file bare bare.csv 3
printf '\xef\xbb\xbf{"a": 1, "b": [1,2]}\n\n  \n{"b": [3,4], "a": 5}\n{"x":{"y":"\\u00e4"},"a":1,"b":[0,0]}' >objects.jsonl
as_file objects objects.jsonl 3
seq 5000 >numbers.txt
for pipeline in chosen shuffled; do
    ./feeds $pipeline --data=numbers.txt >from_file
    for workers in 1 3; do
        ./feeds $pipeline --workers=$workers <numbers.txt >from_input
        same from_file from_input
    done
done
tail -n +2 from_file | sort -n | cmp - numbers.txt || fail "a shuffle loses records"
[ "$(tail -n +2 from_file | sed -n 1,100p | sort -n | tail -1)" = 100 ] || fail "records leave their window"
if tail -n +2 from_file | sed -n 1,100p | sort -nc 2>/dev/null; then fail "nothing is shuffled"; fi
for count in 1 99 100 101; do
    [ "$(seq $count | ./feeds shuffled | tail -n +2 | sort -n | tr '\n' ' ')" = "$(seq $count | tr '\n' ' ')" ] || fail "$count records"
done
[ "$(./feeds shuffled </dev/null)" = n ] || fail "no records"

# Frames of raw bytes; the last one may be cut off.
printf 'hhA1234B5678' | ./feeds frames >frames.txt
printf '%s\n' 'label=65 frame=[[49, 50], [51, 52]]' 'label=66 frame=[[53, 54], [55, 56]]' >expected
same frames.txt expected
printf 'hhA1234B56' >cut.bin
expect 1 'standard input: ends within record 1: 3 bytes of 5' ./feeds frames <cut.bin

# Errors know their line.
printf 'a,b,c\n1,2,x\n\n2,3,"a\nb"\n' >bad.csv
expect 1 'standard input: line 4: `c` is `a?b`, none of its 2 categories' ./feeds table <bad.csv
printf 'a,b,c\n1,2,x\n2,3,"x\n4,5,x\n' >open.csv
expect 1 'standard input: line 3: `c` has a quote that is not closed' ./feeds table <open.csv
printf 'a,b,d\n1,2,x\n' >other.csv
expect 1 'standard input: has no column `c`' ./feeds table <other.csv
expect 1 'standard input: is empty' ./feeds table </dev/null
[ "$(./feeds bare </dev/null)" = a,b ] || fail "no rows"
printf '{"a":1,"b":[1,2]}\n\n{"a":\n' >bad_objects.jsonl
expect 1 'standard input: line 3, column 6' ./feeds objects <bad_objects.jsonl
printf '\x1f\x8b\x08bad' >bad.gz
expect 1 'standard input: ' ./feeds objects <bad.gz
seq 5000 | gzip -c >numbers.gz
head -c 1000 numbers.gz >short.gz
expect 1 'standard input: the compressed data ends early' ./feeds shuffled <short.gz
if command -v zstd >/dev/null; then
    zstd -qc numbers.txt | ./feeds shuffled >from_input
    same from_file from_input
fi

# Of a filter that can't be asked the records before it are there; or it is rejected.
printf '1\n2\nx\n4\n' >mixed.txt
expect 1 'standard input: line 3: `line` `x` is no whole number' ./feeds positive <mixed.txt
[ "$(tail -1 stdout)" = 2 ] || fail "$(cat stdout)"
./feeds lenient <mixed.txt >rest 2>stderr
[ "$(tail -n +2 rest | tr '\n' ' ')" = '1 2 4 ' ] || fail "$(cat rest)"
grep -q 'line 3' bad.jsonl || fail "$(cat bad.jsonl)"
grep -q '1 record rejected' stderr || fail "$(cat stderr)"

# What passes is answered before more comes.
mkfifo in
./feeds positive <in | cat >answers & run=$!
exec 9>in
printf '%s\n' -1 7 -2 >&9
until_true "grep -q '^7$' answers"
echo 8 >&9
exec 9>&-
wait $run
[ "$(tail -1 answers)" = 8 ] || fail "$(cat answers)"

# So it is in a file: no record waits there for the next one.
kept() {
    ./feeds $1 <in >said & run=$!
    exec 9>in
    echo 7 >&9
    until_true "grep -qsx 7 $2"
    exec 9>&-
    wait $run
}
kept positive said
kept kept kept.csv.part
grep -qx 7 kept.csv || fail "$(cat kept.csv)"

# What never passes takes no memory: 60 MB of lines in 40 MB and what the program has by itself.
own=$(./feeds none </dev/null >nothing; python3 -c 'import resource, subprocess
subprocess.run(["./feeds", "none"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
all=$(python3 -c 'import resource, subprocess
lines = subprocess.Popen(["seq", "8000000"], stdout=subprocess.PIPE)
subprocess.run(["./feeds", "none"], stdin=lines.stdout, stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
if [ -z "${SAN:-}" ] && [ "$((all - own))" -gt 40000 ]; then fail "$((all - own)) kB, though nothing passes"; fi

# Signals, and readers that go away. Each has answers of its own: none is taken for an earlier one's.
./feeds shuffled <>in > >(cat >of_shuffled) 2>stderr & run=$!
seq 150 >in
until_true '[ "$(cat of_shuffled | wc -l)" -gt 100 ]'
stopped $run
./feeds table <>in >of_table 2>stderr & run=$!
echo 'a,b,c' >in
stopped $run
grep -q 'interrupted before standard input had a record' stderr || fail "$(cat stderr)"
./feeds endless > >(cat >of_endless) 2>stderr & run=$!
until_true '[ -s of_endless ]'
stopped $run
./feeds endless_filter > >(cat >of_endless_filter) 2>stderr & run=$!
until_true "grep -qs '^2$' of_endless_filter"
stopped $run
{ ./feeds endless 2>said || [ $? = 4 ]; } | head -3 >head.txt
[ "$(tail -1 head.txt)" = 1 ] && [ ! -s said ] || fail "$(cat head.txt said)"

# Records without an end are those of any range.
./feeds counted >five.txt
[ "$(tail -1 five.txt)" = index=13 ] || fail "$(cat five.txt)"
./feeds noise --workers=1 >noise.csv
./feeds noise --workers=3 >again.csv
same noise.csv again.csv
[ "$(sed 1d noise.csv | sort -t, -k2 -u | wc -l)" = 1000 ] || fail "$(wc -l noise.csv)"
exit 0
