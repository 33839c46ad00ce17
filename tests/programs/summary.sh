# flowc summary: layers by path with shapes, parameters and work; totals; --ops.
. tests/programs/lib/common.sh
has() { grep -qE -- "^ *$1\$" out || fail "'$1' is not in: $(cat out)"; }

"$FLOWC" summary "$digits" >out
has 'train fit: batches of 64 records'
has 'classifier +f32\[B, 10\] +203,530 +407,050 +40'
has 'classifier/dense.1 +f32\[B, 256\] +200,960 +401,664 +1,024'
has 'classifier/relu.1 +f32\[B, 256\] +0 +256 +1,024'
has 'parameters +203,530, 795.0 KiB'
has 'optimizer +1590.1 KiB'
has 'export classify: one record'
grep -q 'log_softmax\|adam' out && fail "what functions and the trainer call is shown"

"$FLOWC" summary "$digits" classify --ops >out
has 'matmul +f32\[1, 256\] +401,408 +.*digits.flow:24'
has 'weight +f32\[784, 256\] .* classifier/dense.1/w'
has 'top1 +\(a record\) +0 +10'
grep -q 'train fit' out && fail "fit was not asked for"

expect 1 'no export `nothing`' "$FLOWC" summary "$digits" nothing
expect 2 'no-such-option' "$FLOWC" summary "$digits" --no-such-option=1
"$FLOWC" summary "$digits" --batch_size=128 | grep -q 'batches of 128' || fail "an option is not taken"
