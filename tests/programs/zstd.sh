# zstd wherever gzip is: only programs that may be given such files are linked to it.
. tests/programs/lib/common.sh
# `printf 'x,y\n1,2\n3,4\n' | zstd`
printf '\x28\xb5\x2f\xfd\x04\x58\x61\x00\x00x,y\n1,2\n3,4\n\x59\x35\x53\xe4' >table.csv.zst
cat >p.flow <<'EOF'
option file = "table.csv.zst"

pipeline named { return csv("table.csv.zst") |> map(x, y) |> csv(stdout) }
pipeline asked { return csv(file) |> map(x, y) |> csv(stdout) }
EOF
printf 'x,y\n1,2\n3,4\n' >expected
for name in named asked; do "$FLOWC" run p.flow $name >out && same expected out; done
cp table.csv.zst other.csv
"$FLOWC" run p.flow asked --file=other.csv >out && same expected out
echo 'pipeline plain { return csv("other.csv") |> map(x, y) |> csv(stdout) }' >q.flow
expect 1 "other.csv: is compressed by zstd, which this program does not have" "$FLOWC" run q.flow
head -c 20 table.csv.zst >other.csv
expect 1 "other.csv: the compressed data ends early" "$FLOWC" run p.flow asked --file=other.csv

# zstd_of FILE: a frame of one block as it is, of 256 to 65791 bytes.
byte() { printf "\\$(printf %03o $(($1 & 255)))"; }
zstd_of() {
    local n=$(stat -c %s "$1") b=$((($(stat -c %s "$1") << 3) | 1))
    printf '\x28\xb5\x2f\xfd\x60' && byte $((n - 256)) && byte $(((n - 256) >> 8))
    byte $b && byte $((b >> 8)) && byte $((b >> 16)) && cat "$1"
}
seq 1 200 >lines && zstd_of lines >lines.zst
{ printf '\0\0\10\1\0\0\1\54' && head -c 300 lines; } >labels && zstd_of labels >labels.zst
mkdir m && for i in 1 2; do echo $((i + 6)) >m/$i.cls; done && tar -cf m.tar -C m 1.cls 2.cls && zstd_of m.tar >m-0.tar.zst
cat >r.flow <<'EOF'
pipeline characters { return text("lines.zst") |> map(byte) |> csv(stdout) }
pipeline labels { return idx(byte: "labels.zst") |> map(byte: byte |> : u8) |> csv(stdout) }
pipeline members { return tar("m-*.tar.zst") |> map(cls: integer(cls)) |> print() }
EOF
"$FLOWC" run r.flow characters | tail -n +2 >out
od -An -v -tu1 -w1 lines | tr -d ' ' | same - out
"$FLOWC" run r.flow labels | tail -n +2 | same - <(head -n 300 out)
"$FLOWC" run r.flow members >out
printf 'cls=7\ncls=8\n' | same - out
