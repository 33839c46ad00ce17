# Losses, optimizers, what is fitted, layers, tensor functions and ops agree with PyTorch and numpy in
# float64, and each function of the library is among them; three models have PyTorch's loss and
# gradients at each of 100 steps.
cd "$(dirname "$0")/../.." || exit 1
. tests/peers/environment
if ! (set -e; peers_environment) >"$TEST_DIR/peers" 2>&1 || ! has_package torch; then
    echo "no PyTorch from PyPI: $(tail -n 1 "$TEST_DIR/peers")"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
failed=0
for part in complete functions optimizers fitted losses layers tensors ops; do
    "$peers/bin/python" "tests/peers/$part.py" "$FLOWC" >"$TEST_DIR/peers" 2>&1 || failed=1
    grep -E 'FAILED|rror' "$TEST_DIR/peers"
    echo "$part: $(tail -n 1 "$TEST_DIR/peers")"
done
exit $failed
