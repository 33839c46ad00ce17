# An LSTM over the rows of digits learns: the loss falls, and any number of threads gives the same
# bits. The same for every other recurrent layer, on fewer images.
. tests/programs/lib/common.sh
small_data
cp "$root/examples/rows.flow" .
"$FLOWC" run rows.flow --epochs=4 --threads=1 >first
tail -n 1 first | awk -F= '{ exit !($3 >= 0.7) }' || fail "accuracy too low: $(tail -n 1 first)"
mv rows.safetensors first.safetensors
"$FLOWC" run rows.flow --epochs=4 --threads=3 >second
same first second
same first.safetensors rows.safetensors
for layer in simple_rnn gru bidirectional_lstm bidirectional_gru; do
    sed "s/lstm(64)/$layer(16)/" rows.flow >"$layer.flow"
    "$FLOWC" run "$layer.flow" --epochs=2 --threads=2 >"$layer.out"
    awk -F'[= ]' '/^evaluate/ { before = after; after = $4 } END { exit !(NR == 2 && after < before) }' \
        "$layer.out" || fail "$layer does not learn: $(cat "$layer.out")"
done
