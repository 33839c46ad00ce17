# `flowc explain --machine=FILE` says of a program with `replicas` what that machine's GPUs would do: shares of a
# batch, and values that they join by the link between them.
. tests/programs/lib/common.sh
unset FLOWC_DEVICE
real=$root/examples/machines/h200.profile
cat >net.flow <<'END'
pipeline drawn -> (x: f32[784], y: i32 in 0..10) {
  return range(60000) |> map(x: random_normal([784]), y: argmax(random_normal([10])))
}

train fit {
  data      = drawn() |> batch(1000)
  loss      = cross_entropy(data.x |> dense(4096) |> relu() |> dense(10), data.y)
  optimizer = sgd(0.1)
  replicas  = gpus(all)
}
END
# A machine with so many GPUs, of which each is linked with the others or not.
machine() {
    sed '/^device gpu/,$d' "$real"
    for gpu in $(seq 0 $(($1 - 1))); do sed -n '/^device gpu/,$p' "$real" | sed "s/gpu(0)/gpu($gpu)/; s/^link = /$2&/"; done
}
explained() { # GPUs, a line more: what is said is in the file out
    machine "$1" "${2:-}" >m.profile
    "$FLOWC" explain --machine=m.profile net.flow >out 2>stderr || fail "$(cat stderr)"
}
taken() { grep -A 1 "$1" out | sed -n 's/.* on cpu, \([0-9.]* [mu]s\) .*on gpus; the program says so/\1/p' | sed 's/ ms/e-3/; s/ us/e-6/' | head -n 1; }
less() { awk "BEGIN { exit !($1 * $3 < $2) }" || fail "$1 is not less than $2: $(cat out)"; }

explained 1
! grep -q gpus: out && ! grep -q 'replicas: [2-9]' out || fail "$(cat out)"
explained 2
grep -q 'replicas: 2, of 500 of 1000 records each, all-reduce of .* a step by NCCL where it is there, else by copies between GPUs' out || fail "$(cat out)"
grep -q "on 2 GPUs, each with its share, as gpu(0) is; they join values by way of the CPU's memory, as no .peer. is known, at 27.5 GB/s" out || fail "$(cat out)"
product=$(taken 'contraction \[B, 784, 4096\]') joined=$(taken 'rows \[784, 4096\]: .* whole_sum')
explained 8
grep -q 'replicas: 8, of 125 of 1000' out || fail "$(cat out)"
less "$(taken 'contraction \[B, 784, 4096\]')" "$product" 2
explained 2 'peer = 450 GB\/s guess\n'
grep -q 'they join values from GPU to GPU, at 450 GB/s' out || fail "$(cat out)"
less "$(taken 'rows \[784, 4096\]: .* whole_sum')" "$joined" 5
[ "$(taken 'contraction \[B, 784, 4096\]')" = "$product" ] || fail "$(cat out)"
sed 's/gpus(all)/gpus(9)/' net.flow >nine.flow
expect 1 'gpu(8) is not on that machine' "$FLOWC" explain --machine=m.profile nine.flow
grep -q 'nine.flow:9:' stderr && grep -q 'note: m.profile has 2 GPUs' stderr || fail "$(cat stderr)"
expect 1 'none.profile: No such file' "$FLOWC" explain --machine=none.profile net.flow
