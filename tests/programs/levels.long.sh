# A perceptron, a convolutional network without comparisons and a small GPT learn the same on each level of
# processor that this machine has, but for rounding. On one level they do to the bit with 1, 2 and 7 threads,
# and so does a network with the largest of windows; between levels a rounding may choose another one there,
# so tests/peers/losses.py judges each of its steps.
. tests/programs/lib/common.sh
. "$root/tests/targets/levels"
small_data
ln -s "$data/tinyshakespeare.txt.gz" data/
cp "$root/tests/programs/lib/models.flow" .

levels=$(levels_here)
for level in $levels; do
    "$FLOWC" build models.flow --target="$level" -o models.$level >/dev/null
    for model in mlp cnn smooth_cnn gpt; do
        for threads in 1 2 7; do
            ./models.$level $model --threads=$threads >/dev/null
            mv $model $model.$level.$threads
            same $model.$level.1 $model.$level.$threads
        done
    done
done
python3 "$root/tests/programs/lib/alike.py" $levels
