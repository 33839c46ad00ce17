#!/bin/bash
# Kernels for GPUs, run by the stand-in for one, agree with the evaluator: one op of each kind (with
# LONG all), all graphs of this folder, random programs. Nothing is brought to a GPU by itself, and
# what is wrong in a kernel ends the test: see runtime/device/simulated.h.
set -euo pipefail
cd "$(dirname "$0")/../.."
export FLOWC_TEST_GPU=1 FLOWC_TEST_FLAGS=-O0
ops="add divide exp select cast keep sum max argmax any cumsum argsort matmul gather scatter_add
     random_normal iota broadcast"
"$BUILD/tests/check/ops" $([ -n "${LONG:-}" ] || echo $ops)
"$BUILD/tests/check/codegen"
"$BUILD/tests/check/programs" $([ -n "${LONG:-}" ] && echo 200 || echo 20) 1
