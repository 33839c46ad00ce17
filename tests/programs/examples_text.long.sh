# The examples on text as they stand: what they say of the held-out text reaches the stated figures.
. tests/programs/lib/common.sh

# reaches NAME NATS: the loss of the last evaluation.
reaches() {
    "$FLOWC" run "$root/examples/$1.flow" >"$1.out"
    awk -F'[= ]' -v nats="$2" '/^evaluate/ { loss = $4 } END { exit !(loss > 1 && loss < nats) }' "$1.out" ||
        fail "$1 should reach $2: $(cat "$1.out")"
}
reaches char_gpt 1.75
reaches char_lstm 1.7
