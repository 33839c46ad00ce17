# A disk that is full while saving: exit 3, the file named, the last checkpoint intact.
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
