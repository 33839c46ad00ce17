# Images in files and archives.
. tests/programs/lib/common.sh

# Images: files and archives that hold the same pixels; jpeg about the same.
ln -s "$root/examples/data" examples-data
cat >images.flow <<'END'
option where = "closed"

pipeline pixels -> (image: u8[32, 32, 3], label: i32) {
  return tar("examples-data/cifar10-*.tar") |> map(image: decode_jpeg(jpg) |> : u8[32, 32, 3], label: integer(cls)) |> take(100)
}

pipeline shown { return pixels() |> map(image, label) |> csv("pixels.csv") }
pipeline files { return pixels() |> images("images/{label}/{index}.png") }
pipeline grey { return pixels() |> map(image: image[:, :, 0:1]) |> images("grey/{index}.jpeg") }
pipeline fails { return pixels() |> map(image) |> images("/dev/null/{index}.png") }
pipeline archive { return pixels() |> map(png: image, cls: label, x: cast(image[0, :3, 0], f32), half: cast(label, f32) / 2, odd: remainder(label, 2) == 1, raw: image[0, 0]) |> tar("pixels.tar") }
pipeline unpacked { return tar("pixels.tar") |> map(image: decode_png(png) |> : u8[32, 32, 3], label: integer(cls)) |> csv("again.csv") }
pipeline passed_on { return tar("pixels.tar") |> map(raw: raw |> : u8[3], cls: integer(cls) |> : i64, odd: integer(odd)) |> tar(stdout) }
pipeline lossy { return pixels() |> map(jpg: image) |> tar("lossy.tar", quality = 95) }
pipeline close {
  return tar("lossy.tar") |> map(image: decode_jpeg(jpg) |> : u8[32, 32, 3]) |> map(mean: mean(cast(image, f32))) |> csv("close.csv")
}
pipeline means { return pixels() |> map(mean: mean(cast(image, f32))) |> csv("means.csv") }
END
"$FLOWC" build images.flow -o images_program
for pipeline in shown files grey archive unpacked lossy close means; do ./images_program $pipeline; done
same pixels.csv again.csv
[ "$(find images -name '*.png' | wc -l) $(find grey -name '*.jpeg' | wc -l) $(find images grey -name '*.part' | wc -l)" = "100 100 0" ] || fail "100 images are expected"
label=$(sed -n 19p pixels.csv | sed 's/.*,//')
tar xf pixels.tar 000017.png 000017.cls && same 000017.png "images/$label/000017.png" && [ "$(cat 000017.cls)" = "$label" ] || fail "record 17"
tar tf pixels.tar >members
printf '000000.%s\n' png cls x.npy half odd raw | cmp -n 69 - members || fail "$(head members)"
./images_program passed_on | tar xO 000005.raw >raw && tar xf pixels.tar 000005.raw && same raw 000005.raw
paste -d, means.csv close.csv | awk -F, 'NR > 1 && ($1 - $2) ^ 2 > 4 { exit 1 }' || fail "jpeg changes an image by more than 2"
expect 3 "/dev/null/0000" ./images_program fails
mv pixels.tar first.tar && ./images_program archive && same first.tar pixels.tar

# Shards.
cat >shards.flow <<'END'
pipeline made { return range(25) |> map(i: index) |> tar("shard-{shard}.tar", records = 10) }
pipeline back { return tar("shard-*.tar") |> map(i: integer(i) |> : i64) |> csv(stdout) }
pipeline slow { return range(100000000) |> map(i: index) |> tar("slow-{shard}.tar", records = 1000000) }
END
"$FLOWC" build shards.flow -o shards && ./shards made
[ "$(echo shard-*)" = "shard-000000.tar shard-000001.tar shard-000002.tar" ] || fail "$(echo shard-*)"
{ echo i && seq 0 24; } >expected && ./shards back | same expected -
./shards slow 2>stderr & child=$!
until_true "ls slow-*.tar.part >/dev/null 2>&1"
stopped $child
grep -qx "shards: interrupted after [0-9]* records; they are in slow-[0-9]*.tar.part and the shards before it" stderr || fail "$(cat stderr)"
rm -f slow-*

# Only programs that write images are linked with what encodes them.
"$FLOWC" build images.flow --emit=c -o emitted
! grep -q "encode_png.c" emitted/libraries.mk || fail "$(cat emitted/libraries.mk)"
echo "pipeline p { return range(3) |> print() }" >p.flow && "$FLOWC" build p.flow --emit=c -o plain
grep -qx "LIBRARIES =" plain/libraries.mk && grep -q "^OMITTED = .*encode_png.c" plain/libraries.mk || fail "$(cat plain/libraries.mk)"
make_emitted emitted trainer runtime/encode/encode_{png,jpeg}.o >log 2>&1 || fail "$(tail -n 20 log)"
(cd emitted && ln -s ../examples-data . && ./trainer archive && same pixels.tar ../pixels.tar)
