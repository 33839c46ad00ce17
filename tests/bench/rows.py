"""All rows of the benchmark. README.md says how to add one."""

import chain
import gemm
import infer
import input_rows
import start_rows
import step_rows

ROWS = [*step_rows.ROWS, *infer.ROWS, *gemm.ROWS, *chain.ROWS, *start_rows.ROWS, *input_rows.ROWS]
