# For tests of examples: each is run in a folder of its own, beside the data.
. tests/programs/lib/common.sh
ln -s "$data" data

# reaches LIMIT TEST MEASURE EXAMPLE [FLAG…]: so it says of data that it does not learn from, in the end.
reaches() {
    local limit=$1 test=$2 measure=$3 example=$4
    shift 4
    [ -e "$example.flow" ] || cp "$root/examples/$example.flow" .
    "$FLOWC" run "$example.flow" "$@" >"$example.out"
    tail -n 1 "$example.out" | tr ' ' '\n' | awk -F= -v limit="$limit" -v test="$test" -v measure="$measure" '
        $1 == measure { found = 1; good = test == "below" ? $2 < limit : $2 > limit }
        END { exit !(found && good) }' || fail "$example: $measure is not $test $limit: $(tail -n 1 "$example.out")"
}
