# The C that is left behind builds with make alone; the same program gives the same text.
. tests/programs/lib/common.sh
unset FLOWC_TARGET # all levels
small_data
"$FLOWC" build "$digits" --emit=c -o one
"$FLOWC" build "$digits" --emit=c -o two
diff -r one two || fail "not reproducible"
make -s -C one CC="$quick_cc" ARCH=-march=x86-64-v3
one/trainer --epochs=1 >emitted.out
grep -q '^evaluate digits: ' emitted.out
