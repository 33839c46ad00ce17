# For tests of what programs hold: `--memory` says it, and no more than that is ever there.
. tests/programs/lib/common.sh

# What is there beside all that is counted: the libraries' own data, stacks, what malloc keeps for later.
# Mapped files are not: they are not RssAnon.
beside=$((4 << 10)) # KiB

# most PROCESS: the most KiB of its own memory, until it ends. Looks 200 times a second, and starts nothing.
most() {
    local key value rest found=1 most=0 never
    exec {never}<> <(:)
    while [ $found = 1 ]; do
        found=0
        while read -r key value rest; do
            [ "$key" = RssAnon: ] || continue
            found=1
            [ "$value" -le $most ] || most=$value
        done 2>/dev/null <"/proc/$1/status" || true
        read -r -t 0.005 -u $never || true
    done
    echo $most
}

# bounded NAME COMMAND…: runs it with `--memory`, and it never holds more than it says that it does.
# Sanitizers take memory of their own, so that nothing is compared.
bounded() {
    local name=$1 run there said code=0
    shift
    "$@" --memory <&0 >bounded.out 2>bounded.err & run=$!
    there=$(most $run)
    wait $run || code=$?
    grep -v ': memory: \|: *[0-9.]* [KMG]*i*B of ' bounded.err >&2 || true
    [ $code = 0 ] || fail "$name: exit $code: $(cat bounded.err)"
    said=$(sed -n 's/.*: memory: at most .*(\([0-9]*\) bytes)/\1/p' bounded.err)
    [ -n "$said" ] || fail "$name says nothing: $(cat bounded.err)"
    said=$((said >> 10))
    echo "$name: $there KiB are there, $said KiB were said" >>bounds
    [ -n "$SAN" ] || [ "$there" -le $((said + beside)) ] ||
        fail "$name: $there KiB are there, $said KiB were said, and no more than $beside beside it: $(cat bounded.err)"
}
