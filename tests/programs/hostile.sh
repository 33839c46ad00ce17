# Files that nobody means well with: each ends the run with one line that names the file and says why, in
# bounded memory, without a byte that commands a terminal.
. tests/programs/lib/common.sh
python3 "$root/tests/programs/lib/hostile.py"
cat >p.flow <<'END'
option file = "x.zst"

pipeline idx_file { return idx(x: file) |> map(x: x |> : u8[2, 2]) |> print() }
pipeline csv_file { return csv(file) |> map(x, y) |> print() }
pipeline jsonl_file { return jsonl(file) |> map(x) |> print() }
pipeline npy_file { return npy(x: file) |> map(x: x |> : f32[2]) |> print() }
pipeline npz_file { return npz(file) |> map(x: x |> : f32[2]) |> take(3) |> print() }
pipeline tar_file { return tar(file) |> map(cls: integer(cls)) |> print() }
pipeline tar_jpeg { return tar(file) |> map(x: resize(decode_jpeg(jpg), 4, 4)) |> print() }
pipeline tar_png { return tar(file) |> map(x: resize(decode_png(png), 4, 4)) |> print() }
pipeline tfrecord_file { return tfrecord(file) |> map(x: x |> : f32) |> print() }
pipeline sqlite_file { return sqlite(file, "select x from t") |> map(x) |> csv(stdout) }
pipeline binary_file { return binary(file, x: f32[3], header = 8) |> map(x) |> print() }
pipeline lines_file { return lines(file) |> map(n: integer(line) |> : i32) |> print() }
pipeline read_lines { return lines(stdin) |> map(n: integer(line) |> : i32) |> print() }
pipeline pictures { return images("folder") |> map(x: resize(decode(image), 1, 1), label: label |> : i32) |> print() }
pipeline again { return lines(file) |> map(n: integer(line) |> : i32) |> window(10) |> csv(stdout) }
pipeline rows { return binary(file, x: u8[1000]) |> csv(stdout) }
END
"$FLOWC" build p.flow -o p

memory=unlimited
[ -n "${SAN:-}" ] || memory=300000
limited() { (ulimit -v $memory && exec "$@"); }

# one_line CODES NAME TEXT: what a run has said and how it ended.
one_line() {
    case " $1 " in *" $code "*) ;; *) fail "$2: exit $code: $(cat stderr)" ;; esac
    [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$2" stderr && grep -qF -- "$3" stderr || fail "$2: it says $(cat stderr)"
    ! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' stderr || fail "$2: $(cat -v stderr)"
}

while IFS=$'\t' read -r pipeline file text; do
    [ $memory$file != unlimitedjpeg_coefficients.tar ] || continue # of 1.3 GB, which there may be
    code=0 && limited timeout 300 ./p "$pipeline" "--file=$file" >stdout 2>stderr </dev/null || code=$?
    one_line "1 3" "$file" "$text"
done <table
[ ! -e owned ] || fail "a header was run"

# The same bytes as they come.
for file in escape.txt long.txt wide.txt; do
    code=0 && limited timeout 300 ./p read_lines <$file >stdout 2>stderr || code=$?
    one_line "1 3" "standard input" ""
done

# A folder with loops, pipes, and names of any kind: pictures are found, nothing else is opened.
python3 - <<'END'
import struct, zlib
def chunk(name, data): return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
with open("1.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes(4))) + chunk(b"IEND", b""))
END
mkdir -p folder/a folder/b && cp 1.png folder/a && cp 1.png folder/b/$'\e[2J\n.png'
./p pictures >expected
[ "$(wc -l <expected)" = 2 ] || fail "$(cat expected)"
ln -s .. folder/a/up && ln -s loop folder/loop && ln -s /etc/passwd folder/a/2.txt && mkfifo folder/b/pipe
code=0 && timeout 60 ./p pictures >stdout 2>stderr || code=$?
[ $code = 0 ] || one_line 1 folder/ ""
rm folder/a/up folder/loop folder/a/2.txt folder/b/pipe
for odd in pipe.png loop.png; do
    case $odd in pipe.png) mkfifo folder/a/pipe.png ;; loop.png) ln -s loop.png folder/a/loop.png ;; esac
    code=0 && timeout 60 ./p pictures >stdout 2>stderr || code=$?
    [ $code = 0 ] || one_line 1 $odd ""
    rm folder/a/$odd
done
head -c 40 1.png >folder/b/$'\e[2J\n.png'
code=0 && ./p pictures >stdout 2>stderr || code=$?
one_line 1 "?[2J?.png" ""

# A file that gets shorter while it is read: the run waits for the pipe's reader, who waits for us.
shrinks() { # pipeline, file
    mkfifo pipe && exec 8<>pipe
    ./p "$1" "--file=$2" --threads=1 --workers=0 >pipe 2>stderr 8<&- & run=$!
    head -n 10 <&8 >stdout
    truncate -s 5000 "$2"
    { cat <&8 >/dev/null & } 2>/dev/null && reader=$!
    code=0 && wait $run || code=$?
    exec 8<&- && rm pipe && kill $reader
    one_line 1 "$2" "has become shorter while it was read"
}
head -c 10000000 /dev/zero >rows.bin && shrinks rows rows.bin
yes 1234567 | head -c 40000000 >numbers.txt || true
shrinks again numbers.txt
