# The examples on images, cut down to a moment each: they learn.
. tests/programs/lib/examples.sh
small_data
cp "$root/examples/data/cifar10-sample.tar" data
trained digits_cnn --epochs=2 && reaches digits_cnn loss '<' 0.7
trained autoencoder --epochs=2 && reaches autoencoder loss '<' 0.26
trained vae --epochs=2 && reaches vae loss '<' 208
trained cifar_resnet --epochs=4 && reaches cifar_resnet loss '<' 2.2
"$FLOWC" run "$root/examples/photos.flow" unpack >unpack.out || fail "photos unpack: exit $?"
[ "$(find photos -name '*.png' | wc -l)" = 300 ] || fail "photos: $(find photos -name '*.png' | wc -l) files"
trained photos fit --epochs=15 && reaches photos loss '<' 1.9
