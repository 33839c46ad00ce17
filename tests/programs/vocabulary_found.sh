# What the pass that finds texts looks at: each record that training takes counts once, whatever is asked of it
# before, however often it is read, and whether or not its images are decoded.
. tests/programs/lib/common.sh

# texts FILE: what the vocabulary `rows.kind` has there, a text a line.
texts() { grep -ao '"vocabulary.rows.kind":"[^"]*"' "$1" | cut -d'"' -f4 | sed 's/\\u000a/\n/g'; }

# found "a b": these are the texts that training on program.flow finds.
found() {
    rm -f t.safetensors
    for threads in 1 3; do
        "$FLOWC" run program.flow t --threads=$threads >/dev/null 2>stderr || fail "$(cat stderr)"
        [ "$(texts t.safetensors | xargs)" = "$1" ] || fail "$1: not $(texts t.safetensors | xargs)"
    done
}

# learns PIPELINE: writes program.flow, which trains on it: `k`, a category of 3 with one for the rest.
learns() {
    cat >program.flow <<F
pipeline rows() -> (k: i32${2:-} in 0..3, x: f32${2:-}) {
  return $1
}
train t {
  data      = rows() |> batch(4)
  loss      = mean((dense(one_hot(data.k, 3), 1) - 1) ^ 2) + mean(data.x)
  optimizer = sgd(0.1)
  epochs    = 20
  every 20 epochs { save "t.safetensors" }
}
F
}

# rows.csv: 4 a, 3 b, 2 c pass the filter, 5 c are left out.
{ echo kind,x,use
    for kind in a a a a b b b c c; do echo $kind,1,1; done
    for kind in c c c c c; do echo $kind,1,0; done; } >rows.csv
learns 'csv("rows.csv") |> filter(use == 1) |> map(k: category(kind, 3, unknown = 0), x)'
found "a b"

# c is in the middle alone, so three windows have it; b at both ends, which one window each has.
{ echo kind,x; for kind in b a a a c a a a b; do echo $kind,1; done; } >rows.csv
learns 'csv("rows.csv") |> map(k: category(kind, 3, unknown = 0), x) |> window(3)' '[3]'
found "a b"

# Passes count once, too.
{ echo kind,x; for kind in c b b a a a; do echo $kind,1; done; } >rows.csv
learns 'concat([csv("rows.csv") |> map(k: category(kind, 3, unknown = 0, vocabulary = "rows.kind"), x) |> take(1) |> repeat(9),
          csv("rows.csv") |> skip(1) |> map(k: category(kind, 3, unknown = 0, vocabulary = "rows.kind"), x)])'
found "a b"

# Records that are rejected have a text each that is not counted, once or thrice.
{ echo kind,x; for kind in a b b a b; do echo $kind,1; echo c,bad; done; } >rows.csv
learns 'csv("rows.csv", on_error = skip) |> map(k: category(kind, 3, unknown = 0), x)'
found "a b"

# Where they are not, the first one ends the run.
{ echo kind,x; for i in $(seq 2000); do [ $((i % 100)) = 77 ] && echo a,bad || echo a,1; done; } >rows.csv
learns 'csv("rows.csv") |> map(k: category(kind, 3), x) |> window(3)' '[3]'
for try in 1 2 3 4 5; do
    expect 1 'rows.csv: line 78: `x` is `bad`' "$FLOWC" run program.flow t --threads=3
done

# The longer side of a zip is dealt anew in each epoch: all of it is trained on.
{ echo kind,x; for i in 1 2 3 4 5 6 7; do echo a,1; done; echo b,1; } >rows.csv
learns 'zip(csv("rows.csv") |> map(k: category(kind, 3)) |> shuffle(seed = 1), range(2) |> map(x: cast(index, f32)))'
found "a b"

# Images are decoded for who asks for them.
cat >make.flow <<'F'
pipeline make {
  return range(12) |> map(image: cast(broadcast(reshape((remainder(index, 3) + 1) * 60, [1, 1, 1]), [8, 8, 3]), u8)) |> images("{index}.png")
}
F
"$FLOWC" run make.flow make
{ echo kind,image; for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo "$((i % 3)),0000$((i / 10))$((i % 10)).png"; done; } >rows.csv
learns 'csv("rows.csv") |> map(k: category(kind, 3), picture: read_file(image) |> decode_png() |> : u8[8, 8, 3])
      |> filter(mean(cast(picture, f32)) > 90) |> map(k, x: mean(cast(picture, f32)))'
found "0 1 2"
learns 'csv("rows.csv") |> map(k: category(kind, 3), picture: read_file(image) |> decode_png() |> : u8[8, 8, 3])
      |> map(k, mark: cast(picture, i32) |> : i32[8, 8, 3] in 1..181) |> map(k, x: mean(cast(mark, f32)))'
found "0 1 2"

# Texts that weights would have no room for are refused before the first step.
LC_ALL=C awk 'BEGIN { print "kind,x"; for (i = 0; i < 1000; i++) bytes = bytes "\200"
    for (i = 10000; i < 28000; i++) print i bytes ",1" }' >rows.csv
learns 'csv("rows.csv") |> map(k: category(kind, 20000), x)'
sed -i 's/0\.\.3/0..20000/; s/one_hot(data.k, 3)/expand(cast(data.k, f32), 1)/' program.flow
expect 1 'the texts of all vocabularies take 90.2 MB in a file of weights, which has room for 88.1 MB' "$FLOWC" run program.flow t

# A file of weights that is asked for has to be there, whatever the data is.
echo nothing >rows.csv
expect 1 'missing.safetensors' "$FLOWC" run program.flow t --resume=missing.safetensors
