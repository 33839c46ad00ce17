# npy and npz as a user meets them: numpy's arrays, in files and archives, trained on and printed.
. tests/programs/lib/common.sh
python3 - "$root" <<'END'
import struct, sys, zipfile


def array(descr, shape, values, order=False):
    header = str({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + values


x = [(i * 7 % 11) / 11 for i in range(400)]
files = {
    "x.npy": array("<f4", (100, 4), struct.pack("<400f", *x)),
    "doubles.npy": array("<f8", (100, 4), struct.pack("<400d", *x)),
    "columns.npy": array("<f4", (100, 4), struct.pack("<400f", *x), True),
    "y.npy": array(">i8", (100,), struct.pack(">100q", *[i % 3 for i in range(100)])),
    "large.npy": array("<i8", (3,), struct.pack("<3q", 1, 1 << 40, 2)),
}
for name, content in files.items():
    open(name, "wb").write(content)
with zipfile.ZipFile("both.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("x.npy", files["x.npy"])
    archive.writestr("class y.npy", files["y.npy"])
END
cat >p.flow <<'END'
pipeline arrays(x: path, y: path) -> (x: f32[4], y: i32 in 0..3) {
  return npy(x: x, y: y)
}

pipeline plain { return arrays("x.npy", "y.npy") |> take(2) |> print() }
pipeline pairs { return npy(x: "x.npy") |> map(x: x |> : f32[4]) |> window(2) |> skip(98) |> print() }
pipeline narrowed { return arrays("doubles.npy", "y.npy") |> print() }
pipeline cast_down {
  return npy(x: "doubles.npy", y: "y.npy") |> map(x: x |> : f64[4] |> cast(f32), y: y |> : i64) |> take(1) |> print()
}
pipeline by_columns { return arrays("columns.npy", "y.npy") |> print() }
pipeline too_large { return npy(y: "large.npy") |> map(y: y |> : i32) |> print() }
pipeline archive {
  return npz("both.npz") |> map(x: x |> : f32[4], y: column("class y") |> : i32) |> skip(99) |> print()
}
pipeline unknown { return npz("both.npz") |> map(x: xs |> : f32[4]) |> print() }

model net(x: f32[B, 4]) -> f32[B, 3] { return dense(x, 3) }

train fit {
  data      = npz("both.npz") |> map(x: x |> : f32[4], y: column("class y") |> : i32 in 0..3) |> shuffle(seed = 1) |> batch(10)
  loss      = cross_entropy(net(data.x), data.y)
  optimizer = sgd(0.1)
}
END
says() { # pipeline, what it prints
    "$FLOWC" run p.flow "$1" >"$1.out" 2>&1
    [ "$(cat "$1.out")" = "$2" ] || fail "$1: $(cat "$1.out")"
}
refuses() { # pipeline, what it says
    "$FLOWC" run p.flow "$1" >"$1.out" 2>&1 && fail "$1 was run"
    grep -qF "$2" "$1.out" || fail "$1: $(cat "$1.out")"
}
says plain "x=[0, 0.6363636, 0.27272728, 0.90909094] y=0
x=[0.54545456, 0.18181819, 0.8181818, 0.45454547] y=1"
says pairs "x=[[0.45454547, 0.09090909, 0.72727275, 0.36363637], [0, 0.6363636, 0.27272728, 0.90909094]]"
says cast_down "x=[0, 0.6363636, 0.27272728, 0.90909094] y=0"
says archive "x=[0, 0.6363636, 0.27272728, 0.90909094] y=0"
refuses narrowed "doubles.npy: records are f64[4], the program expects f32[4]; \`x |> : f64[4] |> cast(f32)\` makes them so"
refuses by_columns "columns.npy: is stored by columns (fortran_order)"
refuses too_large "large.npy: record 1: 1099511627776 is no i32"
refuses unknown "both.npz: has no array \`xs\`"
"$FLOWC" run p.flow fit >fit.out 2>&1 || fail "$(cat fit.out)"
