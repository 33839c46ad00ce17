# A folder of images, a folder for each class: trained on, printed, and what is said of what is wrong.
. tests/programs/lib/common.sh
mkdir -p unpacked photos/cat/more photos/dog photos/.git few/ant
tar -xf "$root"/examples/data/cifar10-sample.tar -C unpacked
i=0
for image in $(find unpacked -name '*.jpg' | LC_ALL=C sort | head -n 20); do
    case $((i++ % 3)) in 0) class=cat ;; 1) class=cat/more ;; *) class=dog ;; esac
    cp "$image" "photos/$class/"
done
echo hello >photos/README
echo hello >photos/dog/notes.txt
cat >p.flow <<'END'
pipeline photos(folder: path) -> (x: u8[32, 32, 3], y: i32 in 0..2) {
  return images(folder) |> map(x: decode_jpeg(image), y: label)
}

pipeline labels { return images("photos") |> map(label) |> csv(stdout) }
pipeline pixels { return photos("photos") |> map(sum: sum(cast(x, i32)), y) |> csv(stdout) }
pipeline shards { return tar("cifar.tar") |> map(image: decode_jpeg(jpg) |> : u8[32, 32, 3]) |> map(sum: sum(cast(image, i32))) |> csv(stdout) }
pipeline narrow { return photos("wide") |> map(y) |> print() }
pipeline as_png { return images("photos") |> map(x: decode_png(image) |> : u8[32, 32, 3]) |> print() }
pipeline no_classes { return images("unpacked") |> map(label) |> print() }

model net(x: f32[B, 3072]) -> f32[B, 2] { return dense(x, 2) }

train fit {
  data      = photos("photos") |> shuffle(seed = 1) |> batch(10)
  loss      = cross_entropy(net(flatten(cast(data.x, f32)) / 255), data.y)
  optimizer = sgd(0.01)
  epochs    = 2
}
END
# Components of paths in order: `cat/more` among the files of `cat`, labels as their folders.
"$FLOWC" run p.flow labels | tail -n +2 | sort -n | uniq -c | tr -s ' ' >counts
[ "$(cat counts)" = " 14 0
 6 1" ] || fail "labels: $(cat counts)"
find photos -name '*.jpg' -printf '%P\n' | tr / '\1' | LC_ALL=C sort | tr '\1' / | nl -nrz -w5 | while read -r number image; do cp "photos/$image" "$number.jpg"; done
tar -cf cifar.tar 000*.jpg
"$FLOWC" run p.flow pixels | cut -d, -f1 >here
"$FLOWC" run p.flow shards >there
same here there
"$FLOWC" run p.flow fit 2>fit.out || fail "$(cat fit.out)"
mkdir -p wide/a wide/b wide/c
cp 00001.jpg wide/c
expect 1 'wide/c/00001.jpg: `label` must lie in 0..2, but is 2 (p.flow:1)' "$FLOWC" run p.flow narrow

# A class without images keeps its label, and is named.
expect 1 'wide: 2 of 3 classes have no images (`a`, `b`); they still have a label' "$FLOWC" run p.flow narrow
[ "$(grep -c 'no images' stderr)" = 1 ] || fail "$(cat stderr)"
mkdir photos/eel && sed 's|^  epochs .*|  every 1 epoch { evaluate photos("photos") \|> batch(10) }|' p.flow >evaluated.flow
expect 0 'photos: 1 of 3 classes has no images (`eel`); it still has a label' "$FLOWC" run evaluated.flow fit
[ "$(grep -c 'no images' stderr)" = 1 ] || fail "it is said again of the same folder: $(cat stderr)"
rmdir photos/eel
if grep 'no images' fit.out; then fail "no class of it is empty"; fi

expect 1 "photos/cat/" "$FLOWC" run p.flow as_png
expect 1 "lies in no folder of a class, so it has no label" "$FLOWC" run p.flow no_classes
head -c 300 00001.jpg >photos/dog/cut.jpg
expect 1 "photos/dog/cut.jpg: " "$FLOWC" run p.flow fit
