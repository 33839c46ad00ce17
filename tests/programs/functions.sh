# Functions and quotients: as close as ops.def says, and with --exact as close as f32 can be.
. tests/programs/lib/common.sh
cat >functions.flow <<'END'
fn each(x: f32[9]) -> f32[10, 9] {
  return stack([exp(x), log(x), tanh(x), erf(x), expm1(x), log1p(x), sin(x), cos(x), x ^ 1.7, rsqrt(x)])
}
fn sums(x: f32[9]) -> f32[9] {  # by a loop, whose body is a graph of its own
  let total = x * 0
  scan t in 9 { total = total + x / gather(x, t) }
  return total
}
pipeline numbers { return range(2000) |> map(x: abs(random_normal([9])) * 3 + 1e-3) }
pipeline functions { return numbers() |> map(x, y: each(x), d: x / (1 + x[0]), s: sums(x)) |> npy(x: "x.npy", y: "y.npy", d: "d.npy", s: "s.npy") }

# The reciprocal of a large number would count as 0, that of a half has too few digits.
pipeline given { return csv("given.csv") |> map(x: x |> : f32) }
pipeline quotients {
  return given() |> map(q: x * cast(iota(3) - 1, f32) * 0.5 / x, known: x * cast(iota(2), f32) / 3e38,
                        h: cast(iota(3) * 7000 + 3, f16) / cast(minimum(x, 60000), f16)) |> csv(stdout)
}
END
printf 'x\n3\n1e38\n-2e38\n3e38\n' >given.csv
cat >compare.py <<'END'
import math, struct, sys

def read(name):
    data = open(name + ".npy", "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    return [v for (v,) in struct.iter_unpack("<f", data[10 + size :])]

def rounded(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]

def ulps(y, wanted):
    return abs(y - wanted) / 2.0 ** (max(math.frexp(wanted)[1], -125) - 24)

names = ["exp", "log", "tanh", "erf", "expm1", "log1p", "sin", "cos"]
functions = [getattr(math, name) for name in names] + [lambda x: x ** rounded(1.7), lambda x: 1 / math.sqrt(x)]
bound = float(sys.argv[1])
x, y, d, s = (read(name) for name in "xyds")
worst = 0
for row in range(0, len(x), 9):
    for i in range(9):
        a = x[row + i]
        pairs = [(y[row * 10 + f * 9 + i], function(a)) for f, function in enumerate(functions)]
        pairs.append((d[row + i], a / rounded(1 + x[row])))
        for y_found, wanted in pairs:
            error = ulps(y_found, wanted)
            assert error <= bound, (a, y_found, wanted, error)
            worst = max(worst, error)
        total = 0
        for t in range(9):
            total = rounded(total + rounded(a / x[row + t]))
        if bound < 1: assert total == s[row + i], (a, total, s[row + i])
if bound > 1: assert worst > 0.6, worst  # these were not computed with --exact
END
"$FLOWC" run functions.flow functions
python3 compare.py 1.6 || fail "not within 1.6 units"
"$FLOWC" run functions.flow functions --exact
python3 compare.py 0.5000001 || fail "--exact is not exact"
"$FLOWC" build functions.flow functions --exact --emit=c -o exact
grep -q FLOW_EXACT exact/program.c || fail "what is built does not say that it is exact"

cat >expected <<'END'
q[0],q[1],q[2],known[0],known[1],h[0],h[1],h[2]
-0.5,0,0.5,0,0,1,2334,4668
-0.5,0,0.5,0,0.33333334,5e-5,0.11676,0.2333
-0.5,0,0.5,-0,-0.6666667,-0,-0,-0
-0.5,0,0.5,0,1,5e-5,0.11676,0.2333
END
"$FLOWC" run functions.flow quotients >quotients
diff expected quotients || fail "quotients"
