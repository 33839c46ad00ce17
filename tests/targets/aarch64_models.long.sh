# A perceptron, a smooth convolutional network and a small GPT learn on aarch64 what they learn here, but
# for rounding; to the bit with 1, 2 and 7 threads, and so does a network with the largest of windows.
. tests/programs/lib/common.sh
. "$root/tests/targets/emitted"
small_data
ln -s "$data/tinyshakespeare.txt.gz" data/
cp "$root/tests/programs/lib/models.flow" .

"$FLOWC" build models.flow -o native >/dev/null
"$FLOWC" build models.flow --emit=c -o emitted
cross_compile emitted
for model in mlp cnn smooth_cnn gpt; do
    ./native $model --count=10 >/dev/null
    mv $model $model.native.1
    for threads in 1 2 7; do
        emulated emitted/trainer $model --count=10 --threads=$threads >/dev/null
        mv $model $model.aarch64.$threads
        same $model.aarch64.1 $model.aarch64.$threads
    done
done
python3 "$root/tests/programs/lib/alike.py" native aarch64
