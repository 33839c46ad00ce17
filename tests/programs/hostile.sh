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

# What is no file at all.
mkdir -p folder && mkfifo fifo
for pipeline in $(cut -f1 table | sort -u); do
    for file in folder fifo /dev/zero; do expect 1 "$file: is not a regular file" ./p "$pipeline" "--file=$file"; done
done

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

# A file whose bytes or whose size change while it is read: the run waits for the pipe's reader, who waits for us.
while_read() { # pipeline, file, command that changes it
    mkfifo pipe
    ./p "$1" "--file=$2" --threads=1 --workers=0 >pipe 2>stderr & run=$!
    exec 8<pipe
    head -n 10 <&8 >stdout
    eval "$3"
    cat <&8 >/dev/null
    code=0 && wait $run || code=$?
    exec 8<&- && rm pipe
}
shrinks() { # pipeline, file
    while_read "$1" "$2" "truncate -s 5000 $2"
    one_line 1 "$2" "has become shorter while it was read"
}
changes() { # pipeline, file: there may be good records in it
    while_read "$1" "$2" "head -c $(stat -c %s "$2") /dev/urandom | dd of=$2 conv=notrunc status=none"
    [ $code = 0 ] || one_line 1 "$2" ""
}
head -c 10000000 /dev/zero >rows.bin
changes rows rows.bin
shrinks rows rows.bin
yes 1234567 | head -c 40000000 >numbers.txt || true
changes again numbers.txt
yes 1234567 | head -c 40000000 >numbers.txt || true
shrinks again numbers.txt
python3 - <<'END'
import struct
n = 400000
with open("many.csv", "w") as file:
    file.write("x,y,z\n" + '12.5,7,"some text that nobody asks for, which makes the table larger than what is kept of it"\n' * n)
with open("many.jsonl", "w") as file:
    file.write('{"x": 12.5, "y": [1, 2, 3], "z": {"a": "text"}}\n' * n)
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 2)}" % n
header += " " * (117 - len(header)) + "\n"
with open("many.npy", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<f", 1.5) * 2 * n)
member = b"0.cls".ljust(124, b"\0") + b"00000000001\0" + b"0" * 12 + b" " * 8 + b"0"
member = bytearray(member.ljust(257, b"\0") + b"ustar\00000").ljust(512, b"\0")
with open("many.tar", "wb") as file:
    for i in range(50000):
        name = b"%06d.cls" % i
        member[:len(name)] = name
        member[148:156] = b" " * 8
        member[148:156] = b"%06o\0 " % sum(member)
        file.write(bytes(member) + b"7".ljust(512, b"\0"))
    file.write(bytes(1024))
END
for change in changes:csv shrinks:jsonl changes:npy shrinks:tar; do
    kind=${change#*:} file=many.${change#*:}
    ${change%:*} "${kind}_file" "$file"
done

# The record of a run, and weights.
cat >train.flow <<'END'
option rate = 0.1

model line(x: f32[B]) -> f32[B, 1] { return dense(expand(x, 1), 1) }

train fit {
  data      = range(64) |> map(x: cast(index, f32) / 64) |> batch(8)
  loss      = mean((line(data.x) - 1) ^ 2)
  optimizer = adam(rate)
  epochs    = 2
  every 1 epoch { save "run.safetensors" }
}

pipeline score {
  let trained = load(line, "weights.safetensors")
  return range(8) |> map(x: cast(index, f32)) |> batch(8) |> map(y: trained(x)) |> unbatch() |> print()
}
END
"$FLOWC" build train.flow -o t && ./t fit >/dev/null 2>&1
python3 - <<'END'
import json, struct
whole = open("run.safetensors", "rb").read()
size, = struct.unpack("<Q", whole[:8])
header, tensors = json.loads(whole[8:8 + size]), whole[8 + size:]
files = {"empty": b"", "short": whole[:5], "cut": whole[:-3], "header": whole[:8 + size // 2], "more": whole + b"\0",
         "size": struct.pack("<Q", 2**63) + whole[8:], "large": struct.pack("<Q", 10**8) + whole[8:],
         "deep": struct.pack("<Q", 10**6) + b'{"a":' * 200000 + tensors, "zeros": bytes(10**6)}


def changed(name, change):
    other = json.loads(json.dumps(header))
    change(other)
    text = json.dumps(other).encode()
    files[name] = struct.pack("<Q", len(text)) + text + tensors


weight = next(name for name in header if name.endswith("/w"))
bias = next(name for name in header if name.endswith("/b"))
changed("shape", lambda h: h[weight].update(shape=[2**62, 4]))
changed("minus", lambda h: h[weight].update(shape=[-1, -1]))
changed("offsets", lambda h: h[weight].update(data_offsets=[0, 2**64 - 1]))
changed("overlap", lambda h: h[weight].update(data_offsets=h[bias]["data_offsets"]))
changed("type", lambda h: h[weight].update(dtype="\x1b[2J"))
changed("missing", lambda h: h.pop(weight))
changed("step", lambda h: h["__metadata__"].update(step="9" * 400))
changed("sums", lambda h: h["__metadata__"].update(sums="\x1b[2J"))
changed("seed", lambda h: h["__metadata__"].update(seed="\x1b[2J\n"))
changed("option", lambda h: h["__metadata__"].update(**{"option.rate": "\x1b[2J\n\u009b2J", "step": "1"}))
for name, content in files.items():
    open("bad_%s.safetensors" % name, "wb").write(content)
END
for bad in bad_*.safetensors; do
    code=0 && limited ./t fit --resume="$bad" --progress=off >stdout 2>stderr || code=$?
    [ $bad != bad_option.safetensors ] || sed -i "1{/note: $bad was saved with --rate=?\[2J???2J, this run has/d}" stderr
    one_line 1 "$bad" ""
    case $bad in *step* | *sums* | *seed* | *option*) continue ;; esac
    cp "$bad" weights.safetensors
    code=0 && limited ./t score >stdout 2>stderr || code=$?
    one_line 1 weights.safetensors ""
done
