# A disk that is full while saving: exit 3, the file named, the last checkpoint intact; while records are
# written: nothing of them stays.
. tests/programs/lib/common.sh
small_data
"$FLOWC" build "$digits" -o trainer
mkdir full
mount -t tmpfs -o size=4M none full 2>mount.err || { echo "a small file system can't be mounted: $(cat mount.err)"; exit 77; }
trap 'umount "$folder/full"' EXIT
ln -s ../data full/data
(cd full && ../trainer --epochs=1 >/dev/null) # one checkpoint fits, a second beside it doesn't
cp full/digits.safetensors good
cd full
expect 3 digits.safetensors ../trainer
same ../good digits.safetensors
cd ..

echo 'pipeline many { return range(10000000) |> csv("full/many.csv") }' >many.flow
echo old >full/many.csv
expect 3 "full/many.csv: cannot be written: No space left on device" "$FLOWC" run many.flow many
[ "$(cat full/many.csv)" = old ] && [ ! -e full/many.csv.part ] || fail "$(ls full)"
