# The same for half an hour, or for SOAK seconds.
soak=${SOAK:-1800}
. tests/programs/lib/soak.sh
