# Gradients of the library's functions are finite where values are far from 0, and where all are 0: a step
# along them leaves a finite loss.
. tests/programs/lib/common.sh
far=(relu leaky_relu elu selu gelu gelu_tanh sigmoid log_sigmoid silu softplus softsign mish hard_sigmoid
    hard_silu hard_tanh tanh softmax log_softmax logsumexp norm deviation 'binary_cross_entropy yes' 'focal yes')
zeros=(softmax logsumexp norm deviation rms_norm layer_norm 'cosine_loss yes' 'cosine_loss none' 'mae none'
    'huber none' 'log_cosh none' 'hinge yes')
terms() { # initialiser, calls: a function, the name of its second argument if it has one
    local start=$1 call name other
    shift
    for call; do
        read -r name other <<<"$call"
        echo "  weight ${start}_$name${other:+_$other}: f32[8] = $start()"
        echo "  y = y + sum($name(${start}_$name${other:+_$other}${other:+, $other}))"
    done
}
cat >extremes.flow <<EOF
fn far() -> f32[8] {
  let i = cast(iota(8), f32) - 3.5
  return select(abs(i) > 2, 4000, select(abs(i) > 1, 70, 1)) * i
}
pipeline numbers() -> (i: i64) { return range(4) |> map(i: index) }
model net(none: f32[8]) -> f32 {
  let yes = cast(remainder(iota(8), 2), f32)
  let y = 0.0
$(terms far "${far[@]}")
$(terms zeros "${zeros[@]}")
  return y
}
train fit {
  data      = numbers() |> batch(2)
  loss      = net(cast(iota(8), f32) * cast(0 * sum(data.i), f32))
  optimizer = sgd(1e-3)
}
EOF
"$FLOWC" run extremes.flow >out 2>errors || fail "$(cat errors)"
