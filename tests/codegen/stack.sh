#!/bin/bash
# Convolutions by tiles leave of the 1.5 MiB of stack that an exported function says it may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
FLOWC_TEST_FLAGS="-O1 -Werror=frame-larger-than=1400000" "$BUILD/tests/check/codegen" \
    tests/codegen/winograd_{doubles,rows}.graph
