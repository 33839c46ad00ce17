# The C that flowc leaves behind is cross-compiled for aarch64 and learns the same there, but for
# rounding; to the bit with any number of threads.
. tests/programs/lib/common.sh
. "$root/tests/targets/emitted"

small_data
[ "$(uname -m)" != x86_64 ] || expect 2 "for other processors there is --emit=c" "$FLOWC" build "$digits" --target=aarch64
"$FLOWC" build "$digits" --emit=c -o emitted
cross_compile emitted
for threads in 1 2; do
    emulated emitted/trainer --epochs=1 --threads=$threads >emulated.$threads
    mv digits.safetensors emulated.$threads.safetensors
done
same emulated.1 emulated.2
"$FLOWC" run "$digits" --epochs=1 --threads=1 >native
python3 - emulated.1 native <<'EOP'
import re, sys

found, wanted = ([float(n) for n in re.findall(r"\d+\.\d+", open(path).read())] for path in sys.argv[1:])
print(found, wanted)
assert wanted and len(found) == len(wanted), "other things are reported"
assert all(abs(f - w) <= 0.02 * abs(w) for f, w in zip(found, wanted)), "it learns otherwise"
EOP
