# Rows of large values are asked for before they are read or stored, and columns of them as well; of
# small ones, which the caches hold, nothing is. What is computed is the same.
. tests/programs/lib/common.sh
program() { # name, records of a batch
    cat >"$1.flow" <<EOF
pipeline numbers -> (x: f32[512]) { return range(2048) |> map(x: random_normal([512])) }
model net(x: f32[B, 512]) -> f32[B, 512] { return x + (layer_norm(x) |> dense(512) |> layer_norm()) }
train fit {
  data = numbers() |> batch($2)
  let y = net(data.x)
  loss = mean(y * y)
  optimizer = sgd(0.1)
}
EOF
    "$FLOWC" build "$1.flow" --emit=c -o "$1" || fail "$1 is not built"
}
count() { cat "$1"/*.c | grep -c "$2"; }

program large 1024
program small 64
[ "$(count large 'flow_ask_row(b')" -ge 4 ] || fail "rows: $(count large 'flow_ask_row(b')"
[ "$(count large 'prefetch(b.* (r + 8)')" -ge 2 ] || fail "columns: $(count large 'prefetch(b.* (r + 8)')"
[ "$(count small 'flow_ask_row(b')" = 0 ] && [ "$(count small 'prefetch(b.* (r + 8)')" = 0 ] || fail "what is small is asked for"

for threads in 1 2 7; do "$FLOWC" run large.flow --threads=$threads --progress=plain 2>"$threads" || fail "$(cat "$threads")"; done
loss() { grep -o 'loss=[0-9.]*' "$1" | tail -n 1; }
[ -n "$(loss 1)" ] && [ "$(loss 1)" = "$(loss 2)" ] && [ "$(loss 1)" = "$(loss 7)" ] || fail "$(loss 1), $(loss 2), $(loss 7)"
