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
{ ./p lines 2>stderr || echo $? >code; } | head -n 1 >/dev/null
[ "$(cat code)" = 4 ] && [ ! -s stderr ] || fail "a reader that has gone: $(cat code stderr)"

# A killed run leaves no half file, a second writer gives up, a stopped run says where its records are.
echo old >slow.csv
./p slow & child=$!
until [ -s slow.csv.part ]; do sleep 0.1; done
expect 3 "slow.csv: is being written already" ./p slow
kill -KILL $child && ! wait $child 2>/dev/null
[ "$(cat slow.csv)" = old ] || fail "the old file is gone"
./p slow 2>stderr & child=$!
sleep 1 && kill -TERM $child
code=0 && wait $child || code=$?
said=$(cat stderr) records=$(($(wc -l <slow.csv.part) - 1))
[ $code = 4 ] && [ "${said##*p: }" = "interrupted after $records records; they are in slow.csv.part" ] || fail "$code, $records records: $said"
[ "$(cat slow.csv)" = old ] || fail "the old file is gone"

# A folder that nobody may write to, nor root.
[ ! -d /sys/kernel ] || expect 3 "/sys/kernel/x.csv: cannot be written: " ./p few --output=/sys/kernel/x.csv

# There and back: what csv wrote reads as the same values, which are written as the same text.
cat >types.flow <<'END'
fn sized(x: f32) -> f32 { return x * exp(x * 20 - 10) }
fn signed(x: f32) -> f32 { return sized(x) * select(x < 0.5, -1, 1) }

pipeline made {
  return range(400) |> map(x: sum(random_normal([1])), u: sum(random_uniform([1])), i: index)
      |> map(truth: x < 0, small: cast(u * 255, u8), signs: cast(u * 255 - 128, i8), whole: cast(x * 1e8, i32), long: i * i * i * 1234567890123 - 7,
             half: cast(signed(u), f16), brain: cast(signed(u), bf16), single: signed(x), double: cast(signed(x), f64) / 3)
      |> csv("made.csv")
}

pipeline again {
  return csv("made.csv")
      |> map(truth: truth |> : bool, small: small |> : u8, signs: signs |> : i8, whole: whole |> : i32, long: long |> : i64,
             half: half |> : f16, brain: brain |> : bf16, single: single |> : f32, double: double |> : f64)
      |> csv("again.csv")
}

pipeline tensors { return range(50) |> map(i: index, x: random_normal([2, 3])) |> csv("tensors.csv") }

pipeline tensors_again {
  return csv("tensors.csv")
      |> map(i: i |> : i64, x: [[column("x[0][0]"), column("x[0][1]"), column("x[0][2]")], [column("x[1][0]"), column("x[1][1]"), column("x[1][2]")]])
      |> csv("tensors2.csv")
}
END
"$FLOWC" build types.flow -o types
./types made && ./types again && same made.csv again.csv
./types tensors && ./types tensors_again && same tensors.csv tensors2.csv

# Text: cells in quotes where they need them, strings with escapes, lines and characters.
printf 'plain---a,b-----say "x"-\303\244\303\266\n\t\\\001x       ' | tr '-' '\0' >given.txt
cat >texts.flow <<'END'
pipeline table { return text("given.txt") |> window(8, 8) |> map(name: byte, n: sum(cast(byte, i32))) |> csv("texts.csv", text = [name]) }
pipeline back {
  return csv("texts.csv") |> map(which: category(name, ["x       ", "say \"x\"", "a,b", "plain", "äö\n\t\\\x01"]), n: n |> : i32) |> csv(stdout)
}
pipeline objects { return text("given.txt") |> window(8, 8) |> map(name: byte, x: [[1, 2], [0, 1 / cast(byte[0] - byte[0], f32)]]) |> jsonl(stdout, text = name) }
pipeline lines { return text("given.txt") |> window(8, 8) |> text("lines.txt") }
pipeline bytes { return text("given.txt") |> text(stdout) }
pipeline broken { return text("given.txt") |> window(1) |> skip(25) |> jsonl(stdout, text = byte) }
END
sed -i 's/\\x01/'$'\001''/' texts.flow
"$FLOWC" build texts.flow -o texts
./texts table && ./texts back >out
printf '%s\n' which,n 3,532 2,239 1,553 4,848 0,344 | same - out
cat >expected <<'END'
{"name":"plain","x":[[1,2],[0,null]]}
{"name":"a,b","x":[[1,2],[0,null]]}
{"name":"say \"x\"","x":[[1,2],[0,null]]}
{"name":"äö\n\u0009\\\u0001","x":[[1,2],[0,null]]}
{"name":"x       ","x":[[1,2],[0,null]]}
END
./texts objects >out && same expected out
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <out || fail "that is no JSON"
./texts lines && { tr '\0' '\n' <given.txt | sed 's/\x01/&\n/' | tr -s '\n' && echo; } >expected && same expected lines.txt
./texts bytes >out && same given.txt out
expect 1 'record 0: `byte` is no UTF-8 from byte 0 on, so it is no text in JSON' ./texts broken

# Tensors: numpy's files and safetensors hold the values that csv shows.
cat >tensors.flow <<'END'
pipeline shown { return range(100) |> map(i: index, x: sin(cast(reshape(iota(6), [2, 3]), f32) + cast(index, f32)), even: remainder(index, 2) == 0, h: cast(index, f16)) |> csv("shown.csv") }
pipeline arrays {
  return range(100) |> map(i: index, x: sin(cast(reshape(iota(6), [2, 3]), f32) + cast(index, f32)), even: remainder(index, 2) == 0, h: cast(index, f16))
      |> npy(i: "i.npy", x: "x.npy", even: "even.npy", h: "h.npy")
}
pipeline tensors {
  return range(100) |> map(i: index, x: sin(cast(reshape(iota(6), [2, 3]), f32) + cast(index, f32)), even: remainder(index, 2) == 0, h: cast(index, f16)) |> safetensors("all.safetensors")
}
pipeline one { return range(100) |> npy(stdout) }
pipeline slow { return range(100000000) |> map(i: index, x: random_normal([2, 3])) |> npy(i: "slow.npy", x: "slow_x.npy") }
pipeline slow_tensors { return range(100000000) |> map(i: index, x: random_normal([2, 3])) |> safetensors("slow.safetensors") }
END
cat >read.py <<'END'
import ast, csv, json, struct, sys

forms = {"|b1": "?", "<i8": "q", "<f2": "e", "<f4": "f", "BOOL": "?", "I64": "q", "F16": "e", "F32": "f"}

def read_array(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + size].decode())
    assert data[:8] == b"\x93NUMPY\1\0" and (10 + size) % 64 == 0 and not header["fortran_order"]
    return header["shape"], [v for (v,) in struct.iter_unpack("<" + forms[header["descr"]], data[10 + size :])]

def read_tensors(path):
    data = open(path, "rb").read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            at, end = entry["data_offsets"]
            yield name, (tuple(entry["shape"]), [v for (v,) in struct.iter_unpack("<" + forms[entry["dtype"]], data[begin + at : begin + end])])

names = ["i", "x", "even", "h"]
rows = list(csv.reader(open("shown.csv")))[1:]
shown = dict(zip(names, ([r[0] for r in rows], [v for r in rows for v in r[1:7]], [r[7] for r in rows], [r[8] for r in rows])))
single = lambda text: struct.unpack("f", struct.pack("f", float(text)))[0]
expected = {name: [v == "true" if name == "even" else single(v) for v in values] for name, values in shown.items()}
shapes = {"i": (100,), "x": (100, 2, 3), "even": (100,), "h": (100,)}
tensors = dict(read_tensors("all.safetensors"))
assert sorted(tensors) == sorted(names)
for name in names:
    assert read_array(name + ".npy") == (shapes[name], expected[name]), name
    assert tensors[name] == (shapes[name], expected[name]), name
assert read_array("one.npy") == ((100,), expected["i"])
records = int(sys.argv[1])
shape, values = read_array("slow.npy.part")
assert shape == (records,) and values == list(range(records)), (shape, records)
assert read_array("slow_x.npy.part")[0] == (records, 2, 3)
END
"$FLOWC" build tensors.flow -o tensors
./tensors shown && ./tensors arrays && ./tensors tensors && ./tensors one >one.npy
stopped() { # pipeline: what it says when it is told to end after a second
    ./tensors "$1" 2>stderr & child=$!
    sleep 1 && kill -TERM $child
    code=0 && wait $child || code=$?
    [ $code = 4 ] || fail "$1 ended with $code: $(cat stderr)"
}
stopped slow
records=$(sed -n 's/.*interrupted after \([0-9]*\) records; they are in slow.npy.part, slow_x.npy.part$/\1/p' stderr)
[ -n "$records" ] || fail "$(cat stderr)"
python3 read.py "$records" || fail "arrays differ"
stopped slow_tensors
grep -qx "tensors: interrupted after [0-9]* records" stderr && [ ! -e slow.safetensors.part ] || fail "$(cat stderr)"
mkfifo pipe.safetensors
sed -i 's/all.safetensors/pipe.safetensors/' tensors.flow
cat pipe.safetensors >/dev/null & child=$!
expect 3 "pipe.safetensors: is no regular file" "$FLOWC" run tensors.flow tensors
wait $child
