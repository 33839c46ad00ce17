# A batch computed in parts trains as the whole does, in less memory; more than `memory` is refused.
. tests/programs/lib/common.sh
small_data
sed -e 's/^option batch_size = .*/option batch_size = 50/; s/adam(.*/sgd(0.1)/; s/^option epochs .*/option epochs = 1/' "$digits" >whole.flow
sed 's/^  optimizer/  microbatches = 5\n&/' whole.flow >parts.flow
"$FLOWC" run whole.flow >whole
"$FLOWC" run parts.flow >parts
loss() { sed -n 's/.*loss=\([0-9.]*\) .*/\1/p' "$1"; }
awk "BEGIN { d = $(loss whole) - $(loss parts); exit !(d * d < 1e-6) }" || fail "$(cat whole parts)"

sed 's/^  optimizer/  memory = 4GiB\n&/' parts.flow >roomy.flow
"$FLOWC" run roomy.flow >roomy
same parts roomy
sed 's/^  optimizer/  memory = 1MiB\n&/' parts.flow >tight.flow
for command in check run build; do
    expect 1 'error[E0306]: too much memory' "$FLOWC" $command tight.flow
    grep -q 'classifier/dense.1/w: f32\[784, 256\]' stderr || fail "$(cat stderr)"
done
sed 's/^  optimizer/  replicas = gpus(all)\n&/' whole.flow >replicas.flow
expect 1 'error[E0304]' "$FLOWC" run replicas.flow
"$FLOWC" run --soft-placement replicas.flow >replicas 2>stderr
grep -q 'replicas.flow:[0-9]*: replicas is one on the CPU: ' stderr || fail "$(cat stderr)"
same whole replicas
"$FLOWC" run roomy.flow --workers=2 >workers
same parts workers
