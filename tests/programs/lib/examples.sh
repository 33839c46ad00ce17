# For tests of examples: each is run in a folder of its own, beside the data, and holds no more than it
# says.
. tests/programs/lib/memory.sh

# trained EXAMPLE [FLAG…]: runs the example, or a changed one that lies here already.
trained() {
    local example=$1
    shift
    [ -e data ] || ln -s "$data" data
    [ -e "$example.flow" ] || cp "$root/examples/$example.flow" .
    "$FLOWC" build "$example.flow" "$@" --target=native -o "$example.program" >/dev/null || fail "$example is not built"
    bounded "$example" "./$example.program" ${part:-}
    mv bounded.out "$example.out"
}

# reaches EXAMPLE MEASURE SIGN NUMBER: the measure in its last evaluation is so.
reaches() {
    grep '^evaluate' "$1.out" | tail -n 1 | tr ' ' '\n' | awk -F= -v measure="$2" -v sign="$3" -v wanted="$4" '
        $1 == measure { found = 1; good = sign == "<" ? $2 < wanted : $2 > wanted }
        END { exit !(found && good) }' || fail "$1: no $2 $3 $4: $(tail -n 1 "$1.out")"
}
