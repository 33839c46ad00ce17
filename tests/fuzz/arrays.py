#!/usr/bin/env python3
"""Writes seeds for the fuzz target npy into a folder: headers of arrays, archives of arrays."""
import io, sys, zipfile


def array(descr, shape, values):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + values


arrays = {
    "f4": array("<f4", (2, 2), bytes(16)),
    "i8": array(">i8", (3,), bytes(24)),
    "b1": array("|b1", (3,), bytes(3)),
}
for name, bytes_ in arrays.items():
    open(f"{sys.argv[1]}/{name}", "wb").write(bytes_[8:])
for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(arrays["f4"])
    open(f"{sys.argv[1]}/npz-{method}", "wb").write(out.getvalue())
