# tfrecord: files that TensorFlow 2.21 wrote: two records in one, one in the other.
. tests/programs/lib/common.sh
base64 -d >a-0.tfrecord <<'EOF'
xQAAAAAAAADofrDDCsIBClkKDWltYWdlL2VuY29kZWQSSApGCkSJUE5HDQoaCgAAAA1JSERSAAAAAgAAAAIIAgAAAP3UmnMAAAAL
SURBVAiZY2BABgAADgABsZrqBgAAAABJRU5ErkJgggoPCgRraW5kEgcKBQoDY2F0Cg4KBWxhYmVsEgUaAwoBAAoOCgNyYXcSBwoF
CgMAAP8KFQoBeBIQEg4KDAAAAD8AAAAAAAB6RAodCgNiaWcSFhoUChKAgICAgICAgMABgYCAgICAgBB2PfmeuQAAAAAAAACIX/8E
CrYBCmQKDWltYWdlL2VuY29kZWQSUwpRCk+JUE5HDQoaCgAAAA1JSERSAAAAAgAAAAIIAgAAAP3UmnMAAAAWSURBVAiZY+Ti4mJg
YGBiYGBgYGAAAAGSACImFEWCAAAAAElFTkSuQmCCCg8KBGtpbmQSBwoFCgNkb2cKDgoFbGFiZWwSBRoDCgEBCg4KA3JhdxIHCgUK
AwEC/wodCgNiaWcSFhoUChL//////////78BgYCAgICAgBBUzukh
EOF
base64 -d >a-1.tfrecord <<'EOF'
0AAAAAAAAACXN1NvCs0BCmQKDWltYWdlL2VuY29kZWQSUwpRCk+JUE5HDQoaCgAAAA1JSERSAAAAAgAAAAIIAgAAAP3UmnMAAAAW
SURBVAiZYxQREWFgYGBiYGBgYGAAAAL6AEAa6UygAAAAAElFTkSuQmCCCg8KBGtpbmQSBwoFCgNjYXQKDgoFbGFiZWwSBRoDCgEC
Cg4KA3JhdxIHCgUKAwIE/woVCgF4EhASDgoMAAAgQAAAAMAAAHpECh0KA2JpZxIWGhQKEv7/////////vwGBgICAgICAEDC6tvs=
EOF
gzip -c a-1.tfrecord >b-1.tfrecord.gz
cat >p.flow <<'EOF'
option files = "a-*.tfrecord"

pipeline all {
  return tfrecord(files) |> map(image: decode_png(column("image/encoded")) |> : u8[2, 2, 3], label: label |> : i32 in 0..10,
    kind: category(kind, ["cat", "dog"]), raw: raw |> : u8[3], big: big |> : i64[2], x: missing(x, -1) |> : f32[3]) |> print()
}

pipeline gray { return tfrecord(files) |> map(m: mean(cast(decode_png(column("image/encoded")) |> resize(1, 1), f32)), label) |> shuffle(seed = 1) |> csv(stdout) }
pipeline wrong { return tfrecord(files) |> map(lable) |> print() }
pipeline large { return tfrecord(files) |> map(label: label |> : i32 in 0..2) |> print() }
EOF
square() { printf '[[[%d, %d, %d], [%d, %d, %d]], [[%d, %d, %d], [%d, %d, %d]]]' $1 $1 $1 $1 $1 $1 $1 $1 $1 $1 $1 $1; }
cat >expected <<EOF
image=$(square 0) label=0 kind=0 raw=[0, 0, 255] big=[-4611686018427387904, 9007199254740993] x=[0.5, 0, 1000]
image=$(square 10) label=1 kind=1 raw=[1, 2, 255] big=[-4611686018427387905, 9007199254740993] x=[-1, -1, -1]
image=$(square 20) label=2 kind=0 raw=[2, 4, 255] big=[-4611686018427387906, 9007199254740993] x=[2.5, -2, 1000]
EOF
"$FLOWC" build p.flow -o program
./program all >out && same expected out
tail -n 1 expected >last && ./program all --files=b-1.tfrecord.gz >out && same last out
[ "$(./program gray --workers=0 | sort)" = "$(printf '0,0\n10,1\n20,2\nm,label')" ] || fail "means: $(./program gray)"
./program gray --workers=0 >expected
for flags in --workers=2 --threads=2; do ./program gray $flags >out && same expected out; done
expect 1 'a-0.tfrecord: record 0: lable: there is no such feature; its features are image/encoded, kind, label' ./program wrong
expect 1 'a-1.tfrecord: record 0: `label` must lie in 0..2, but is 2 (p.flow:' ./program large
head -c 300 a-0.tfrecord >c-0.tfrecord
expect 1 'c-0.tfrecord: record 1: the file ends within the record: it is truncated' ./program all --files=c-*
expect 1 'd-*' ./program all --files='d-*'
