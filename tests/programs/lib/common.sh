# Common: what the program tests share. Sourced; each test works in an empty folder of its own.
set -euo pipefail
root=$PWD
data=$root/examples/data
digits=$root/examples/digits.flow
export FLOWC_PROGRESS=off
export FLOWC_TUNE=off # runs are compared with each other to the byte

folder=$TEST_DIR/$(basename "$0" .sh)
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"

fail() { echo "$*"; exit 1; }
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

# expect CODE TEXT command…: it ends with that code and its standard error has that text.
expect() {
    local code=$1 text=$2 actual=0
    shift 2
    timeout 120 "$@" >stdout 2>stderr || actual=$?
    [ "$actual" = "$code" ] || fail "exit $actual, not $code: $* ($(cat stderr))"
    grep -qF -- "$text" stderr || fail "'$text' is not in: $(cat stderr)"
}

# until_true COMMAND: waits for it, a minute at most: machines are slow at times.
until_true() {
    for try in $(seq 600); do
        if eval "$1"; then return; fi
        sleep 0.1
    done
    fail "it did not become true in a minute: $1"
}

# hears CHILD: it has a handler for SIGTERM by now, which is signal 15.
hears() { ((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") & 1 << 14)); }

# stopped CHILD: tells it to end; its exit code says that it was interrupted.
stopped() {
    local code=0
    until_true "hears $1"
    kill -TERM "$1" && wait "$1" || code=$?
    [ $code = 4 ] || fail "stopped, it ends with $code: $(cat stderr)"
}

# alone LIBRARY: what is deployed asks for neither OpenMP nor zlib, and of threads for what helpers need.
alone() {
    local needed='pthread_(create|join|sigmask|attr_(init|destroy|getstacksize|setstacksize))(@.*)?$'
    if nm -u "$1" | grep -E ' (pthread_|omp_|__kmp|inflate)' | grep -vE " $needed"; then fail "$1 needs more than it should"; fi
}

# make_emitted FOLDER WORDS…: by the Makefile there, but for the runtime, which is built: emit_c.sh shows that it
# can be made. One with sanitizers is for programs with them alone.
make_emitted() {
    [ -n "$SAN" ] || set -- "$@" RUNTIME="$root/$BUILD/lib/flowc/libflowrt.a"
    make -s -C "$1" CC="${CC:-gcc}" "${@:2}"
}

# The compiler for a Makefile that is left behind, where nobody waits for the runtime.
quick_cc="$root/tests/programs/lib/quick_cc ${CC:-gcc}"

# A set of 2,000 images, so that a run takes a moment only.
small_data() {
    mkdir -p data
    for name in train t10k; do
        images=data/$name-images-idx3-ubyte labels=data/$name-labels-idx1-ubyte
        { printf '\0\0\10\3\0\0\7\320\0\0\0\34\0\0\0\34'; gzip -dc "$root/examples/$images.gz" | tail -c +17 | head -c $((2000 * 784)) || true; } >$images
        { printf '\0\0\10\1\0\0\7\320'; gzip -dc "$root/examples/$labels.gz" | tail -c +9 | head -c 2000 || true; } >$labels
        gzip -nf $images $labels
    done
}
