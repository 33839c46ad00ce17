# Options that are paths are flags of the built program; one that decides something at compile time is not.
. tests/programs/lib/common.sh
small_data
sed -e 's/"data\/train-images-idx3-ubyte.gz"/images/; s/save "digits.safetensors"/save output/' "$digits" >p.flow
cat >>p.flow <<'END'
option images = "data/nothing.gz" "the training images"
option output = "out.safetensors" "what is saved"
END
"$FLOWC" build p.flow -o trainer
./trainer --help >help
grep -q -- '--images=TEXT .*(default: data/nothing.gz)' help || fail "--help: $(cat help)"
expect 1 data/nothing.gz ./trainer --epochs=1
images=data/train-images-idx3-ubyte.gz
./trainer --epochs=1 --images=$images --output=mine.safetensors >built
[ -s mine.safetensors ] || fail "not saved where --output says"
"$FLOWC" run p.flow --epochs=1 --images=$images >run
same built run
same mine.safetensors out.safetensors
"$FLOWC" build p.flow --images=$images -o trainer
./trainer --epochs=1 >again
same built again
expect 1 data/nothing.gz ./trainer --images=data/nothing.gz
