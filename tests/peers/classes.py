"""Writes runtime/text/classes.def: which characters are letters, numbers and space, as Unicode's data
say. unicodedata2 of PyPI has the version of the standard that the peers' regular expressions have: 16.0.0."""
import sys

import unicodedata2 as unicode

SPACES = [(0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
          (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]  # White_Space


def ranges(category):
    found = []
    for code in range(0x110000):
        if unicode.category(chr(code))[0] != category:
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def write(out, name, rows):
    cells = [f"{name}(0x{first:X}, 0x{last:X})" for first, last in rows]
    for at in range(0, len(cells), 4):
        print(" ".join(cells[at:at + 4]), file=out)


with open(sys.argv[1], "w") as out:
    print(f"/* Letters (L*), numbers (N*) and space (White_Space) of Unicode {unicode.unidata_version}: from, to."
          "\n * Written by tests/peers/classes.py. */", file=out)
    write(out, "LETTERS", ranges("L"))
    write(out, "NUMBERS", ranges("N"))
    write(out, "SPACES", SPACES)
