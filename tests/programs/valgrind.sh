# valgrind finds nothing in the exported library.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # valgrind knows no v4
[ -z "$SAN" ] || { echo "a library with sanitizers does not run under valgrind"; exit 77; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
small_data
"$FLOWC" run "$digits" --epochs=1 >/dev/null
"$FLOWC" export "$digits" -o lib
gzip -dc "$data/t10k-images-idx3-ubyte.gz" >images
gzip -dc "$data/t10k-labels-idx1-ubyte.gz" >labels
"$CC" -O1 -Ilib -o classify "$root/tests/programs/lib/classify.c" lib/libdigits.a -lz -lm -lpthread -Wl,--wrap=malloc,--wrap=calloc
valgrind -q --leak-check=full --error-exitcode=9 ./classify images labels lib/digits.safetensors 300 >valgrind.out 2>&1 ||
    fail "valgrind: $(cat valgrind.out)"
