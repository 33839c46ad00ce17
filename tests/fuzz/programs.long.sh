# Many random programs (COUNT in all, in two processes): the evaluator, plain C and optimised C agree.
set -euo pipefail
half=$((${COUNT:-3000} / 2))
"$BUILD/tests/check/programs" $half 1000 &
first=$!
"$BUILD/tests/check/programs" $half $((1000 + half))
wait $first
