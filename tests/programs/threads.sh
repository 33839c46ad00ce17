# A built trainer gives the bytes of `flowc run`, with any number of threads and workers.
. tests/programs/lib/common.sh
small_data
"$FLOWC" run "$digits" --epochs=2 >run.out
mv digits.safetensors run.safetensors
"$FLOWC" build "$digits" -o trainer
for threads in 1 2 7; do
    for workers in 0 1 3; do
        ./trainer --epochs=2 --threads=$threads --workers=$workers >built.out
        same run.out built.out
        same run.safetensors digits.safetensors
    done
done
