# For tests of programs on simulated GPUs: what they print there is what they print on the CPU.
. tests/programs/lib/common.sh

# close NAME [EXPECTED OUT]: both files have the same words, and the same numbers to three digits.
close() {
    paste "${2:-expected}" "${3:-out}" | awk -v most=1e-3 -f "$root/tests/programs/lib/close.awk" ||
        fail "$1: $(cat "${3:-out}"), not $(cat "${2:-expected}")"
}

# run FILE flags…: what the program `name` prints, and what training says of its loss at last.
run() {
    local file=$1
    shift
    "$FLOWC" run "$name.flow" --progress=plain "$@" >"$file" 2>stderr || fail "$name: exit $?: $(cat stderr)"
    sed -nE 's#^epoch ([0-9]*)/\1: .*(loss=[0-9.]+).*#\2#p' stderr | tail -n 1 >>"$file"
}
