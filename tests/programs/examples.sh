# The examples on images, cut down to a moment each: they learn.
. tests/programs/lib/examples.sh
small_data
cp "$root/examples/data/cifar10-sample.tar" data
trained digits_cnn --epochs=2 && reaches digits_cnn loss '<' 0.7
trained autoencoder --epochs=2 && reaches autoencoder loss '<' 0.26
trained vae --epochs=2 && reaches vae loss '<' 208
trained cifar_resnet --epochs=4 && reaches cifar_resnet loss '<' 2.2
