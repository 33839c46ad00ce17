# For tests of examples: each is run in a folder of its own, beside the data.
. tests/programs/lib/common.sh

# trained EXAMPLE [FLAG…]: runs the example, or a changed one that lies here already.
trained() {
    local example=$1
    shift
    [ -e data ] || ln -s "$data" data
    [ -e "$example.flow" ] || cp "$root/examples/$example.flow" .
    "$FLOWC" run "$example.flow" "$@" >"$example.out" || fail "$example: exit $?"
}

# reaches EXAMPLE MEASURE SIGN NUMBER: the measure in its last evaluation is so.
reaches() {
    grep '^evaluate' "$1.out" | tail -n 1 | tr ' ' '\n' | awk -F= -v measure="$2" -v sign="$3" -v wanted="$4" '
        $1 == measure { found = 1; good = sign == "<" ? $2 < wanted : $2 > wanted }
        END { exit !(found && good) }' || fail "$1: no $2 $3 $4: $(tail -n 1 "$1.out")"
}
