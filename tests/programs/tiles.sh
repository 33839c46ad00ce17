# Convolutions by tiles: about as close as their sums, but where a value dwarfs what it has no weight for; not with --exact.
. tests/programs/lib/common.sh
cat >tiles.flow <<'END'
option large = 0.0 "beside the others, and without weight"

fn image(n: i64) -> f32[34, 30, 16] {
  let at = iota(34 * 30 * 16)
  let small = cast(remainder(at * 7 + cast(n, i32) * 3, 13), f32) / 13 - 0.4
  return reshape(select(remainder(at, 480) == 240, large, small), [34, 30, 16])
}
fn weights() -> f32[3, 3, 16, 16] {
  let at = iota(9 * 16 * 16)
  let some = cast(remainder(at * 5, 11), f32) / 11 - 0.5
  return reshape(select(remainder(at, 256) < 16 and at > 255, 0, some), [3, 3, 16, 16])
}
pipeline results {
  return range(3)
      |> map(x: image(index))
      |> map(x, y: reshape(convolve2d(expand(x, 0), weights()), [32, 28, 16]))
      |> npy(x: "x.npy", y: "y.npy")
}
END
cat >compare.py <<'END'
import struct, sys

def read(name):
    data = open(name + ".npy", "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    return [v for (v,) in struct.iter_unpack("<f", data[10 + size :])]

x, y = read("x"), read("y")
w = [0 if i % 256 < 16 and i > 255 else struct.unpack("<f", struct.pack("<f", i * 5 % 11 / 11 - 0.5))[0] for i in range(2304)]
worst = 0
for n, i, j, f in ((n, i, j, f) for n in range(3) for i in (0, 1, 30, 31) for j in range(28) for f in (0, 7, 15)):
    wanted = sum(x[((n * 34 + i + k) * 30 + j + l) * 16 + c] * w[((k * 3 + l) * 16 + c) * 16 + f] for k in range(3) for l in range(3) for c in range(16))
    worst = max(worst, abs(y[((n * 32 + i) * 28 + j) * 16 + f] - wanted) / max(abs(wanted), 1))
print("close" if worst < 1e-4 else "far")
END
computed() {
    "$FLOWC" run tiles.flow "$@"
    python3 compare.py
}
[ "$(computed)" = close ] || fail "by tiles, what is of one size is not close"
[ "$(computed --exact)" = close ] || fail "with --exact it is not close"
[ "$(computed --large=1e8)" = far ] || fail "these were not computed by tiles"
[ "$(computed --large=1e8 --exact)" = close ] || fail "--exact is by tiles"
