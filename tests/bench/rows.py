"""All rows of the benchmark. README.md says how to add one."""

import re

import chain
import gemm
import graph_rows
import infer
import input_rows
import start_rows
import step_rows

NUMBERED = re.compile(r"([CS])(\d+)")


def place(row):
    """Those with numbers first, by number."""
    found = NUMBERED.match(row.name)
    return (found[1], int(found[2])) if found else ("Z", 0)


MODULES = (step_rows, infer, gemm, chain, start_rows, graph_rows, input_rows)
ROWS = sorted((row for module in MODULES for row in module.ROWS), key=place)
