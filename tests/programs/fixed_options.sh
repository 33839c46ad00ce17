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
