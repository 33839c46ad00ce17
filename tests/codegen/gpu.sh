#!/bin/bash
# Kernels for GPUs, run by the stand-in for one, agree with the evaluator: an op of each kind, the
# graphs of this folder but for large ones of what CPUs do and the ring's, which comes by itself
# (with LONG all of both), random programs. Nothing is brought to a GPU by itself, and what is wrong
# in a kernel ends the test: see runtime/device/simulated.h.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -n "${SAN:-}" ] && [ -z "${LONG:-}" ]; then
    echo "too slow under sanitizers; check-long runs it"
    exit 77
fi
export FLOWC_TEST_GPU=1 FLOWC_TEST_FLAGS=-O0
ops="add sum argmax matmul scatter_add"
"$BUILD/tests/check/ops" $([ -n "${LONG:-}" ] || echo $ops)
"$BUILD/tests/check/codegen" $(ls tests/codegen/*.graph | { [ -n "${LONG:-}" ] && cat || grep -v 'deep\|again\|large\.\|large_beside\|records\|/ring\|slices\|thirds\|winograd'; }) \
    $([ -z "${LONG:-}" ] || ls tests/passes/scan*.graph)
# As large as tiles get, and several elements a thread.
FLOWC_TEST_TILES=1 "$BUILD/tests/check/codegen" tests/codegen/{gpu_product,half,group,convolution,adam,gather,late_gather,movement,elements,keep,fused_attention}.graph
FLOWC_TEST_TILES=1 FLOWC_TEST_TF32=1 "$BUILD/tests/check/codegen" tests/codegen/{gpu_product,convolution}.graph
FLOWC_TEST_TILES=1 FLOWC_TEST_WARPGROUPS=1 "$BUILD/tests/check/codegen" tests/codegen/{group,ring}.graph
# Also as programs do it, by the driver, which may have less shared memory for a block.
by_driver() { LD_LIBRARY_PATH=$BUILD/lib/flowc/simulated FLOWC_TEST_GPU=driver FLOWC_TEST_TILES=1 "$BUILD/tests/check/codegen" tests/codegen/ring.graph; }
by_driver
said=$(FLOWC_SIMULATE_SHARED=65536 by_driver) && { echo "less shared memory is enough"; exit 1; }
[[ $said == *"gives a block 65536 bytes of shared memory, and the kernel"* ]] || { echo "$said"; exit 1; }
"$BUILD/tests/check/programs" $([ -n "${LONG:-}" ] && echo 200 || echo 20) 1
