# The exported library classifies as `evaluate` does and allocates nothing on the way.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # all levels
"$FLOWC" run "$digits" --epochs=1 >run.out
"$FLOWC" export "$digits" -o lib
gzip -dc "$data/t10k-images-idx3-ubyte.gz" >images
gzip -dc "$data/t10k-labels-idx1-ubyte.gz" >labels
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o static "$root/tests/programs/lib/classify.c" lib/libdigits.a -lz -lm -lpthread -Wl,--wrap=malloc,--wrap=calloc
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o shared "$root/tests/programs/lib/classify.c" -Llib -ldigits -Wl,-rpath,"$PWD/lib" -Wl,--wrap=malloc,--wrap=calloc
./static images labels lib/digits.safetensors 10001 >static.out
./shared images labels lib/digits.safetensors 10001 >shared.out
same static.out shared.out
grep -q ' 0 allocations' static.out || fail "$(cat static.out)"
right=$(cut -d' ' -f1 static.out)
told=$(sed -n 's/.*accuracy=//p' run.out)
awk "BEGIN { exit !(sprintf(\"%.4f\", $right / 10000) == \"$told\") }" || fail "$right right, but evaluate says $told"
if ./static images labels missing.safetensors 11; then fail "missing weights were not noticed"; fi
nm -g --defined-only lib/libdigits.a >names
if grep -v ' digits_' names | grep -q ' T '; then fail "more than digits_* is visible"; fi
alone lib/libdigits.a
grep -q -- -ldigits lib/digits.pc
