# The example of streaming inference, as the README says it.
. tests/programs/lib/examples.sh
small_data
trained digits --epochs=8
cp "$root/examples/score.flow" .
"$FLOWC" run score.flow pictures
[ "$(ls pictures | wc -l)" = 1000 ] || fail "pictures"
ls pictures/*.png | "$FLOWC" run score.flow score >scores.csv
[ "$(head -1 scores.csv)" = name,digit,probability ] || fail "$(head -3 scores.csv)"
gzip -dc data/t10k-labels-idx1-ubyte.gz | tail -c +9 | head -c 1000 | od -An -v -tu1 -w1 | tr -d ' ' >labels
right=$(tail -n +2 scores.csv | cut -d, -f2 | paste - labels | awk '$1 == $2 { right++ } END { print right }')
[ "$right" -gt 700 ] || fail "$right of 1000 are right"

# An answer comes before the next question; what is no image is passed over.
mkfifo in
"$FLOWC" run score.flow score <in > >(cat >answers) 2>stderr & run=$!
exec 9>in
echo pictures/000017.png >&9
until_true "grep -q pictures/000017.png answers"
printf '%s\n' score.flow nothing.png pictures/000018.png >&9
until_true "grep -q pictures/000018.png answers"
exec 9>&-
wait $run
grep -q '2 records rejected' stderr || fail "$(cat stderr)"
for name in 000017 000018; do grep "^pictures/$name.png" scores.csv; done | cut -d, -f1,2 >expected
tail -n +2 answers | cut -d, -f1,2 >actual
same expected actual

# A folder that is being filled.
mkdir incoming
cp pictures/000000.png incoming
"$FLOWC" build score.flow -o score
./score incoming > >(cat >answers) 2>stderr & run=$!
until_true "grep -q 000000.png answers"
cp pictures/000001.png incoming
until_true "grep -q 000001.png answers"
stopped $run
