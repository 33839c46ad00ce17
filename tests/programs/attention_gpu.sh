# Attention on a GPU is one kernel forwards and three backwards, in halves on tensor cores, and learns
# what it learns on the CPU; what wants the weights themselves has them stored.
. tests/programs/lib/common.sh
cat >attend.flow <<'END'
option length = 70
dim D = 20

pipeline ticks -> (x: f32[1]) { return range(2) |> map(x: random_normal([1])) }

model attend(x: f32[B, 1]) -> f32[1, 2, length, 12] {
  weight q: f32[1, 2, length, D] = normal(1)
  weight k: f32[1, 2, length + 5, D] = normal(1)
  weight v: f32[1, 2, length + 5, 12] = normal(1)
  return sdpa(q + 0.1 * mean(x), k, v, causal = true)
}

train fit {
  data      = ticks() |> batch(1)
  let y     = attend(data.x)
  loss      = mean(y * y) * 100
  optimizer = sgd(2)
  epochs    = 2
}
END
sed 's/D = 20/D = 64/; s/12\]/64]/; s/epochs    = 2/&\n  precision = bf16/' attend.flow >bf16.flow
sed 's/mean(y \* y) \* 100/& + mean(softmax(attend(data.x)))/; s/return sdpa.*/let p = softmax(matmul(q * mean(x), transpose(k)))\n  return matmul(p, v) * sum(p * p)/' attend.flow >stored.flow

gpu="--device=gpu --simulate=gpu:1"
losses() { sed -n 's/^epoch \([0-9]*\).*loss=\([-0-9.e]*\) .*/\1 \2/p' "$1"; }
learns_the_same() { # program, its option, kernels that compute weights on the way
    FLOWC_PROGRESS=plain "$FLOWC" run "$1.flow" --length="$2" >out 2>expected || fail "$(cat expected)"
    FLOWC_PROGRESS=plain "$FLOWC" run "$1.flow" --length="$2" $gpu >out 2>found || fail "$(cat found)"
    paste <(losses expected) <(losses found) | awk '
        { gap = $2 - $4; if (gap < 0) gap = -gap; if ($2 != first) differ++; first = $2 }
        gap > 2e-3 * $2 { print; exit 1 }
        END { if (differ < 2) exit 1 }' || fail "$1: $(losses expected) on the CPU, $(losses found)"
    "$FLOWC" build "$1.flow" $gpu --emit=cuda -o "$1.cu" || fail "$1 is not built"
    [ "$(grep -c '^#line 1 "cuda_attention.h"' "$1.cu")" = "$3" ] || fail "$1: not $3 such kernels"
}
learns_the_same attend 70 4
learns_the_same bf16 70 4
learns_the_same stored 9 0

# What is computed on the way ends no launch: operands made before and behind it are one.
sed 's/return sdpa.*/let p = softmax(matmul(q * mean(x), transpose(k)))\n  return matmul(p, v * mean(x))/' attend.flow >sides.flow
FLOWC_DEVICE=gpu "$FLOWC" check sides.flow --simulate=gpu:1 --explain >plan || fail "$(cat plan)"
[ "$(sed -n '/^fit.step/,$p' plan | grep -A 30 'kernels in one launch' | grep -c '^    kernel [03]:')" = 2 ] ||
    fail "two launches: $(cat plan)"
