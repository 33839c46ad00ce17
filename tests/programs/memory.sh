# What is held is what `--memory` says, of every kind of source; a limit keeps it so, or says what is too much.
. tests/programs/lib/memory.sh
small_data

cat >kinds.flow <<'END'
pipeline unpacked {
  return idx(image: "data/train-images-idx3-ubyte.gz") |> map(image: image |> : u8[28, 28])
      |> batch(500) |> unbatch() |> npy(image: "image.npy")
}
pipeline table { return csv("table.csv") |> map(a, b) |> csv(stdout) }
pipeline packed_table { return csv("table.csv.gz") |> map(a, b) |> csv(stdout) }
pipeline chosen { return csv("table.csv") |> map(a, b) |> filter(a > 10) |> csv(stdout) }
pipeline letters { return text("letters.zst") |> window(64, stride = 64) |> map(byte) |> npy(byte: "byte.npy") }
pipeline queued {
  return range(200000) |> map(x: [index, index + 1, index + 2]) @threads(3) @queue(20)
      |> batch(4096) |> unbatch() |> csv(stdout)
}
pipeline stream { return lines(stdin) |> map(n: integer(line) |> : i32) |> csv(stdout) }
pipeline seen {
  return range(2000) |> map(x: index, y: 2 * index) |> tee(npy(x: "x.npy", y: "y.npy"))
      |> tee(csv("seen.csv")) |> jsonl(stdout)
}
pipeline drawn { return range(20) |> map(x: picture(index)) |> images("drawn-{index}.png") }
pipeline records { return jsonl("table.jsonl") |> map(a: a |> : i32) |> csv(stdout) }
pipeline named { return lines("names") |> map(n: line |> read_file() |> integer()) |> csv(stdout) }
pipeline table_stream { return csv(stdin) |> map(n) |> csv(stdout) }
pipeline object_stream { return jsonl(stdin) |> map(n: n |> : i32) |> csv(stdout) }
pipeline rows { return lines("table.jsonl") |> map(x: bytes(line)) |> pack(1000) |> take(1) |> npy(x: "rows.npy") }
pipeline mixed { return mix([range(1000000), range(1000000)], weights = [1, 1], seed = 1) |> take(1) |> csv(stdout) }
fn picture(i: i64) -> u8[480, 640, 1] {
  let slope = reshape(iota(480), [480, 1, 1]) + reshape(iota(640), [1, 640, 1])
  return cast(remainder(slope + cast(i, i32), 256), u8)
}
pipeline pictures { return range(100) |> map(jpg: picture(index)) |> tar("photos.tar") }
pipeline photos {
  return tar("photos.tar") |> map(image: decode_jpeg(jpg) |> resize(96, 96) |> : u8[96, 96, 3])
      |> batch(64) |> unbatch() |> npy(image: "photos.npy")
}
END
awk 'BEGIN { print "a,b"; for (i = 0; i < 300000; i++) print i "," i * 7 }' >table.csv
gzip -k table.csv
awk 'BEGIN { for (i = 0; i < 200000; i++) print "{\"a\": " i "}" }' >table.jsonl
byte() { printf "\\$(printf %03o $(($1 & 255)))"; }
{ # a frame of one block as it is, 60,000 bytes; files may have several
    printf '\x28\xb5\x2f\xfd\x60' && byte $((60000 - 256)) && byte $(((60000 - 256) >> 8))
    b=$(((60000 << 3) | 1)) && byte $b && byte $((b >> 8)) && byte $((b >> 16)) && head -c 60000 table.csv
} >frame
for i in $(seq 150); do cat frame; done >letters.zst

"$FLOWC" build kinds.flow --target=native -o kinds >/dev/null
for kind in unpacked table packed_table chosen letters queued seen drawn records rows pictures photos; do
    bounded $kind ./kinds $kind --threads=2
done
for workers in 0 3; do bounded "unpacked, $workers workers" ./kinds unpacked --workers=$workers; done
seq 1000000 >numbers
bounded stream ./kinds stream <numbers
[ "$(wc -l <bounded.out)" = 1000001 ] || fail "the stream is not whole"
cat bounds

# A limit: what fits is the same as without; what does not says what takes most.
./kinds photos --threads=1 --memory=8MiB --workers=1
mv photos.npy one.npy
./kinds photos
same photos.npy one.npy
expect 3 'memory is limited to 1.0 MiB: there is no room for ' ./kinds unpacked --memory=1MiB
expect 3 'of data in memory for `packed_table` (kinds.flow:' ./kinds packed_table --memory=2MiB
./kinds photos --threads=1 --workers=1 --memory 2>said
needed=$(sed -n 's/.*at most .*(\([0-9]*\) bytes)/\1/p' said)
./kinds photos --threads=1 --workers=1 --memory=$needed
expect 3 'of decoders' ./kinds photos --threads=1 --workers=1 --memory=$((needed - 1))
expect 3 'of input read ahead for `stream`' ./kinds stream --memory=4MiB <numbers
expect 3 'of batches for `queued`' ./kinds queued --memory=1MiB
needed() { ./kinds "$@" --memory 2>&1 >out | sed -n 's/.*at most .*(\([0-9]*\) bytes)/\1/p'; }
head -c 4000000 /dev/zero | tr '\0' 5 >digits
echo digits >names
expect 3 'there is no room for 3.8 MiB of decoders' ./kinds named --memory=2MiB
long() { head -c 20000000 /dev/zero | tr '\0' "$1"; }
{ printf 'n,text\n7,"' && long x && echo '"'; } >long.csv
{ printf '{"n": 7, "text": "' && long x && echo '"}'; } >long.jsonl
for kind in table object; do
    [ $kind = table ] && file=long.csv || file=long.jsonl
    least=$(needed ${kind}_stream <$file)
    ./kinds ${kind}_stream --memory=$least <$file >out
    grep -qx 7 out || fail "$(cat out)"
    expect 3 'there is no room for 19.1 MiB of decoders' ./kinds ${kind}_stream --memory=$((least - 1)) <$file
done
expect 3 'of data in memory for `mixed`' ./kinds mixed --memory=64KiB
expect 2 '--memory: `lots` is no size, as 4GiB or 512MiB' ./kinds stream --memory=lots

# What `flowc explain` says before anything is opened is what the program says then.
for kind in queued stream 'seen --workers=0 --threads=1' 'drawn --workers=0 --threads=1'; do
    "$FLOWC" explain kinds.flow ${kind%% *} | sed -n 's/^ *\(.* KiB\)  in all.*/\1/p' >explained
    ./kinds $kind --memory <numbers 2>&1 >out | sed -n '1s/.*(\([0-9]*\) bytes)/\1/p' | awk '{ printf "%.1f KiB\n", $1 / 1024 }' >shown
    same explained shown
done
expect 2 'kinds.flow has no train block or pipeline with a sink `streem`; did you mean `stream`?; there are: unpacked, table, ' \
    "$FLOWC" explain kinds.flow streem
echo 'dim N = 3' >none.flow
expect 1 'none.flow has no train block and no pipeline with a sink to explain' "$FLOWC" explain none.flow

# A pipeline with a model takes what its own function works in, whatever the train block beside it needs.
cat >both.flow <<'END'
model line(x: f32[B, 8]) -> f32[B, 1] { return x |> dense(16) |> tanh() |> dense(1) }
fn eight(i: i64) -> f32[8] { return cast(iota(8), f32) / 8 + cast(remainder(i, 7), f32) }
pipeline numbers { return range(2000) |> map(x: eight(index), y: [cast(remainder(index, 7), f32)]) }
train learn {
  data      = numbers() |> batch(500)
  loss      = mse(line(data.x), data.y)
  optimizer = adam(0.01)
  every 1 epoch { save weights("line.safetensors") }
}
pipeline guesses {
  let trained = load(line, "line.safetensors")
  return range(100) |> map(x: eight(index)) |> batch(10) |> map(y: trained(x)) |> unbatch() |> csv(stdout) @memory(264KiB)
}
END
"$FLOWC" build both.flow -o both
./both learn >/dev/null
"$FLOWC" explain both.flow | sed -n 's/^ *\(.* KiB\)  in all.*/\1/p' >explained
for kind in learn guesses; do
    ./both $kind --workers=0 --threads=1 --memory 2>&1 >/dev/null | sed -n '1s/.*: memory: //;1s/ (.*//p'
done >shown
same explained shown
[ "$("$FLOWC" run both.flow guesses | wc -l)" = 101 ] || fail 'the guesses are not whole'

# A train block with its evaluations: what is known is refused when it is compiled, the rest when it is opened.
train() { sed "s/^  optimizer/  memory = $1\n&/; s/batch(1000)/batch(100)/" "$digits" >train.flow; }
train 16MiB
"$FLOWC" run train.flow --epochs=1 >limited
"$FLOWC" run train.flow --epochs=1 --memory=1GiB --threads=1 >other
same limited other
train 5MiB
"$FLOWC" check train.flow
expect 3 'memory is limited to 5.0 MiB: there is no room for 1.5 MiB of data in memory for `digits`' "$FLOWC" run train.flow --epochs=1
train 2MiB
expect 1 'error[E0306]: too much memory: `fit` needs' "$FLOWC" check train.flow
