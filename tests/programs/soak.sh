# An endless stream and an endless training hold no more at last than at first: the short form.
soak=0
. tests/programs/lib/soak.sh
