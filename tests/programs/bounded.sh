# A bounded dimension: one library computes for every size what libraries of that size do.
. tests/programs/lib/common.sh
cat >sized.flow <<'END'
dim T <= 24
dim E = 6

fn attention(x: f32[T, E]) -> f32[T, E] {
  let scores = matmul(x, transpose(x)) / sqrt(E)
  return matmul(softmax(scores), x)
}

export f(x: f32[T, E]) -> (y: f32[T, E], halves: f32[T/2], columns: f32[E], places: f32[T], mean: f32) {
  let h = attention(x)
  let halves = sum(reshape(h, [T/2, 2 * E]), axis = 1)
  let columns = sum(x * h, axis = 0)
  let far = matmul(transpose(x), attention(attention(h)))
  return (y: matmul(h, far), halves: halves, columns: columns,
          places: cast(iota(T), f32) / T + max(h, axis = 1), mean: mean(x))
}
END
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include NAME
int main(int argc, char **argv) {
    char message[512];
    long t = argc > 1 ? atol(argv[1]) : 0;
    float x[144], y[144], halves[12], columns[6], places[24], mean;
    Sized *sized = sized_create("none.safetensors", message, sizeof message);
    if (!sized) return puts(message), 1;
    for (int i = 0; i < 144; i++) x[i] = (float)(i * 37 % 19) / 19 - 0.4f;
    int code = sized_f(sized, SIZE x, y, halves, columns, places, &mean);
    if (code) return printf("code %d\n", code), 0;
    for (long i = 0; i < t * 6; i++) printf("%.5f\n", y[i]);
    for (long i = 0; i < t / 2; i++) printf("%.5f\n", halves[i]);
    for (long i = 0; i < 6; i++) printf("%.5f\n", columns[i]);
    for (long i = 0; i < t; i++) printf("%.5f\n", places[i]);
    printf("%.5f\n", mean);
    sized_destroy(sized);
}
END
printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
build() { # folder, what stands for the size
    "$FLOWC" export sized.flow -o "$1"
    "${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -DNAME="\"$1/sized.h\"" "-DSIZE=$2" -o "$1.run" main.c "$1/libsized.a" -lz -lm -lpthread
}
build all t,
grep -q 'from 1 to 24' all/sized.h
cp sized.flow bounded.flow
for size in 2 4 14 24; do
    sed "s/^dim T .*/dim T = $size/" bounded.flow >sized.flow
    build fixed ""
    ./all.run $size >all.out
    ./fixed.run $size >fixed.out
    same all.out fixed.out
done
for size in 0 25 -3 7; do [ "$(./all.run $size)" = "code 2" ] || fail "size $size"; done

# In a trainer the size is a flag; batches and measures follow it.
small_data
cat >train.flow <<'END'
dim T <= 8

pipeline digits(images: path, labels: path) -> (x: f32[T, 784], odd: f32[T/2], y: i32 in 0..10) {
  return idx(image: images, label: labels)
      |> map(x: broadcast(image |> : u8[28, 28] |> cast(f32) |> reshape([1, 784]), [T, 784]) / 255,
             odd: broadcast(1, [T/2]), y: label)
}

train fit {
  data = digits("data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte.gz") |> batch(64)
  let count = size(data.y)
  let rows = reshape(data.x, [count * T, 784]) |> dense(10)
  let logits = sum(reshape(rows, [count, T, 10]), axis = 1) / T
  loss = cross_entropy(logits, data.y)
  metric = [sum(data.odd) / count, mean(data.x)]
  optimizer = adam(0.01)
  every 1 epoch {
    evaluate digits("data/t10k-images-idx3-ubyte.gz", "data/t10k-labels-idx1-ubyte.gz") |> batch(64)
  }
}
END
"$FLOWC" run train.flow --threads=2 >eight
"$FLOWC" run train.flow --threads=2 --T=2 >two
grep -q 'metric=4.0000' eight || fail "$(cat eight)"
grep -q 'metric=1.0000' two || fail "$(cat two)"
same <(sed 's/.*\(mean=[0-9.]*\).*/\1/' eight) <(sed 's/.*\(mean=[0-9.]*\).*/\1/' two)
expect 2 "from 1 to 8" "$FLOWC" run train.flow --T=9
expect 2 "T/2 does not come out whole" "$FLOWC" run train.flow --T=3
"$FLOWC" run train.flow --help | grep -q -- '--T=N *a size from 1 to 8'

# Windows as long as the run wants them.
cat >windows.flow <<'END'
dim T <= 16
pipeline next { return range(40) |> window(T + 1, T) |> take(2) |> map(x: index[:-1], y: index[1:]) |> print() }
pipeline sums { return range(40) |> window(T - 1) |> take(2) |> map(sum: sum(index)) |> print() }
END
"$FLOWC" run windows.flow next --T=3 >next.out
same next.out <(printf 'x=[0, 1, 2] y=[1, 2, 3]\nx=[3, 4, 5] y=[4, 5, 6]\n')
"$FLOWC" run windows.flow sums --T=4 >sums.out
same sums.out <(printf 'sum=3\nsum=6\n')
expect 2 "a window has 0 records" "$FLOWC" run windows.flow sums --T=1

# As a number, in what makes a record and in what leaves it out, on the CPU and on a GPU.
cat >numbers.flow <<'END'
dim T <= 16
pipeline demo {
  return range(6)
      |> map(at: index, x: cast(index, f32) * T + sum(cast(iota([T]), f32)), half: (T + 1) * 2 - index)
      |> filter(at < T - 1)
      |> map(at, x: x + T, half) @gpu(0)
      |> csv(stdout)
}
END
for size in 1 3 16; do
    sed "s/^dim T .*/dim T = $size/" numbers.flow >fixed.flow
    for flags in --soft-placement --simulate=gpu:1; do
        "$FLOWC" run $flags numbers.flow --T=$size >numbers.out 2>stderr || [ $size = 1 ] || fail "$(cat stderr)"
        "$FLOWC" run $flags fixed.flow >fixed.out 2>stderr || [ $size = 1 ] || fail "$(cat stderr)"
        same numbers.out fixed.out
    done
done
[ "$(sed -n 3p numbers.out)" = 1,152,33 ] || fail "$(cat numbers.out)"

# Where products that were compiled ahead are told sizes.
cat >products.flow <<'END'
dim T <= 512
model net(x: f32[B, T, 64]) -> f32[B, T, 64] { return x |> dense(64) |> relu() |> dense(64) }
train fit {
  data      = range(16) |> map(x: broadcast(cast(index, f32) / 16, [T, 64]) * cos(cast(iota([T, 64]), f32))) |> batch(8)
  loss      = mean((matmul(net(data.x), transpose(data.x)) - 1) ^ 2)
  optimizer = sgd(0.01)
  epochs    = 2
}
END
"$FLOWC" build products.flow --emit=c -o products
grep -q 'product.rows = sizes\[0\]' products/kernels_*.c || fail "no size is told"
losses() { FLOWC_PROGRESS=plain "$FLOWC" run "$@" 2>&1 | grep -o 'loss=[0-9]*\.[0-9]\{3\}'; }
for size in 70 300 512; do
    sed "s/^dim T .*/dim T = $size/" products.flow >fixed.flow
    losses products.flow --T=$size >products.out
    losses fixed.flow >fixed.out
    [ "$(wc -l <fixed.out)" = 2 ] || fail "no losses"
    same products.out fixed.out
done
