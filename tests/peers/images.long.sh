# Decoded, resized and cut images are those of Pillow and TensorFlow.
cd "$(dirname "$0")/../.." || exit 1
. tests/peers/environment
photos=../shared/data/photos
[ -d "$photos" ] || { echo "no photos in $photos"; exit 77; }
images_environment() {
    system_packages
    [ -x "$peers/bin/python" ] || python3 -m venv "$peers"
    python_packages PIL=pillow numpy
    python_packages tensorflow=tensorflow-cpu || true
    export PYTHONDONTWRITEBYTECODE=1
}
if ! (set -e; images_environment) >"$TEST_DIR/peers" 2>&1 || ! has_package PIL; then
    echo "no Pillow from PyPI: $(tail -n 1 "$TEST_DIR/peers")"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
"$peers/bin/python" tests/peers/images.py "$FLOWC" "$photos" >"$TEST_DIR/peers" 2>&1
failed=$?
grep -E 'FAILED|rror|no TensorFlow' "$TEST_DIR/peers"
tail -n 1 "$TEST_DIR/peers"
exit $failed
