# The examples, cut down to a moment each: they learn, and what they export makes images.
. tests/programs/lib/common.sh
small_data
cp "$root/examples/data/cifar10-sample.tar" data

# below NAME NUMBER FLAGS…: after training, the last measured loss of the example is smaller.
below() {
    local name=$1 most=$2
    shift 2
    cp "$root/examples/$name.flow" .
    "$FLOWC" run "$name.flow" --threads=2 "$@" >"$name.out"
    sed -n 's/^evaluate .* loss=\([0-9.]*\).*/\1/p' "$name.out" | tail -n 1 |
        awk -v most="$most" '{ good = $1 < most } END { exit !good }' || fail "$name does not learn: $(cat "$name.out")"
}

below digits_cnn 0.7 --epochs=2
below autoencoder 0.26 --epochs=2
below vae 208 --epochs=2
below cifar_resnet 2.2 --epochs=4
