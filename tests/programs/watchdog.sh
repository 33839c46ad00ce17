# What blocks is named once: a log that nobody reads, a pipe that nobody empties. To wait for input is
# not to be blocked.
. tests/programs/lib/common.sh
export FLOWC_WATCHDOG=1
cat >numbers.flow <<'END'
pipeline logged {
  return lines("numbers.txt", on_error = log("log")) |> map(x: integer(line) |> : f32) |> batch(4) |> unbatch() |> csv("logged.csv")
}

pipeline piped {
  return range(100000) |> batch(100) |> unbatch() |> csv(stdout)
}

pipeline unread_output {
  return range(4) |> csv("written")
}

pipeline unread_tee {
  return range(4) |> tee(csv("teed")) |> csv("teed.csv")
}

pipeline waiting {
  return lines(stdin) |> map(x: integer(line) |> : f32) |> batch(1) |> unbatch() |> csv("waited.csv")
}

pipeline named {
  return csv(stdin) |> map(x) |> csv("named.csv")
}
END
"$FLOWC" build numbers.flow -o numbers
once() { [ "$(grep -c blocked stderr)" = 1 ] || fail "not told once: $(cat stderr)"; }

printf '1\n2\nx\n4\n' >numbers.txt
mkfifo log pipe
./numbers logged 2>stderr & child=$!
until_true 'grep -q "blocked since .*: pipeline .logged. writes to its log (log)" stderr'
cat log >logged & reader=$!
wait $child
wait $reader
once
grep -q '"record": 2' logged || fail "$(cat logged)"

./numbers piped >pipe 2>stderr & child=$!
exec 3<pipe
until_true 'grep -q "blocked since .*: piped writes what was made (standard output)" stderr'
cat <&3 >all.csv
exec 3<&-
wait $child
once
[ "$(wc -l <all.csv)" = 100001 ] || fail "$(wc -l <all.csv) lines"

# What waits for a reader that does not come ends with the first signal.
unread() {
    ./numbers "$1" 2>stderr & child=$!
    until_true "grep -q 'blocked since .*($2)' stderr"
    stopped $child
    grep -qx "numbers: $3" stderr || fail "$(cat stderr)"
}
mkfifo written teed
unread logged log 'interrupted after 2 records; they are in logged.csv.part'
unread unread_output written 'interrupted before anyone read written'
unread unread_tee teed 'interrupted before anyone read teed'

# One has waited for input while the other was found to be blocked: longer than its own time.

mkfifo input table
./numbers waiting <input 2>waiting.stderr & child=$!
./numbers named <table 2>named.stderr & opening=$!
exec 4>input 5>table
./numbers piped >pipe 2>stderr & other=$!
exec 3<pipe
until_true 'grep -q blocked stderr'
cat <&3 >/dev/null
exec 3<&-
wait $other
echo 5 >&4
printf 'x\n5\n' >&5
exec 4>&- 5>&-
wait $child
wait $opening
[ ! -s waiting.stderr ] || fail "$(cat waiting.stderr)"
[ ! -s named.stderr ] || fail "$(cat named.stderr)"
