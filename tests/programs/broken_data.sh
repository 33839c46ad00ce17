# Data that is not what it should be ends a run with one clear message and keeps the last weights.
. tests/programs/lib/common.sh
small_data
cp -r data good
"$FLOWC" build "$digits" -o trainer
./trainer --epochs=1 >/dev/null
cp digits.safetensors last.safetensors
images=data/train-images-idx3-ubyte.gz labels=data/train-labels-idx1-ubyte.gz
restore() { cp good/* data/; same last.safetensors digits.safetensors; }

head -c 100000 good/train-images-idx3-ubyte.gz >$images
expect 1 train-images ./trainer
restore
{ head -c 5000 good/train-images-idx3-ubyte.gz; printf 'garbage'; tail -c +5008 good/train-images-idx3-ubyte.gz; } >$images
expect 1 train-images ./trainer
restore
printf 'not an idx file' | gzip >$images
expect 1 train-images ./trainer
restore
{ printf '\0\0\10\1\0\0\7\317'; gzip -dc good/train-labels-idx1-ubyte.gz | tail -c +9 | head -c 1999; } | gzip >$labels
expect 1 1999 ./trainer
restore
{ printf '\0\0\10\1\0\0\7\320'; gzip -dc good/train-labels-idx1-ubyte.gz | tail -c +9 | head -c 123; printf '\13'; gzip -dc good/train-labels-idx1-ubyte.gz | tail -c +133; } | gzip >$labels
expect 1 "record 123" ./trainer
grep -q train-labels stderr || fail "the file is not named: $(cat stderr)"
restore
rm $labels
expect 1 train-labels ./trainer
restore
