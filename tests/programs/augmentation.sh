# Augmentations and random crops: the same for any threads, others in each epoch, and what they promise.
. tests/programs/lib/common.sh
ln -s "$root/examples/data" examples-data
cat >p.flow <<'EOF'
fn picture(index: i64) -> f32[8, 6, 3] {
  return reshape(remainder(cast(index, f32) * 0.37 + cast(iota(144), f32) * 0.219, 1), [8, 6, 3])
}

fn changed(x: f32[8, 6, 3]) -> f32[8, 6, 3] {
  return x |> random_flip() |> random_flip(0) |> random_crop(2) |> cutout(3) |> random_turn(20) |> colour_jitter()
}

pipeline all {
  return range(40) |> map(x: changed(picture(index))) |> shuffle(seed = 3) |> csv(stdout)
}

pipeline crops {
  return tar("examples-data/cifar10-*.tar") |> take(60)
      |> map(a: random_resized_crop(decode(jpg), 9, 8), b: random_resized_crop(decode(jpg), 9, 8), c: decode_jpeg(jpg) |> random_resized_crop(5, 5, area = [0.5, 1], ratio = [1, 1], method = "bicubic"))
      |> shuffle(seed = 3) |> csv(stdout)
}

pipeline flips {
  return range(1000) |> map(f: sum(abs(random_flip(picture(index)) - picture(index))) > 0) |> csv(stdout)
}

# What is left of ones says what was cut and what came in.
pipeline parts {
  return range(400)
      |> map(cut: sum(cutout(broadcast(1, [8, 6, 1]), 3)), cropped: sum(random_crop(broadcast(1, [8, 6, 1]), 2)), place: random_place(5) |> : i32 in 0..5)
      |> csv(stdout)
}

pipeline classes {
  return range(50) |> map(y: one_hot(cast(remainder(index, 3), i32) |> : i32 in 0..3, 3), r: cast(index, f32) / 50)
}

# The colours of an image are its class, so what is mixed can be told.
model wrong(x: f32[B, 4, 4, 3], y: f32[B, 3]) -> f32[B] {
  weight w: f32 = zeros()
  return max(abs(mean(x, axis = [1, 2]) - y), axis = -1) + 0 * w
}

train mixed {
  data      = classes() |> batch(8)
  let x     = broadcast(reshape(data.y, [size(data.y, 0), 1, 1, 3]), [size(data.y, 0), 4, 4, 3])
  let m     = mixup(x, data.y, alpha = 1)
  let c     = cutmix(x, data.y)
  loss      = mean(wrong(m.x, m.y) + wrong(c.x, c.y))
  metric    = mean(max(m.y, axis = -1))
  optimizer = sgd(0)
  epochs    = 2
  every 1 epoch { evaluate classes() |> batch(10) }
}

model shown(x: f32[B, 8, 6, 3]) -> f32 {
  weight w: f32 = zeros()
  return mean(x) + 0 * w
}

pipeline few {
  return range(4) |> map(x: changed(picture(index)))
}

train seen {
  data      = few() |> batch(4)
  loss      = shown(data.x)
  optimizer = sgd(0)
  epochs    = 3
}
EOF
run() { "$FLOWC" run p.flow "$@"; }
for name in all crops; do
    run $name --threads=1 --workers=0 >expected
    for flags in --threads=2 --workers=1 --workers=3; do run $name $flags >out && same expected out; done
    run $name --seed=1 >out
    ! cmp -s expected out || fail "$name: another seed gives the same"
done
awk -F, 'NR > 1 { a = b = ""; for (i = 1; i <= 216; i++) { a = a $i " "; b = b $(216 + i) " " } same += a == b } END { exit same > 2 }' expected ||
    fail "two crops of an image are the same"

count=$(run flips | grep -c true)
[ $count -gt 430 ] && [ $count -lt 570 ] || fail "$count of 1000 are flipped"
run parts | awk -F, 'NR > 1 {
    if ($1 < 48 - 9 || $1 > 48 - 4) bad = 1
    if ($2 < 6 * 4 || $2 > 48) bad = 1
    cut[$1]; cropped[$2]; place[$3]
} END { for (i in cut) a++; for (i in cropped) b++; for (i in place) c++; exit bad || a < 3 || b < 6 || c != 5 }' || fail "what cutout and random_crop leave"

run mixed --progress=plain >out 2>&1
awk '/^epoch/ { n++; for (i = 1; i <= NF; i++) { split($i, p, "="); if (p[1] == "loss" && p[2] > 1e-5) bad = 1; if (p[1] != "loss" && p[1] != $i && p[2] > 0.99) bad = 1 } } END { exit bad || n != 2 }' out || fail "what is mixed: $(cat out)"
run seen --progress=plain >out 2>&1
[ "$(grep -o 'loss=[0-9.]*' out | sort -u | wc -l)" = 3 ] || fail "each epoch is another: $(cat out)"
