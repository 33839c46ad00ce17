# Large products of f32: as close as f32 is, by thirds where the processor has matrix tiles; not with --exact.
. tests/programs/lib/common.sh
cat >thirds.flow <<'END'
option large = 1.0 "in a row of a, and in a column of b"

fn left(large: f32) -> f32[260, 301] {
  let i = iota(260 * 301)
  let some = cast(remainder(i * 977, 8191), f32) / 8191 - 0.5
  return reshape(select(i == 5 * 301 + 7, large, some), [260, 301])
}
fn right(large: f32) -> f32[301, 203] {
  let i = iota(301 * 203)
  let some = cast(remainder(i * 1009, 8191), f32) / 8191 - 0.5
  return reshape(select(i == 7 * 203 + 9, large, some), [301, 203])
}
pipeline results {
  return range(1)
      |> map(a: left(large), b: right(large))
      |> map(a, b, y: matmul(a, b))
      |> npy(a: "a.npy", b: "b.npy", y: "y.npy")
}
END
cat >compare.py <<'END'
import struct, sys

def read(name):
    data = open(name + ".npy", "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    return [v for (v,) in struct.iter_unpack("<f", data[10 + size :])]

a, b, y = read("a"), read("b"), read("y")
rows = (5,) if sys.argv[1:] else (0, 1, 5, 31, 32, 127, 259)
columns = (9,) if sys.argv[1:] else (0, 9, 31, 32, 100, 200, 202)
found = [(y[m * 203 + n], sum(a[m * 301 + k] * b[k * 203 + n] for k in range(301))) for m in rows for n in columns]
print(f"{found[0][0]:.4g}" if sys.argv[1:] else "close" if all(abs(f - w) < 1e-5 for f, w in found) else "far")
END
run() {
    "$FLOWC" run thirds.flow "$@"
}
run && [ "$(python3 compare.py)" = close ] || fail "products are not close"
mv y.npy fast.npy
run --exact && [ "$(python3 compare.py)" = close ] || fail "with --exact they are not close"
! grep -qw amx_bf16 /proc/cpuinfo || ! cmp -s fast.npy y.npy || fail "matrix tiles were not used"
run --exact --large=1e30 && [ "$(python3 compare.py large)" = inf ] || fail "with --exact 1e30 * 1e30 is $(python3 compare.py large)"
run --large=1e15 && [ "$(python3 compare.py large)" = 1e+30 ] || fail "1e15 * 1e15 is $(python3 compare.py large)"
run --explain >explained 2>&1
grep -q 'product.c, tiles of 32 x 32 by thirds (AMX), 12 x 32' explained || fail "no thirds: $(cat explained)"
run --explain --exact >explained 2>&1
! grep -q 'by thirds (AMX)' explained || fail "thirds with --exact: $(cat explained)"
# Those that are compiled with their sizes, of few rows and of weights' gradients.
"$FLOWC" run "$digits" --explain --epochs=0 >explained 2>&1 || fail "$(cat explained)"
[ "$(grep -c 'matmul.c, tiles of 32 x 32 by thirds (AMX)' explained)" = 2 ] || fail "no thirds in digits: $(cat explained)"
