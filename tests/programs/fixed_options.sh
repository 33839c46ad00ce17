# An option that decides something at compile time is no flag of the built program, however it gets
# there; where a sink writes is one.
. tests/programs/lib/common.sh
cat >p.flow <<'END'
option records = 3
option output = "out.csv"

pipeline numbers(file: string = output) {
  let n = records
  return range(6) |> take(n) |> csv(file)
}
END
"$FLOWC" build p.flow -o numbers
./numbers --help >help
grep -q -- '--records.*(3, fixed when built)' help || fail "--help: $(cat help)"
grep -q -- '--output=TEXT.*(default: out.csv)' help || fail "--help: $(cat help)"
expect 2 "--records was fixed at 3" ./numbers --records=2
./numbers --output=built.csv && [ "$(wc -l <built.csv)" = 4 ] || fail "not written where --output says"
"$FLOWC" run p.flow --records=2 --output=mine.csv
[ "$(tail -n +2 mine.csv | wc -l)" = 2 ] || fail "mine.csv: $(cat mine.csv)"

# Texts that decide which column it is, which text or what is done.
cat >texts.flow <<'END'
option cities = "towns"
option first = "a"
option from = "p0"
option single = "p0"
option left = "p0"
option none = "NA"
option mode = "kept"

pipeline table() -> (x: f32[2], city: i32 in 0..9, kind: i32 in 0..2) {
  return csv("table.csv", missing = [none])
      |> map(
        x: columns(from, 2), city: category(city, 9, vocabulary = cities),
        kind: category(kind, [first, "b"])
      )
}

pipeline one {
  let keeps = mode == "kept"
  return csv("table.csv") |> map(x: if keeps { column(single) } else { 0 * column(single) }) |> csv(stdout)
}

pipeline rest { return csv("table.csv") |> map(x: columns(1, except = [left])) |> csv(stdout) }

train learn {
  data      = table() |> batch(1)
  loss      = mean(dense(concat([data.x, one_hot(data.city, 9), one_hot(data.kind, 2)]), 1))
  optimizer = sgd(0.1)
}
END
printf 'p0,p1,city,kind\n1,2,x,a\n' >table.csv
"$FLOWC" build texts.flow -o texts
./texts --help >help
for option in cities first from single left none mode; do
    grep -q -- "--$option=.*fixed when built" help || fail "--help: $(cat help)"
    expect 2 "--$option was fixed at" ./texts one --$option=other
done
"$FLOWC" run texts.flow one --single=p1 | grep -qx 2 || fail "it is not the column that --single says"
"$FLOWC" run texts.flow one --mode=other | grep -qx 0 || fail "it is not what --mode says"

# A value that the program can't be compiled with is the command line's mistake, not the program's.
cat >counted.flow <<'END'
option size = 2
pipeline numbers { return range(6) |> map(x: index) |> batch(size) |> unbatch() |> csv(stdout) }
END
"$FLOWC" run counted.flow >/dev/null
expect 2 'note: the command line gives --size=0; without it the program is right' "$FLOWC" run counted.flow --size=0
expect 2 '"message": "the command line gives --size=x; without it the program is right"' "$FLOWC" run counted.flow --size=x --diagnostics=json
sed -i 's/size = 2/size = 0/' counted.flow
expect 1 'from 1 to 1048576, not 0' "$FLOWC" run counted.flow --size=2
