# Ops, views and graphs compiled for x86-64-v3 agree with the evaluator.
. tests/targets/environment
level_agrees x86-64-v3
