# A perceptron, a convolutional network and a small GPT learn the same on each level of processor that
# this machine has, but for rounding; on one of them to the bit, with 1, 2 and 7 threads.
. tests/programs/lib/common.sh
small_data
ln -s "$data/tinyshakespeare.txt.gz" data/
cp "$root/tests/programs/lib/models.flow" .

levels=x86-64
for level in x86-64-v3 x86-64-v4; do
    if /lib64/ld-linux-x86-64.so.2 --help | grep -q "$level (supported"; then levels+=" $level"; fi
done
for level in $levels; do
    "$FLOWC" build models.flow --target="$level" -o models.$level >/dev/null
    for model in mlp cnn gpt; do
        for threads in 1 2 7; do
            ./models.$level $model --threads=$threads >/dev/null
            mv $model $model.$level.$threads
            same $model.$level.1 $model.$level.$threads
        done
    done
done
python3 "$root/tests/programs/lib/alike.py" $levels
