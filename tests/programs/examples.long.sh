# The examples on images as they are, to the figures that their heads state.
. tests/programs/lib/examples.sh
trained digits && reaches digits accuracy '>' 0.979
trained rows && reaches rows accuracy '>' 0.95
trained digits_cnn && reaches digits_cnn accuracy '>' 0.99
trained autoencoder && reaches autoencoder mse '<' 0.0075
trained vae && reaches vae loss '<' 106
trained cifar_resnet && reaches cifar_resnet loss '<' 1.7
"$FLOWC" run vae.flow samples
[ "$(wc -l <samples.csv)" = 33 ] || fail "32 images are expected"
