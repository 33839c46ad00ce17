# Losses, optimizers, what is fitted, layers, tensor functions and ops agree with PyTorch and numpy in
# float64, and each function of the library is among them; three models have PyTorch's loss and
# gradients at each of 100 steps, on each level of processor that this machine has.
cd "$(dirname "$0")/../.." || exit 1
. tests/peers/environment
. tests/targets/levels
if ! (set -e; peers_environment) >"$TEST_DIR/peers" 2>&1 || ! has_package torch; then
    echo "no PyTorch from PyPI: $(tail -n 1 "$TEST_DIR/peers")"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
failed=0
agrees() { # a part, what flowc compiles for
    FLOWC_TARGET=$2 "$peers/bin/python" "tests/peers/$1.py" "$FLOWC" >"$TEST_DIR/peers" 2>&1 || failed=1
    grep -E 'FAILED|rror' "$TEST_DIR/peers"
    echo "$1, $2: $(tail -n 1 "$TEST_DIR/peers")"
}
for part in complete functions optimizers fitted layers tensors ops; do agrees $part native; done
for level in $(levels_here); do agrees losses "$level"; done
exit $failed
