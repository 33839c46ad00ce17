# Ops, views, graphs and what formulas call agree with the evaluator on aarch64.
. tests/targets/environment
export CC=aarch64-linux-gnu-gcc
checks=$BUILD/aarch64/tests/check
cross_make "$checks"/{ops,views,codegen,programs,patterns,kernel,floats,row}
for part in kernel floats row; do
    emulated "$checks/$part" >"$folder/$part" 2>&1 || { echo "$part:" && tail -n 12 "$folder/$part" && exit 1; }
done
FLOWC_TEST_TARGET=-march=armv8-a agrees "$checks" emulated
