# The examples on text, cut down: their losses fall as they should, and the exported function gives
# a distribution over the next byte for prompts of any size.
. tests/programs/lib/examples.sh

# falls NAME BELOW FLAGS…: the loss over the held-out text after 120 steps.
falls() {
    local name=$1 below=$2
    shift 2
    sed "s/every 500 steps/every 120 steps/" "$root/examples/$name.flow" >"$name.flow"
    FLOWC_PROGRESS=plain trained "$name" "$@" --steps=120 2>"$name.progress"
    grep -q '^epoch 1/1: loss=' "$name.progress" || fail "no line for the end: $(cat "$name.progress")"
    reaches "$name" loss '<' "$below" && reaches "$name" loss '>' 2
}
small="--layers=2 --width=32 --heads=2 --context=32"
falls char_gpt 2.7 $small --batch_size=16 --rate=6e-3
falls bpe_gpt 5.8 $small --batch_size=16 --rate=6e-3
falls char_lstm 2.7 --width=48 --context=24 --batch_size=16 --rate=8e-3

cat >main.c <<'EOC'
#include "char_gpt.h"
#include <stdio.h>
int main(void) {
    char message[512];
    int32_t ids[33];
    float p[128];
    Char_gpt *gpt = char_gpt_create("char_gpt.safetensors", message, sizeof message);
    if (!gpt) return puts(message), 1;
    for (int i = 0; i < 33; i++) ids[i] = "O Romeo, Romeo, wherefore art thou"[i];
    for (int64_t size = 0; size <= 33; size++) {
        int code = char_gpt_next(gpt, size, ids, p), likely = 0;
        double sum = 0;
        for (int i = 0; i < 128; i++) {
            sum += p[i];
            if (p[i] > p[likely]) likely = i;
        }
        printf("%d %d %d\n", code, sum > 0.9999 && sum < 1.0001, likely >= ' ' && likely < 127);
    }
    char_gpt_destroy(gpt);
}
EOC
"$FLOWC" export char_gpt.flow $small
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -o next main.c libchar_gpt.a -lz -lm -lpthread
./next >out || fail "$(cat out)"
{ echo 2; printf '0\n%.0s' {1..32}; echo 2; } >expected
cut -d' ' -f1 out >codes && same codes expected
[ "$(grep -c '^0 1 1' out)" = 32 ] || fail "no distribution over letters: $(cat out)"
