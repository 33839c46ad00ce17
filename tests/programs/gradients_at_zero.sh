# Where a function has a corner or is made of two branches, its gradient at 0 is PyTorch's.
. tests/programs/lib/common.sh
cases=("sum(abs(W)) 0" "sum(relu(W)) 0" "sum(leaky_relu(W)) 0.01" "sum(elu(W)) 1" "sum(selu(W)) 1.7581"
    "sum(softplus(W)) 0.5" "sum(log_sigmoid(W)) 0.5" "binary_cross_entropy(W, 0*x+1) -0.5" "mae(W, 0*x) 0"
    "sum(mish(W)) 0.6" "sum(sigmoid(W)) 0.25" "focal(W, 0*x) 0.2237" "sum(silu(W)) 0.5" "sum(gelu(W)) 0.5"
    "norm(W) 0")
weights= terms= names=
for i in "${!cases[@]}"; do
    weights+="  weight w$i: f32[1] = zeros()"$'\n'
    call=${cases[i]% *}
    terms+=" + ${call//W/w$i}" names+=", sum(w$i)"
done
results=$(for i in "${!cases[@]}"; do printf ', a%d' "$i"; done)
cat >zero.flow <<EOF
pipeline one() -> (x: f32[1]) { return range(1) |> map(x: [cast(index, f32)]) }
model net(rows: f32[B, 1]) -> ($(printf 'f32'; printf ', f32%.0s' "${cases[@]}")) {
$weights  let x = rows[0]
  return (sum(x)$terms$names)
}
train fit {
  data = one() |> batch(1)
  let (l$results) = net(data.x)
  loss = l
  metric = [${results#, }]
  optimizer = sgd(1)
  every 1 epoch { evaluate one() |> batch(1) }
}
EOF
"$FLOWC" run zero.flow >out
tr ' ' '\n' <out | sed -n 's/^metric=//p' >found
for i in "${!cases[@]}"; do
    awk -v n="$((i + 1))" -v wanted="${cases[i]##* }" 'NR == n { d = $1 + wanted; good = d * d < 1e-7 } END { exit !good }' found ||
        fail "${cases[i]}: the gradient is minus $(sed -n "$((i + 1))p" found)"
done
