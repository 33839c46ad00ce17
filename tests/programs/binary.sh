# binary: CIFAR-10's form of records, headers, windows over several files.
. tests/programs/lib/common.sh
image() { head -c 3072 /dev/zero | tr '\0' "\\$1"; } # of one octal value
{ printf '\3'; image 40; printf '\7'; image 100; } >batch_1.bin
{ printf '\11'; image 200; } >batch_2.bin
{ printf 'head\0\0\0\0\1\0\0\0\2\0\0\0'; printf '\3\0\0\0\4\0\0\0'; } >numbers-1.i32
cp numbers-1.i32 numbers-2.i32
cat >p.flow <<'EOF'
dim T <= 8

pipeline cifar(files: path) -> (x: f32[32, 32, 3], y: i32 in 0..10) {
  return binary(files, label: u8, image: u8[3, 32, 32])
      |> map(x: permute(cast(image, f32), [1, 2, 0]) / 255, y: cast(label, i32) |> : i32 in 0..10)
}

pipeline all { return cifar("batch_*.bin") |> map(m: mean(x) * 255, y) |> csv(stdout) }
pipeline one { return binary("numbers-1.i32", header = 4, v: i32) |> window(T, stride = T) |> print() }
pipeline both { return binary("numbers-*.i32", header = 4, v: i32) |> window(T, stride = T - 1) |> print() }
pipeline pairs { return binary("numbers-1.i32", junk: u8[4], v: i32[T]) |> map(v) |> print() }
pipeline odd { return binary("batch_1.bin", label: u8, x: f32) |> map(x) |> print() }
pipeline classes { return binary("batch_2.bin", y: u8, image: u8[3072]) |> map(y: cast(y, i32) |> : i32 in 0..9) |> print() }
EOF
"$FLOWC" build p.flow -o program
./program all >out
printf 'm,y\n32,3\n64,7\n128,9\n' | same - out
./program one --T=2 >out
printf 'v=[%s]\n' '0, 1' '2, 3' | same - out
./program both --T=3 >out
printf 'v=[%s]\n' '0, 1, 2' '2, 3, 4' '4, 0, 1' '1, 2, 3' | same - out
./program pairs --T=5 >out
printf 'v=[%s]\n' '0, 1, 2, 3, 4' | same - out
expect 1 'numbers-1.i32: the 24 bytes are 1 records of 16 bytes, and 8 are left' ./program pairs --T=3
expect 1 'batch_1.bin: the 6146 bytes are 1229 records of 5 bytes, and 1 is left' ./program odd
expect 1 'batch_2.bin: record 0: `y` must lie in 0..9' ./program classes
