# npy and safetensors, whole and stopped.
. tests/programs/lib/common.sh

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
begun() { # pipeline, file: the pipeline has begun to write the file
    ./tensors "$1" 2>stderr & child=$!
    until_true "[ -s $2 ]"
}
begun slow slow_x.npy.part
stopped $child
records=$(sed -n 's/.*interrupted after \([0-9]*\) records; they are in slow.npy.part, slow_x.npy.part$/\1/p' stderr)
[ -n "$records" ] || fail "$(cat stderr)"
python3 read.py "$records" || fail "arrays differ"
begun slow_tensors slow.safetensors.part
stopped $child
grep -qx "tensors: interrupted after [0-9]* records" stderr && [ ! -e slow.safetensors.part ] || fail "$(cat stderr)"
mkfifo pipe.safetensors
sed -i 's/all.safetensors/pipe.safetensors/' tensors.flow
cat pipe.safetensors >/dev/null & child=$!
expect 3 "pipe.safetensors: is no regular file" "$FLOWC" run tensors.flow tensors
wait $child
