# Pipelines that are killed go on with the next record; the long test does so more often.
rounds=3
. tests/programs/lib/kill_pipelines.sh
