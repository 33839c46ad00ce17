# Examples run to their end on a simulated GPU, and print and save what they do on the CPU. There are fewer records
# and smaller batches, as the stand-in is slow. LONG=1: all of them, else some; those of TensorFlow have a test of their own.
. tests/programs/lib/gpus.sh
ln -s "$data" data
gpu="--device=gpu --simulate=gpu:1"

# less NAME SED: the program with less to do.
less() { sed "$2" "$root/examples/$1.flow" >"$1.flow"; }

# learns NAME flags…: trains on both devices.
learns() {
    name=$1
    shift
    FLOWC_DEVICE=gpu "$FLOWC" check --explain --simulate=gpu:1 "$name.flow" >explain || fail "$name: $(cat explain)"
    [ "$(grep -c '^ *kernel .* on gpu(0)' explain)" -ge 5 ] || fail "$name: its step is not on the GPU: $(cat explain)"
    run expected --device=cpu "$@"
    run out $gpu "$@"
    grep -q '^evaluate.*loss=' out && grep -q '^loss=' out || fail "$name: no losses: $(cat out)"
    close "$name"
    echo "$name: $(tail -n 2 out | paste -sd ' ')"
}
images='s/|> batch(batch_size)/|> take(20) |> batch(8)/; s/|> batch(1000)/|> take(8) |> batch(8)/'
photos='s/|> batch(batch_size)/|> take(3) |> batch(2)/; s/|> batch(1*[05]*00)/|> take(2) |> batch(2)/; s/every 5 epochs/every 1 epoch/'
tables='s/take([0-9k]*) |> shuffle/take(100) |> shuffle/; s/batch(batch_size)/batch(32)/; s/|> batch(1000)/|> take(40) |> batch(20)/'
words='s/every 500 steps/every 4 steps/; s/known = 36k/known = 400/; s/held_out = .*/held_out = 100/; s/batch(100)/batch(4)/'
touch names
few="--batch_size=4 --steps=4 --width=32 --context=16"

# writes NAME PIPELINE LINES [FILE]: what a pipeline with a trained model writes.
writes() {
    local name=$1 pipeline=$2 lines=$3 file=${4:-}
    run expected $pipeline --device=cpu <names && [ -z "$file" ] || mv "$file" expected
    run out $pipeline $gpu <names && [ -z "$file" ] || mv "$file" out
    [ "$(wc -l <out)" = "$lines" ] || fail "$name $pipeline: $(cat out)"
    close "$name $pipeline"
}

less titanic "$tables" && learns titanic --epochs=2
writes titanic guesses 180
less char_gpt "$words" && learns char_gpt $few --layers=2 --heads=2
[ -n "${LONG:-}" ] || exit 0

less digits "$images" && learns digits --epochs=1
less digits_cnn "$photos" && learns digits_cnn --epochs=1
less autoencoder "$images" && learns autoencoder --epochs=1
less vae "$images" && learns vae --epochs=1
less rows "$images" && learns rows --epochs=1
less housing "$tables" && learns housing --epochs=2
less housing_linear "$tables" && learns housing_linear --epochs=2
less sine 's/take(10000)/take(96)/; s/batch(500)/take(40) |> batch(20)/' && learns sine --epochs=1
less word2vec 's/take(180k)/take(256)/; s/skip(180002)/skip(180002) |> take(64)/; s/batch(512)/batch(64)/' && learns word2vec --epochs=1
less bpe_gpt "$words" && learns bpe_gpt $few --heads=2
less char_lstm "$words" && learns char_lstm $few
less cifar_resnet "$photos" && learns cifar_resnet --epochs=1
"$FLOWC" run "$root/examples/photos.flow" unpack
less photos "$photos" && learns photos fit --epochs=1
writes vae samples 33 samples.csv
less score 's/take(1000)/take(24)/'
"$FLOWC" run score.flow pictures
ls pictures/*.png >names
writes score score 25
