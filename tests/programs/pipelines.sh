# Pipelines that run by themselves: sources, stages and sinks, on the data of the examples.
. tests/programs/lib/common.sh
ln -s "$root/examples/data" examples-data
cat >p.flow <<'EOF'
fn pixels(image: u8[28, 28]) -> f32[784] {
  return image |> cast(f32) |> scale(1 / 255) |> flatten()
}

pipeline digits(first: int) -> (x: f32[784], y: i32 in 0..10) {
  return idx(image: "examples-data/t10k-images-idx3-ubyte.gz", label: "examples-data/t10k-labels-idx1-ubyte.gz")
      |> skip(first) |> map(x: pixels(image), y: label)
}

model classifier(x: f32[B, 784]) -> f32[B, 10] {
  return x |> dense(10)
}

train fit {
  data      = digits(5000) |> shuffle(seed = 1) |> batch(50)
  loss      = cross_entropy(classifier(data.x), data.y)
  optimizer = adam(5e-3)
  every 1 epoch { save "p.safetensors" }
}

pipeline score {
  let classifier = load(classifier, "p.safetensors")
  return digits(0) |> take(1000) |> batch(64) |> map(y, guess: argmax(classifier(x), axis = -1)) |> unbatch() |> csv("scores.csv")
}

pipeline numbers {
  return range(4) |> map(i: index, half: cast(index, f32) / 2, pair: [cast(index, f32), 1], even: index == 2) |> print()
}

pipeline training {
  return csv("examples-data/housing.csv.gz") |> shuffle(seed = 5) |> take(16000) |> shuffle(seed = 6) |> map(longitude, rooms: total_rooms, value: median_house_value) |> csv(stdout)
}

pipeline validation {
  return csv("examples-data/housing.csv.gz") |> shuffle(seed = 5) |> skip(16000) |> map(longitude, rooms: total_rooms, value: median_house_value) |> csv(stdout)
}

pipeline near {
  return csv("examples-data/housing.csv.gz")
      |> map(place: category(ocean_proximity, ["ISLAND", "NEAR BAY", "INLAND", "<1H OCEAN", "NEAR OCEAN"]), bedrooms: missing(total_bedrooms, -1))
      |> filter(place == 0 or bedrooms < 0) |> csv(stdout)
}

pipeline sexes {
  return csv("examples-data/titanic.csv") |> map(sex: category(Sex, ["male"])) |> print()
}

pipeline ages {
  return csv("examples-data/titanic.csv") |> map(age: Age) |> print()
}

pipeline words {
  return text("examples-data/tinyshakespeare.txt.gz") |> window(5, stride = 3) |> take(2) |> print()
}

pipeline waves {
  return range(9) |> map(v: index * index) |> window(3, stride = 2) |> map(v, r: random_uniform([2])) |> window(2) |> print()
}

pipeline images {
  return tar("examples-data/cifar10-*.tar") |> map(image: decode_jpeg(jpg) |> : u8[32, 32, 3], label: integer(cls)) |> shuffle(seed = 2)
      |> map(mean: mean(cast(image, f32)), label, dice: random_normal([2])) |> csv(stdout)
}

pipeline tiny {
  return tar("examples-data/cifar10-*.tar") |> map(image: resize(decode_jpeg(jpg), 1, 1)) |> take(1) |> print()
}

pipeline wrong {
  return tar("examples-data/cifar10-*.tar") |> map(image: decode_jpeg(jpg) |> : u8[32, 30, 3]) |> print()
}

pipeline large {
  return range(8) |> map(a: random_normal([1024, 1024])) |> map(sum: sum(matmul(a, a))) |> print()
}

pipeline endless {
  return range(1000000000000) |> csv(stdout)
}
EOF
run() { "$FLOWC" run p.flow "$@"; }

run numbers >out
printf '%s\n' 'i=0 half=0 pair=[0, 1] even=false' 'i=1 half=0.5 pair=[1, 1] even=false' \
    'i=2 half=1 pair=[2, 1] even=true' 'i=3 half=1.5 pair=[3, 1] even=false' >expected
same expected out

# A split by take and skip after one shuffle has every record once.
run training >training && run validation >validation
[ "$(wc -l <training) $(wc -l <validation)" = "16001 4641" ] || fail "the split has other sizes"
gzip -dc examples-data/housing.csv.gz | tail -n +2 | cut -d, -f4 | sed 's/\.0$//' | sort >expected
tail -qn +2 training validation | cut -d, -f2 | sort >out
same expected out

[ "$(run near | wc -l)" = $((1 + 5 + 207)) ] || fail "5 islands and 207 rows without bedrooms are expected"
expect 1 'titanic.csv: line 3: `Sex` is `female`, none of its 1 categories' "$FLOWC" run p.flow sexes
expect 1 'titanic.csv: line 7: `Age` is missing' "$FLOWC" run p.flow ages
printf '%s\n' 'byte=[70, 105, 114, 115, 116]' 'byte=[115, 116, 32, 67, 105]' >expected
run words >out && same expected out
run waves | sed 's/ r=.*//' >out
printf '%s\n' 'v=[[0, 1, 4], [4, 9, 16]]' 'v=[[4, 9, 16], [16, 25, 36]]' 'v=[[16, 25, 36], [36, 49, 64]]' >expected
same expected out

[ "$(run large --threads=2 | wc -l)" = 8 ] || fail "records need more memory than a stack has"

# The same bytes for any number of threads and workers, random numbers included.
run images --threads=1 --workers=0 >expected
[ "$(wc -l <expected)" = 301 ] || fail "300 images are expected"
for flags in --threads=2 --workers=1 --workers=3; do run images $flags >out && same expected out; done
run images --seed=1 >out
! cmp -s expected out || fail "another seed gives the same random numbers"
run tiny | grep -qxE 'image=\[\[\[[0-9]+, [0-9]+, [0-9]+\]\]\]' || fail "an image of one pixel"
mkdir 'odd [folder]*' && sed -n '/^pipeline tiny/,/^}/p' p.flow >'odd [folder]*/tiny.flow'
ln -s "$root/examples/data" 'odd [folder]*/examples-data'
(cd .. && "$FLOWC" run "$folder/odd [folder]*/tiny.flow") >again
run tiny | cmp - again || fail "data beside a program in an odd folder"
expect 1 "cifar10-sample.tar: 000000.jpg: is u8[32, 32, 3], the program expects u8[32, 30, 3]" "$FLOWC" run p.flow wrong

# A model in the middle, with weights from a file.
expect 1 "p.safetensors" "$FLOWC" run p.flow score
run fit --progress=off >/dev/null 2>&1
run score
right=$(awk -F, 'NR > 1 && $1 == $2' scores.csv | wc -l)
[ "$(wc -l <scores.csv)" = 1001 ] && [ "$right" -gt 800 ] || fail "$right of 1000 are right"

# Of a batch more results may be written than a record has fields.
many=$(for i in $(seq 0 39); do printf 'p%d: x[:, %d], ' "$i" "$i"; done)
sed "/^train fit/,\$d" p.flow >wide.flow
cat >>wide.flow <<EOF
pipeline wide { return digits(0) |> take(3) |> batch(3) |> map(${many%, }) |> unbatch() |> csv(stdout) }
EOF
"$FLOWC" run wide.flow >out
[ "$(awk -F, '{ print NF }' out | sort -u)" = 40 ] || fail "40 columns are expected: $(head -c 500 out)"

# How it ends.
{ run endless 2>/dev/null || echo $? >code; } | head -n 1 >/dev/null
[ "$(cat code)" = 4 ] || fail "a closed pipe ends with another code"
"$FLOWC" build p.flow -o program
./program endless >endless.csv 2>stderr & child=$!
until_true "[ -s endless.csv ]"
stopped $child
rm endless.csv
grep -q "interrupted after" stderr || fail "a signal: $(cat stderr)"
expect 2 "there is no train block or pipeline" ./program nothing

# An evaluation is named for the pipeline that is written there, not for one within it.
cat >named.flow <<EOF
pipeline rows -> (x: f32) { return range(8) |> map(x: cast(index, f32)) }
pipeline validation -> (x: f32) { return rows() |> skip(2) }
model net(x: f32[B]) -> f32[B, 1] { return dense(expand(x, 1), 1) }
train fit {
  data = rows() |> batch(4)
  loss = mean(net(data.x) ^ 2)
  optimizer = sgd(0.001)
  every 1 epoch {
    evaluate validation() |> batch(2)
    evaluate rows() |> batch(2)
  }
}
EOF
"$FLOWC" run named.flow 2>stderr | cut -d: -f1 >said || fail "$(cat stderr)"
printf 'evaluate %s\n' validation rows | same - said
