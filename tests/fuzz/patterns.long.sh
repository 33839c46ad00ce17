# Every pattern and near-miss of fuse in every context.
"$BUILD/tests/check/patterns" 16
