# The loops of products are little but multiply-adds, also where columns end within a tile.
. tests/programs/lib/common.sh
if ! ${CC:-gcc} --version | grep -q "Free Software" || [ "$(uname -m)" != x86_64 ]; then
    echo "it counts what gcc writes for x86-64" && exit 77
fi

cat >widths.flow <<'END'
model widths(x: f32[B, 400]) -> f32[B, 10] {
  return x |> dense(120) |> relu() |> dense(84) |> relu() |> dense(33) |> relu() |> dense(10)
}
pipeline rows() -> (x: f32[400], y: i32 in 0..10) {
  return range(64) |> map(x: broadcast(cast(index, f32), [400]), y: cast(remainder(index, 10), i32))
}
train learn {
  data      = rows() |> batch(64)
  loss      = cross_entropy(widths(data.x), data.y)
  optimizer = sgd(0.1)
  epochs    = 1
}
END
"$FLOWC" build widths.flow --emit=c -o widths
units=$(cd widths && ls kernels_*.c)
make_emitted widths ${units//.c/.o} ARCH=-march=x86-64-v4

# Of each loop without a branch and with a tile's multiply-adds: how many, and how many instructions.
objdump -d --no-show-raw-insn widths/kernels_*.o | awk '
    / <.*>:$/ { name = $2; delete at; next }
    /^ *[0-9a-f]+:\t/ {
        lines++
        at[substr($1, 1, length($1) - 1)] = lines
        adds[lines] = adds[lines - 1] + ($2 ~ /^vfmadd.*ps$/ && $0 ~ /%zmm/)
        if ($2 !~ /^j/) next
        first = ($3 in at) ? at[$3] : lines
        if (first > jump && adds[lines] - adds[first - 1] >= 24)
            print adds[lines] - adds[first - 1], lines - first + 1, name
        jump = lines
    }' >loops
[ "$(wc -l <loops)" -ge 8 ] || fail "there are few loops: $(cat loops)"
awk '$2 > 1.5 * $1 + 16 { print $2 " instructions for " $1 " multiply-adds: " $3 }' loops >long
[ ! -s long ] || fail "$(cat long)"
