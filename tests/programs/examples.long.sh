# The examples as they are, to the figures that their heads state.
. tests/programs/lib/common.sh
ln -s "$data" data

# reaches NAME MEASURE SIGN NUMBER: so is the measure in the last evaluation.
reaches() {
    cp "$root/examples/$1.flow" .
    "$FLOWC" run "$1.flow" >"$1.out"
    grep '^evaluate' "$1.out" | tail -n 1 | tr ' ' '\n' | sed -n "s/^$2=//p" |
        awk -v sign="$3" -v wanted="$4" '{ good = sign == "<" ? $1 < wanted : $1 >= wanted } END { exit !good }' ||
        fail "$1: no $2 $3 $4: $(cat "$1.out")"
}

reaches digits_cnn accuracy '>=' 0.99
reaches autoencoder mse '<' 0.0075
reaches vae loss '<' 106
"$FLOWC" run vae.flow samples
[ "$(wc -l <samples.csv)" = 33 ] || fail "32 images are expected"
reaches cifar_resnet loss '<' 1.7
