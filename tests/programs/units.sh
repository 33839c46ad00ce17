# A program of many kernels is several files, compiled at the same time; it computes the same as in
# one file. Each reads of the templates what its kernels call: sums of rows and functions of whole
# rows are among those of this one.
. tests/programs/lib/common.sh
small_data
layers=
for width in 33 34 35; do layers="$layers |> dense($width) |> relu()"; done
layers="$layers |> cumsum(axis = -1)"
sed "s/|> dense(256) |> relu()/$layers/" "$digits" >wide.flow
grep -q 'dense(35)' wide.flow || fail "the example has changed"
trained() { # program
    "$1" --epochs=1 >"$2.out"
    mv digits.safetensors "$2.safetensors"
}
"$FLOWC" build wide.flow -o built
trained ./built built
"$FLOWC" build wide.flow --emit=c -o several
[ -f several/kernels_2.c ] || fail "one unit only"
grep -q '^#define FLOW_NO_ROW_FUNCTIONS' several/kernels_1.c || fail "kernels_1.c reads what it has no use for"
grep -L FLOW_NO_ROW_FUNCTIONS several/kernels_*.c | grep -q . || fail "no unit has functions of rows"
[ "$(grep -l '^#define FLOW_REDUCES_f32' several/*.c)" = "$(grep -l 'flow_row_.*_f32(' several/*.c)" ] ||
    fail "not the files that reduce rows say so"
! grep -h '^#define FLOW_REDUCES_' several/*.c | grep -v f32 || fail "nothing else is reduced"
cp -r several one
(cd one && (echo '#define FLOW_REDUCES_f32'; cat kernels_*.c program.c) | grep -v '^#define FLOW_NO_' >whole && rm kernels_*.c && mv whole program.c && echo UNITS = program.c >units.mk)
for folder in several one; do
    make_emitted $folder ARCH=-march=x86-64-v3
    trained $folder/trainer $folder
done
same several.safetensors one.safetensors
same built.out one.out
