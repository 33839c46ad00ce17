# Where a feed comes from: a child process, a socket, a folder that is being filled; names of files.
. tests/programs/lib/common.sh
cat >origins.flow <<'END'
option script  = "./frames"
option count   = "3"
option address = "unix:socket"

pipeline frames {
  return binary(command([script, count, "one word"]), frame: u8[2, 2, 3]) |> map(sum: sum(cast(frame, i32))) |> csv(stdout)
}

pipeline first_frames {
  return binary(command(["./frames", "1000000000", ""]), frame: u8[2, 2, 3]) |> map(sum: sum(cast(frame, i32))) |> take(5) |> csv(stdout)
}

pipeline slow {
  return lines(command(["sh", "-c", "echo $$ >child; echo 1; sleep 1000 & wait"])) |> map(n: integer(line) |> : i32) |> csv(stdout)
}

pipeline rows {
  return csv(command(["sh", "-c", "echo a,b; echo 1,2; echo 3,4"])) |> map(a, b) |> csv(stdout)
}

pipeline wrong {
  return lines(command(["sh", "-c", "echo 1; echo x; sleep 1000"])) |> map(n: integer(line) |> : i32) |> csv(stdout)
}

pipeline connected {
  return lines(connect(address)) |> map(n: integer(line) |> : i32) |> csv(stdout)
}

pipeline listening {
  return jsonl(listen(address)) |> map(n: n |> : i32) |> csv(stdout)
}

pipeline filled {
  return watch("incoming/*.png", on_error = skip)
      |> map(name: path |> : u8[64], image: path |> read_file() |> decode_png() |> : u8[2, 2, 3])
      |> map(name, sum: sum(cast(image, i32)))
      |> csv(stdout, text = name)
}

pipeline named {
  return lines(stdin) |> map(image: line |> read_file() |> decode_png() |> : u8[2, 2, 3]) |> map(sum: sum(cast(image, i32))) |> csv(stdout)
}

pipeline lenient {
  return lines(stdin, on_error = skip) |> map(image: line |> read_file() |> decode_png() |> : u8[2, 2, 3]) |> map(sum: sum(cast(image, i32))) |> csv(stdout)
}

pipeline listed {
  return csv("list.csv") |> map(k, image: file |> read_file() |> decode_png() |> : u8[2, 2, 3]) |> map(k, sum: sum(cast(image, i32))) |> csv(stdout)
}

pipeline described {
  return jsonl("list.jsonl") |> map(k, n: file |> read_file() |> integer(), raw: file |> read_file() |> : u8[2]) |> csv(stdout)
}

pipeline pictures {
  return range(3) |> map(image: cast(index, u8) + cast(reshape(iota(12), [2, 2, 3]), u8)) |> images("pictures/{index}.png")
}
END
"$FLOWC" build origins.flow -o origins
cat >frames <<'END'
#!/bin/sh
[ "$#" = 2 ] || exit 9
if read -r line; then exit 8; fi
i=0
while [ $i -lt "$1" ]; do printf '\001\001\001\001\001\001\001\001\001\001\001\002' || exit; i=$((i + 1)); done
echo "made $i of $2" >&2
[ "$1" != 2 ]
END
chmod +x frames

# Raw frames of a child process. It gets the words as they are, and nothing to read; what it says on standard
# error is seen; an exit code is an error after the frames.
./origins frames >frames.csv 2>stderr
[ "$(tr '\n' ' ' <frames.csv)" = 'sum 13 13 13 ' ] || fail "$(cat frames.csv)"
grep -qx 'made 3 of one word' stderr || fail "$(cat stderr)"
expect 1 'command `./frames` has ended with exit code 1' ./origins frames --count=2
[ "$(wc -l <stdout)" = 3 ] || fail "$(cat stdout)"
[ "$(./origins frames --count=0 2>stderr)" = sum ] || fail "no frames"
expect 1 'command `./none at all` cannot be started: there is no such program' ./origins frames --script='./none at all'
./origins first_frames >first.csv 2>stderr
[ "$(wc -l <first.csv)" = 6 ] || fail "$(cat first.csv)"
[ "$(./origins rows | tail -1)" = 3,4 ] || fail "rows"

# It ends with the program: by a signal, by an error in what it says, when nobody reads.
gone() { until_true "! kill -0 $1 2>/dev/null"; }
./origins slow > >(cat >answers) 2>stderr & run=$!
until_true "grep -q '^1$' answers"
stopped $run
gone "$(cat child)"
gone "-- -$(cat child)"
expect 1 'command `sh`: line 2: `line` `x` is no whole number' ./origins wrong

# A socket: refused, read to its end, in pieces; one client after the other.
expect 3 'connect "unix:socket": No such file or directory' ./origins connected
expect 2 'connect "nowhere": an address is `unix:/path` or `host:port`' ./origins connected --address=nowhere
cat >serve.py <<'END'
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
client, _ = server.accept()
for part in (b"1", b"2\n3", b"\n4"):
    client.sendall(part)
END
python3 serve.py >port & server=$!
until_true '[ -s port ]'
./origins connected --address="127.0.0.1:$(cat port)" >answers
wait $server
[ "$(tr '\n' ' ' <answers)" = 'n 12 3 4 ' ] || fail "$(cat answers)"
expect 3 'Connection refused' ./origins connected --address="127.0.0.1:$(cat port)"
cat >say.py <<'END'
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect("socket")
client.sendall(sys.argv[1].encode())
END
./origins listening > >(cat >answers) 2>stderr & run=$!
until_true '[ -S socket ]'
until_true "python3 say.py '{\"n\": 1}' 2>/dev/null"
until_true "grep -q '^1$' answers"
python3 say.py '{"n": 2}
{"n": 3}'
until_true "grep -q '^3$' answers"
expect 3 'listen "unix:socket": Address already in use' ./origins listening
stopped $run
[ ! -e socket ] || fail "the socket is left"

# A folder being filled: what is there, sorted, then what comes; each once, and when it is whole.
expect 1 'incoming/: no such folder' ./origins filled
./origins pictures
mkdir incoming
cp pictures/000001.png incoming/b.png
cp pictures/000000.png incoming/a.png
./origins filled > >(cat >answers) 2>stderr & run=$!
until_true "grep -q b.png answers"
exec 8>incoming/slow.png
head -c 20 pictures/000002.png >&8
cp pictures/000002.png incoming/c.other
mv incoming/c.other incoming/c.png
until_true "grep -q c.png answers"
tail -c +21 pictures/000002.png >&8
exec 8>&-
until_true "grep -q slow.png answers"
echo 'no image' >incoming/d.png
cp pictures/000000.png incoming/e.png
until_true "grep -q e.png answers"
rm -r incoming
code=0; wait $run || code=$?
[ $code = 1 ] || fail "exit $code"
grep -q 'incoming/\*.png: the folder has gone' stderr || fail "$(cat stderr)"
grep -q '1 record rejected; the first: incoming/\*.png: `path` names incoming/d.png, which' stderr || fail "$(cat stderr)"
printf '%s\n' name,sum incoming/a.png,66 incoming/b.png,78 incoming/c.png,90 incoming/slow.png,90 incoming/e.png,66 >expected
same answers expected

# Names of files: on standard input, in a table, in JSON.
ls pictures/*.png | ./origins named >sums
[ "$(tr '\n' ' ' <sums)" = 'sum 66 78 90 ' ] || fail "$(cat sums)"
printf '%s\n' pictures/000001.png nothing.png >names
expect 1 'standard input: line 2: `line` names nothing.png, which cannot be read: No such file or directory' ./origins named <names
printf '%s\n' '' pictures . /dev/zero origins pictures/000001.png >names
./origins lenient <names >sums 2>stderr
[ "$(tr '\n' ' ' <sums)" = 'sum 78 ' ] || fail "$(cat sums)"
grep -q '5 records rejected; the first: standard input: line 1: `line` is empty, where it should name a file' stderr || fail "$(cat stderr)"
printf '%s\n' k,file '1,"pictures/000002.png"' 2,pictures/000000.png >list.csv
[ "$(./origins listed | tr '\n' ' ')" = 'k,sum 1,90 2,66 ' ] || fail "$(./origins listed)"
printf 42 >answer.txt
printf '%s\n' '{"k": 1, "file": "answer.txt"}' >list.jsonl
[ "$(./origins described | tail -1)" = 1,42,52,50 ] || fail "$(./origins described)"
echo '{"k": 1, "file": "none.txt"}' >list.jsonl
expect 1 'list.jsonl: line 1, column 18: `file` names none.txt, which cannot be read' ./origins described
exit 0
