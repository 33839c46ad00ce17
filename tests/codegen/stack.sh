#!/bin/bash
# Kernels leave of the 1.5 MiB of stack that an exported function says it may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
check() { # bytes, graphs
    FLOWC_TEST_FLAGS="-O1 -Werror=frame-larger-than=$1" "$BUILD/tests/check/codegen" "${@:2}"
}
check 1400000 tests/codegen/winograd_{doubles,rows}.graph
check 1500000 tests/codegen/{half_deep,many_colours,zeros_{copied,waiting,deep}}.graph
