# A loss that is NaN or infinite stops the run, and what is said names where that began.
. tests/programs/lib/common.sh
{ echo a,b; for i in 1 2 3 4 5 6 7 8; do echo "$i,$i"; done; } >numbers.csv
program() { # the model's result, the loss, the optimizer, if wanted what becomes of column a
    cat >bad.flow <<EOF
pipeline numbers -> (x: f32, b: f32) { return csv("numbers.csv") |> map(x: column("a")${4-}, b: column("b")) }
model net(x: f32[B]) -> f32[B, 6] {
  let first = dense(expand(x, 1), 6)
  return $1
}
train fit {
  data = numbers() |> batch(4)
  let y = net(data.x)
  loss = $2
  optimizer = $3
  epochs = 30
}
EOF
}

# In a model, after other operations, before others.
program 'log(first * 0 - 1) * 2 + 1' 'mean(y * y)' 'sgd(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at log, bad.flow:4' "$FLOWC" run bad.flow

# In a batch that is not full: rows of what is read are as long as it is.
{ echo a; printf '%s\n' 1 2 3 4 5 -1; } >six.csv
cat >part.flow <<'EOF'
pipeline numbers -> (x: f32) { return csv("six.csv") |> map(x: column("a")) }
model net(x: f32[6, B]) -> f32[6, 6] {
  let s = log(x) * 2 + 1
  return matmul(s, transpose(s))
}
train fit {
  data = numbers() |> batch(4)
  let first = dense(expand(data.x, 1), 6)
  let shift = expand(cast(iota(6), f32), 1)
  let y = net(expand(data.x, 0) + 8 - 8 * minimum(shift, 1) + 0 * transpose(first))
  loss = mean(y * y)
  optimizer = sgd(0.00001)
  epochs = 3
}
EOF
expect 1 'loss is nan at step 2 (epoch 1): first at log, part.flow:3' "$FLOWC" run part.flow

# In a loss.
program 'first' 'sum(y * 0) / sum(data.b * 0)' 'sgd(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at divide, bad.flow:9' "$FLOWC" run bad.flow

# Infinities that are meant are no cause.
program 'softmax(select(first < 1e9, first, -1 / 0.0)) + sqrt(0 * first - 1)' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at sqrt, bad.flow:4' "$FLOWC" run bad.flow

# Of an infinity that is none.
program 'exp(first * 0 + 100)' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is infinite at step 1 (epoch 1): first at exp, bad.flow:4' "$FLOWC" run bad.flow

# In the data.
program 'first' 'mean(y * y)' 'sgd(0.1)' ' |> subtract(2.5) |> negate() |> sqrt()'
expect 1 'loss is nan at step 1 (epoch 1): first in `numbers.x` of record 3 of the batch' "$FLOWC" run bad.flow

# A rate that is far too high: the weights are what grew.
program 'dense(tanh(first), 6) + first * first * first' 'mean(y * y)' 'sgd(1e30)'
expect 1 'loss is infinite at step 2 (epoch 1): first at multiply, bad.flow:4' "$FLOWC" run bad.flow

# What is computed but not chosen is no cause.
program 'select(first < 1e9, first * 0, log(first * 0 - 1)) + sqrt(first * 0 - 1)' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at sqrt, bad.flow:4' "$FLOWC" run bad.flow

# Of infinities that came before, in other kernels too. (Of quotients: of exp, whose last operation
# multiplies, the difference may be rounded once, and is an infinity then.)
program 'matmul(transpose(first), 1 / (first * 0) - 2 / (first * 0))[0:1] + first' 'mean(y)' 'sgd(0.1)'
expect 1 'first at subtract, bad.flow:4; of an infinity that began at divide, bad.flow:4' "$FLOWC" run bad.flow
program 'softmax(matmul(first, transpose(exp(first * 0 + 100))))[:, 0:1] + first' 'mean(y)' 'sgd(0.1)'
expect 1 'of an infinity that began at exp, bad.flow:4' "$FLOWC" run bad.flow

# Sums, products, rows, movement.
program 'first' 'sum(y * 0 + 3e38)' 'sgd(0.1)'
expect 1 'loss is infinite at step 1 (epoch 1): first at sum, bad.flow:9' "$FLOWC" run bad.flow
program 'matmul(first * 0 + 1e30, transpose(first * 0 + 1e30))[:, 0:1] + first' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is infinite at step 1 (epoch 1): first at matmul, bad.flow:4' "$FLOWC" run bad.flow
program 'cumsum(first * 0 + 3e38)' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is infinite at step 1 (epoch 1): first at cumsum, bad.flow:4' "$FLOWC" run bad.flow
program 'concat([first, 0 * first / (first * 0)])[:, 3:9]' 'mean(y)' 'sgd(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at divide, bad.flow:4' "$FLOWC" run bad.flow

# In a loop, in the turn that makes it.
program 'first' 'mean(y)' 'sgd(0.1)'
sed -i 's/  return first$/  let h = first\n  scan t in 50 {\n    let g = tanh(h)\n    h = g +\n      log(h * 0 + 20 - cast(t, f32)) * g\n  }\n  return h/' bad.flow
expect 1 'first at multiply, bad.flow:8; of an infinity that began at log, bad.flow:8' "$FLOWC" run bad.flow

# In the library: where the program called it, and where it stands there.
program 'log_softmax(exp(first * 0 + 100))' 'mean(y)' 'sgd(0.1)'
expect 1 'first at subtract, bad.flow:4 (activations.flow:' "$FLOWC" run bad.flow

# Steps are updates, also where one takes several batches.
program 'dense(tanh(first), 6) + first * first * first' 'mean(y * y)' 'sgd(1e30); accumulate = 2'
expect 1 'loss is infinite at step 2 (epoch 2): first at ' "$FLOWC" run bad.flow

# Any number of threads says the same.
for threads in 1 3; do "$FLOWC" run bad.flow --threads=$threads 2>said.$threads || true; done
same said.1 said.3

# In a gradient, the loss of which is finite.
program 'sqrt(first * 0)' 'mean(y * y)' 'sgd(0.1)'
expect 1 'the update of `net/dense.1/w` is nan at step 1 (epoch 1): first at divide in the gradient of sqrt, bad.flow:4' "$FLOWC" run bad.flow
program 'sqrt(first * 0) + dense(tanh(first), 6)' 'mean(y * y)' 'adam(0.1)'
expect 1 'first at multiply in the gradient of multiply, bad.flow:4; of an infinity that began at divide in the gradient of sqrt, bad.flow:4' "$FLOWC" run bad.flow
for threads in 1 3; do "$FLOWC" run bad.flow --threads=$threads 2>said.$threads || true; done
same said.1 said.3

# Where the model has states, whose updates come first.
program 'batch_norm(sqrt(first * 0))' 'mean(y * y)' 'adamw(0.1)'
expect 1 'nan at step 1 (epoch 1): first at ' "$FLOWC" run bad.flow
expect 1 'in the gradient of sqrt, bad.flow:4' "$FLOWC" run bad.flow
program 'batch_norm(log(first * 0 - 1))' 'mean(y * y)' 'adamw(0.1)'
expect 1 'loss is nan at step 1 (epoch 1): first at log, bad.flow:4' "$FLOWC" run bad.flow

# In the gradient of a loop, and of one batch of several.
program 'first' 'mean(y * y)' 'sgd(0.1); accumulate = 2'
sed -i 's/  return first$/  let h = first * 0\n  scan t in 3 {\n    h = tanh(h) +\n      sqrt(h * 0)\n  }\n  return h/' bad.flow
expect 1 'the update of `accumulated/net/dense.1/w` is nan at step 1 (epoch 1): first at ' "$FLOWC" run bad.flow
expect 1 'in the gradient of sqrt, bad.flow:7' "$FLOWC" run bad.flow

# In an optimizer, after steps that were good.
program 'first' 'mean(abs(y)) * 1e20' 'adam(0.1)'
expect 1 'the update of `optimizer/net/dense.1/w/v` is infinite at step ' "$FLOWC" run bad.flow
expect 1 '): first at multiply, bad.flow:10 (optimizers.flow:' "$FLOWC" run bad.flow
program 'first' 'mean(y * y)' 'sgd(1e30 * 1e30)'
expect 1 'the update of `net/dense.1/w` is infinite at step 1 (epoch 1): first at update, bad.flow:10' "$FLOWC" run bad.flow

# Nothing that is not finite is saved, and what was saved before stays.
program 'first' 'mean(y * y)' 'sgd(select(step < 5, 0.01, 1e38)); steps = 50; every 1 step { save "good.safetensors" }'
expect 1 'is not finite at step 6 (epoch 3): at update, bad.flow:10; not so when the step was repeated' "$FLOWC" run bad.flow
expect 1 'is not finite at step 6' "$FLOWC" run bad.flow --resume

# A number that was none before may stay so.
program 'first' 'mean(y * y)' 'sgd(0.01)'
sed -i 's/  return first$/  state lowest: f32 = 1 \/ 0.0\n  lowest = minimum(lowest, 0 * sum(x) + 1 \/ 0.0)\n  return first/' bad.flow
"$FLOWC" run bad.flow
exit 0
