# Each of four pipelines killed ROUNDS times (50).
rounds=${ROUNDS:-50}
. tests/programs/lib/kill_pipelines.sh
