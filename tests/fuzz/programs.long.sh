# Many random programs (COUNT in all, in two processes): the evaluator, plain, fused and optimised C agree.
set -euo pipefail
half=$((${COUNT:-20000} / 2))
"$BUILD/tests/check/programs" $half 1000 &
first=$!
"$BUILD/tests/check/programs" $half $((1000 + half))
wait $first
