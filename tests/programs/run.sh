# `flowc run` of the first example: it learns, says so, and a second run gives the same bytes.
. tests/programs/lib/common.sh
"$FLOWC" run "$digits" >first
grep -qE '^evaluate digits: loss=[0-9.]+ accuracy=[0-9.]+$' first || fail "no evaluation: $(cat first)"
[ "$(wc -l <first)" = 3 ] || fail "not one line an epoch: $(cat first)"
tail -n 1 first | awk -F= '{ exit !($3 >= 0.975) }' || fail "accuracy too low: $(tail -n 1 first)"
mv digits.safetensors first.safetensors
"$FLOWC" run "$digits" >second
same first second
same first.safetensors digits.safetensors
