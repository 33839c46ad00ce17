# `epoch` in a train block counts the passes: 0.5 in the middle of the first.
. tests/programs/lib/common.sh
small_data
sed 's/0.999 ^ step/(1 - epoch \/ 2)/; s/batch_size = 64/batch_size = 50/; s/every 1 epoch {/every 20 steps { print epoch }\n  &/' "$digits" >p.flow
"$FLOWC" run p.flow --epochs=2 >out
sed -n 's/.*epoch = //p' out >actual
printf '%s\n' 0.5 1 1.5 2 >expected
same expected actual
