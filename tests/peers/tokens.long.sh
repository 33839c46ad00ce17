# The tokens of byte-level BPE are those of tokenizers and tiktoken.
cd "$(dirname "$0")/../.." || exit 1
. tests/peers/environment
tokens_environment() {
    system_packages
    [ -x "$peers/bin/python" ] || python3 -m venv "$peers"
    python_packages tokenizers tiktoken numpy
}
if ! (set -e; tokens_environment) >"$TEST_DIR/peers" 2>&1; then
    echo "no tokenizers from PyPI: $(tail -n 1 "$TEST_DIR/peers")"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
gzip -dc examples/data/tinyshakespeare.txt.gz >"$TEST_DIR/shakespeare.txt"
"$peers/bin/python" tests/peers/tokens.py "$FLOWC" "$TEST_DIR/shakespeare.txt" lang/README.md >"$TEST_DIR/peers" 2>&1
failed=$?
grep -E 'FAILED|rror' "$TEST_DIR/peers"
tail -n 1 "$TEST_DIR/peers"
exit $failed
