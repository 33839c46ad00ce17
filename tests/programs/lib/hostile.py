"""Writes files that nobody means well with, and a table of them: pipeline, file, what has to be said."""
import gzip
import io
import os
import sqlite3
import struct
import tarfile
import zipfile
import zlib

rows = []


def add(pipeline, name, content, text):
    with open(name, "wb") as file:
        file.write(content)
    rows.append((pipeline, name, text))


def crc32c(data):
    c = 0xFFFFFFFF
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def bomb_gzip(start, megabytes):
    """Many members of zeros behind the start: a thousand times as large unpacked."""
    zeros = gzip.compress(bytes(1 << 20), 9)
    return gzip.compress(start) + zeros * megabytes


def zstd(data):
    return b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(data) - 256) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def bomb_zstd(blocks):
    """Blocks of one byte that stand for 128 KiB each, in a window of as much."""
    block = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (131072 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x38" + block * blocks + last


def npy(header, data=b""):
    header = header.encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


def npy_of(shape, descr="<f4", data=b""):
    return npy("{'descr': '%s', 'fortran_order': False, 'shape': %s}" % (descr, shape), data)


def png(width, height, data, kind=2, extra=b""):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) + extra +
            chunk(b"IDAT", data) + chunk(b"IEND", b""))


def jpeg_tables(width, height, kind, run):
    """Codes of one bit: blocks are all alike; run: what an AC code says."""
    tables = b"\xff\xdb\0\x43\0" + bytes([1] * 64)
    frame = b"\xff" + kind + b"\0\x11\x08" + struct.pack(">HH", height, width) + b"\3\1\x11\0\2\x11\0\3\x11\0"
    lengths = bytes([1] + [0] * 15)
    return b"\xff\xd8" + tables + frame + b"\xff\xc4\0\x14\0" + lengths + b"\0\xff\xc4\0\x14\x10" + lengths + run


def jpeg(width, height):
    """Far less than a picture of that size."""
    return jpeg_tables(width, height, b"\xc0", b"\0") + b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0" + bytes(100) + b"\xff\xd9"


def jpeg_of_scans(side, scans):
    """A progressive picture that says the same again and again, of 16384 blocks by two bytes."""
    blocks = (side // 8) ** 2
    colour = b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\0\0" + bytes(blocks * 3 // 8 + 8)
    again = b"\xff\xda\0\x08\1\1\0\1\x3f\0" + bytes(blocks // 16384 * 2 + 4)
    return jpeg_tables(side, side, b"\xc2", b"\xe0") + colour + again * scans + b"\xff\xd9"


def tar(*members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def resized(archive, field):
    """The first member has another size, and a right sum."""
    head = bytearray(archive[:512])
    head[124:136] = field
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + archive[512:]


def npz(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def tfrecord(*records):
    out = b""
    for record in records:
        length = struct.pack("<Q", len(record))
        out += length + struct.pack("<I", crc32c(length)) + record + struct.pack("<I", crc32c(record))
    return out


# idx
good = b"\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\2" + bytes(8)
add("idx_file", "empty.idx", b"", "")
add("idx_file", "short.idx", good[:3], "")
add("idx_file", "header.idx", good[:10], "")
add("idx_file", "magic.idx", b"\1\2" + good[2:], "")
add("idx_file", "rank.idx", b"\0\0\x08\xff" + b"\xff" * 1020, "")
add("idx_file", "huge.idx", b"\0\0\x08\3" + b"\xff" * 12 + bytes(8), "")
add("idx_file", "count.idx", b"\0\0\x08\3\x7f\xff\xff\xff" + good[8:], "")
add("idx_file", "more.idx", good + b"\0", "")
add("idx_file", "none.idx", b"\0\0\x08\3\0\0\0\0" + good[8:16], "")
add("idx_file", "cut.idx.gz", gzip.compress(good)[:-9], "")
add("idx_file", "sum.idx.gz", gzip.compress(good)[:-8] + bytes(8), "")
add("idx_file", "bomb.idx.gz", bomb_gzip(good, 300), "")
add("idx_file", "bomb.idx.zst", bomb_zstd(100000), "")
add("idx_file", "window.zst", b"\x28\xb5\x2f\xfd\x00\xf8" + bytes(20), "")

# csv
add("csv_file", "empty.csv", b"", "")
add("csv_file", "header.csv", b"x,y\n", "")
add("csv_file", "cells.csv", b"x,y\n1\n", "")
add("csv_file", "quote.csv", b'x,y\n"1,2\n' + b"3,4\n" * 1000, "")
add("csv_file", "columns.csv", b",".join(b"c%d" % i for i in range(10**6)) + b"\n" + b",".join([b"1"] * 10**6) + b"\n", "`x`")
add("csv_file", "escape.csv", b"x,y\n\x1b[2J\x07,2\n", "")
add("csv_file", "late.csv", "x,y\n\u009b2J,2\n".encode(), "")
add("csv_file", "zeros.csv", b"x,y\n" + bytes(10000), "")
add("csv_file", "digits.csv", b"x,y\n" + b"1" * 10**6 + b"x,2\n", "")
add("csv_file", "bomb.csv.gz", bomb_gzip(b"x,y\n1,2\n", 300), "")
add("csv_file", "bomb.csv.zst", bomb_zstd(100000), "")

# jsonl
add("jsonl_file", "empty.jsonl", b"", "")
add("jsonl_file", "deep.jsonl", b'{"y": ' + b"[" * 10**6 + b"\n", "")
add("jsonl_file", "objects.jsonl", b'{"y": ' + b'{"a":' * 10**6 + b"\n", "")
add("jsonl_file", "cut.jsonl", b'{"x": 1', "")
add("jsonl_file", "string.jsonl", b'{"x": "' + b"a" * 10**6 + b"\n", "")
add("jsonl_file", "number.jsonl", b'{"x": ' + b"9" * 10**6 + b"e" + b"9" * 1000 + b"}\n", "")
add("jsonl_file", "escape.jsonl", b'{"x": "\x1b[2J"}\n', "")
add("jsonl_file", "utf.jsonl", b'{"x": "\xff\xfe"}\n', "")
add("jsonl_file", "twice.jsonl", b'{"x": 1, "x": 2}\n', "")

# npy, npz
add("npy_file", "empty.npy", b"", "")
add("npy_file", "magic.npy", b"\x93NUMPZ" + bytes(100), "")
add("npy_file", "header.npy", b"\x93NUMPY\2\0\xff\xff\xff\xff{'descr'", "")
add("npy_file", "shape.npy", npy_of("(4611686018427387904, 4)"), "")
add("npy_file", "large.npy", npy_of("(99999999999999999999999, 2)"), "")
add("npy_file", "minus.npy", npy_of("(-1, 2)"), "")
add("npy_file", "rank.npy", npy_of("(" + "1, " * 1000 + ")"), "")
add("npy_file", "object.npy", npy_of("(1, 2)", "|O", bytes(16)), "")
add("npy_file", "code.npy", npy("__import__('os').system('touch owned')"), "")
add("npy_file", "deep.npy", npy("{'descr': " + "(" * 60000), "")
add("npy_file", "cut.npy", npy_of("(3, 2)", data=bytes(20)), "")
add("npy_file", "bomb.npy.gz", bomb_gzip(npy_of("(2, 2)", data=bytes(16)), 300), "")
add("npz_file", "empty.npz", b"", "")
add("npz_file", "cut.npz", npz([("x.npy", npy_of("(2, 2)", data=bytes(16)))])[:-30], "")
add("npz_file", "none.npz", npz([("../../x.npy", npy_of("(2, 2)", data=bytes(16)))]), "")
add("npz_file", "bomb.npz", npz([("x.npy", npy_of("(1000000000, 2)") + bytes(10**6))]), "")
add("npz_file", "packed.npz", npz([("x.npy", npy_of("(2, 2)", data=bytes(10**8)))]), "")
add("npz_file", "name.npz", npz([("\x1b[2Jx\n.npy", npy_of("(2, 2)", data=bytes(16)))]), "")
broken = bytearray(npz([("x.npy", npy_of("(2, 2)", data=bytes(16)))], zipfile.ZIP_STORED))
for place, value in (("offset", 42), ("stored", 20), ("size", 24)):
    copy = bytearray(broken)
    at = copy.rfind(b"PK\1\2") + value
    copy[at:at + 4] = b"\xff\xff\xff\x7f"
    add("npz_file", place + ".npz", bytes(copy), "")

# tar, jpeg, png
add("tar_file", "empty.tar", b"", "")
add("tar_file", "zeros.tar", bytes(10240), "")
add("tar_file", "cut.tar", tar(("1.cls", b"7"), ("2.cls", b"8" * 600))[:1700], "")
add("tar_file", "sum.tar", tar(("1.cls", b"7")).replace(b"1.cls", b"2.cls"), "")
add("tar_file", "huge.tar", resized(tar(("1.cls", b"7")), b"77777777777\0"), "")
add("tar_file", "base.tar", resized(tar(("1.cls", b"7")), b"\x80\0\0\0\x7f" + b"\xff" * 7), "")
add("tar_file", "minus.tar", resized(tar(("1.cls", b"7")), b"\xff" * 12), "")
add("tar_file", "escape.tar", tar(("\x1b[2J\n1.cls", b"x\x1b[2J\n")), "")
add("tar_file", "bomb.tar.gz", gzip.compress(tar(("1.cls", b"7"))[:1024]) + bomb_gzip(b"x", 300), "")
jpegs = {"wide": jpeg(65535, 65535), "large": jpeg(65000, 65000), "flat": jpeg(65535, 1), "nothing": jpeg(0, 0),
         "cut": jpeg(16, 16)[:200], "empty": b"", "marks": b"\xff\xd8" + b"\xff\xff" * 10**6,
         "comments": b"\xff\xd8" + b"\xff\xfe\xff\xff" + bytes(65533) + b"\xff\xfe\xff\xff"}
for name, content in jpegs.items():
    add("tar_jpeg", "jpeg_%s.tar" % name, tar(("a/../../1.jpg", content)), "1.jpg")
add("tar_jpeg", "jpeg_scans.tar", tar(("1.jpg", jpeg_of_scans(1024, 400))), "more than 200 scans")
add("tar_jpeg", "jpeg_coefficients.tar", tar(("1.jpg", jpeg_of_scans(15000, 1) + bytes(10**6))), "1.jpg")
pngs = {"wide": png(2**31 - 1, 2**31 - 1, b""), "nothing": png(0, 0, b""),
        "large": png(16000, 16000, zlib.compress(bytes(1000))),
        "bomb": png(16000, 16000, zlib.compress(bytes(16000 * 3 + 1), 9) + bytes(10**6)),
        "profile": png(4, 4, zlib.compress(bytes(52)), extra=struct.pack(">I", 50000) + b"iCCP" + b"a\0\0" + zlib.compress(bytes(5 * 10**7))[:49997]),
        "empty": png(4, 4, b""), "cut": png(4, 4, zlib.compress(os.urandom(52)))[:60]}
for name, content in pngs.items():
    add("tar_png", "png_%s.tar" % name, tar(("1.png", content)), "1.png")

# tfrecord
length = struct.pack("<Q", 2**63)
add("tfrecord_file", "empty.tfrecord", b"", "")
add("tfrecord_file", "huge.tfrecord", length + struct.pack("<I", crc32c(length)) + bytes(100), "")
add("tfrecord_file", "cut.tfrecord", tfrecord(b"abc")[:-5], "")
add("tfrecord_file", "sum.tfrecord", tfrecord(b"abc")[:-1] + b"\0", "")
add("tfrecord_file", "length.tfrecord", bytes(12) + tfrecord(b"abc"), "")
add("tfrecord_file", "groups.tfrecord", tfrecord(b"\x0b" * 10**5), "")
add("tfrecord_file", "nested.tfrecord", tfrecord(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "")
add("tfrecord_file", "bomb.tfrecord.gz", bomb_gzip(tfrecord(b"\x0a\0"), 300), "")

# sqlite
base = sqlite3.connect("good.db")
base.execute("pragma page_size = 512")
base.execute("create table t(x real)")
base.executemany("insert into t values (?)", [(i,) for i in range(1000)])
base.commit()
base.close()
whole = open("good.db", "rb").read()
add("sqlite_file", "empty.db", b"", "")
add("sqlite_file", "text.db", b"no database" * 100, "")
add("sqlite_file", "cut.db", whole[:len(whole) // 2], "")
add("sqlite_file", "page.db", whole[:512] + b"\xff" * 512 + whole[1024:], "")
add("sqlite_file", "pages.db", whole[:1024] + b"\xff" * 4096 + whole[5120:], "")
add("sqlite_file", "schema.db", whole.replace(b"CREATE TABLE t", b"CREATE TABLE \x1b"), "")

# binary, lines
add("binary_file", "empty.bin", b"", "")
add("binary_file", "rest.bin", bytes(8 + 12 * 3 + 5), "")
add("binary_file", "head.bin", bytes(5), "")
add("binary_file", "bomb.bin.gz", bomb_gzip(bytes(21), 300), "")
add("lines_file", "empty.txt", b"", "")
add("lines_file", "escape.txt", b"\x1b[2J\x1b]0;owned\x07\n", "")
add("lines_file", "long.txt", b"7" * 10**7 + b"\n", "")
add("lines_file", "bomb.txt.zst", bomb_zstd(100000), "")

for name, pipeline in (("wide.csv", "csv_file"), ("wide.jsonl", "jsonl_file"), ("wide.txt", "lines_file")):
    with open(name, "wb") as file:  # one line of 100 MB of zeros, which are not on the disk
        file.truncate(100 * 10**6)
    rows.append((pipeline, name, ""))

with open("table", "w") as file:
    for row in rows:
        file.write("\t".join(row) + "\n")
