"""All rows of the benchmark. README.md says how to add one."""

import gemm
import input_rows
import step_rows

ROWS = [*step_rows.ROWS, *gemm.ROWS, *input_rows.ROWS]
