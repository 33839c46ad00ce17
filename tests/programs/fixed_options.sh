# An option that decides something at compile time is no flag of the built program, however it gets there.
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
grep -q -- '--output.*(out.csv, fixed when built)' help || fail "--help: $(cat help)"
expect 2 "--records was fixed at 3" ./numbers --records=2
expect 2 "--output was fixed at out.csv" ./numbers --output=mine.csv
"$FLOWC" run p.flow --records=2 --output=mine.csv
[ "$(tail -n +2 mine.csv | wc -l)" = 2 ] || fail "mine.csv: $(cat mine.csv)"
