"""Is every function of the library, and every one that the compiler knows, called by a case of these tests, by
itself or by another that is?

    python complete.py
"""

import ast
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def calls(text):
    return set(re.findall(r"\b([a-z]\w*)\(", text))


def named(file):
    """What the strings of a Python file call, and what they are."""
    strings = [node.value for node in ast.walk(ast.parse(file.read_text()))
               if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return set(strings).union(*map(calls, strings))


def library():
    """The body of each function by its name."""
    bodies = {}
    for file in (ROOT / "lang/std").glob("*.flow"):
        for name, body in re.findall(r"^(?:fn|model) (\w+)\(.*?\{\n(.*?)^\}", file.read_text(), re.M | re.S):
            bodies[name] = body
    return bodies


def builtins():
    return re.findall(r"^BUILTIN\((\w+)", (ROOT / "compiler/lower/builtins.def").read_text(), re.M)


def main():
    bodies = library()
    wanted = {*bodies, *builtins()}
    found, new = set(), set().union(*(named(file) for file in HERE.glob("*.py")))
    while new := (new & wanted) - found:
        found |= new
        new = set().union(*(calls(bodies.get(name, "")) for name in new))
    for name in sorted(wanted - found):
        print(f"{name}: no case calls it  FAILED")
    print(f"{len(found)} of {len(wanted)} functions have a case")
    return found != wanted


if __name__ == "__main__":
    sys.exit(main())
