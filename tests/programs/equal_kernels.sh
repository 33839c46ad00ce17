# Equal layers share their kernels, first values and optimizer states too: four times as many layers
# need no other.
. tests/programs/lib/common.sh
program() { # name, layers
    cat >"$1.flow" <<END
pipeline rows(file: path) -> (x: f32[48], y: f32[48]) { return idx(x: file, y: file) |> map(x, y) }
model net(x: f32[B, 48]) -> f32[B, 48] {
  repeat i in $2 { x = x + tanh(dense(x, 48)) }
  return x
}
train fit {
  data      = rows("rows.idx") |> batch(64)
  loss      = sum((net(data.x) - data.y) ^ 2)
  optimizer = adam(0.01)
}
END
    "$FLOWC" build "$1.flow" --emit=c -o "$1"
}
kernels() { cat "$1"/kernels_*.c "$1/program.c" | grep -c '^FLOW_KERNEL void\|^#define KERNEL'; }
program few 8
program many 32
[ "$(kernels many)" = "$(kernels few)" ] ||
    fail "8 layers: $(kernels few) kernels, 32: $(kernels many)"
grep -q '(.* calls) \*/' many/kernels_*.c || fail "no comment says how often a kernel is called"

# Neither do other sizes of what is large.
sizes() { # name, width
    cat >"$1.flow" <<END
pipeline rows(file: path) -> (x: f32[512]) { return idx(x: file) |> map(x) }
train fit {
  data      = rows("rows.idx") |> batch(512)
  loss      = sum(dense(dense(data.x, 512), $2) ^ 2)
  optimizer = adam(0.01)
}
END
    "$FLOWC" build "$1.flow" --emit=c -o "$1"
}
sizes same 512
sizes other 768
sizes few 128
for name in other few; do
    [ "$(kernels $name)" -le $(($(kernels same) + 2)) ] ||
        fail "same sizes: $(kernels same) kernels, $name: $(kernels $name)"
done

# First values within other bounds come of the same kernel, which is given these.
draws=$(cat other/kernels_*.c other/program.c | grep -c 'random_uniform(v')
[ "$draws" = 1 ] || fail "$draws kernels draw first values"
cat >zeros.flow <<'END'
model net(x: f32[B, 8]) -> f32[B, 8] {
  weight w: f32[8] = broadcast(-0.0, [8])
  return x * w
}
train fit {
  data      = range(8) |> map(x: broadcast(cast(index, f32), [8])) |> batch(8)
  loss      = sum(net(data.x) ^ 2)
  optimizer = sgd(0.1)
}
END
"$FLOWC" run zeros.flow 2>said >/dev/null || fail "$(cat said)"
if grep warning said; then fail "minus zero"; fi

# What a band of many kernels hands on is looked through once, however often it is read.
cat >deep.flow <<'END'
pipeline rows(file: path) -> (x: f32[14, 14, 8], y: f32[14, 14, 8]) { return idx(x: file, y: file) |> map(x, y) }
model net(x: f32[B, H, W, C]) -> f32[B, H, W, C] {
  let y = x
  repeat i in 24 { y = y + relu(conv2d(y, C, padding = "same")) }
  return stop_gradient(y) |> conv2d(C, padding = "same")
}
train fit {
  data      = rows("rows.idx") |> batch(256)
  loss      = sum((net(data.x) - data.y) ^ 2)
  optimizer = sgd(0.01)
}
END
timeout 60 "$FLOWC" build deep.flow --emit=c -o deep || fail "24 layers in bands took more than a minute"
