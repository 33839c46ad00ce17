# Sinks: what they write and how they end. A file has its name only when it is whole.
. tests/programs/lib/common.sh
cat >p.flow <<'END'
option output = "out.csv"
pipeline few { return range(1000) |> map(i: index, half: cast(index, f32) / 2) |> csv(output) }
pipeline lines { return range(1000000) |> csv(stdout) }
pipeline slow { return range(100000000) |> csv("slow.csv") }
END
"$FLOWC" build p.flow -o p

./p few && [ "$(wc -l <out.csv)" = 1001 ] || fail "out.csv"
[ ! -e out.csv.part ] || fail "the part is left"
mkdir there && ln -s there/real.csv link.csv && echo old >there/real.csv
./p few --output=link.csv && same out.csv there/real.csv
./p few --output=/dev/stdout >out && same out.csv out
expect 3 "nowhere/x.csv: cannot be written: No such file or directory" ./p few --output=nowhere/x.csv
expect 3 "there: cannot be written: Is a directory" ./p few --output=there
expect 3 "/dev/full: cannot be written: No space left on device" ./p few --output=/dev/full
mkfifo pipe && { cat pipe >piped & } && ./p few --output=pipe && wait $! && same out.csv piped

# Standard output that is full, closed, or whose reader has gone.
code=0 && ./p lines >/dev/full 2>stderr || code=$?
[ $code = 3 ] && grep -qF "standard output: cannot be written: No space left on device" stderr || fail "a full disk: $code $(cat stderr)"
code=0 && ./p lines >&- 2>stderr || code=$?
[ $code = 3 ] && grep -qF "standard output: cannot be written: Bad file descriptor" stderr || fail "no output: $code $(cat stderr)"
{ ./p lines 2>stderr || echo $? >code; } | head -n 1 >/dev/null
[ "$(cat code)" = 4 ] && [ ! -s stderr ] || fail "a reader that has gone: $(cat code stderr)"

# A killed run leaves no half file, a second writer gives up, a stopped run says where its records are.
echo old >slow.csv
./p slow & child=$!
until_true "[ -s slow.csv.part ]"
expect 3 "slow.csv: is being written already" ./p slow
kill -KILL $child && ! wait $child 2>/dev/null
[ "$(cat slow.csv)" = old ] || fail "the old file is gone"
rm slow.csv.part
./p slow 2>stderr & child=$!
until_true "[ -s slow.csv.part ]"
stopped $child
said=$(cat stderr) records=$(($(wc -l <slow.csv.part) - 1))
[ "${said##*p: }" = "interrupted after $records records; they are in slow.csv.part" ] || fail "$records records: $said"
[ "$(cat slow.csv)" = old ] || fail "the old file is gone"

# A folder that nobody may write to, nor root.
[ ! -d /sys/kernel ] || expect 3 "/sys/kernel/x.csv: cannot be written: " ./p few --output=/sys/kernel/x.csv
