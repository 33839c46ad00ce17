# Losses, optimizers, layers and ops agree with PyTorch and numpy in float64.
cd "$(dirname "$0")/../.." || exit 1
. tests/peers/environment
if ! (set -e; peers_environment) >"$TEST_DIR/peers" 2>&1 || ! has_package torch; then
    echo "no PyTorch from PyPI: $(tail -n 1 "$TEST_DIR/peers")"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
for part in functions optimizers layers ops; do
    "$peers/bin/python" "tests/peers/$part.py" "$FLOWC" >"$TEST_DIR/peers" 2>&1 && continue
    grep -E 'FAILED|rror' "$TEST_DIR/peers"
    echo "$part: $(tail -n 1 "$TEST_DIR/peers")"
    exit 1
done
