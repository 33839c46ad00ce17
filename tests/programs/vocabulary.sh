# Categories whose texts are found in the training data: kept with the weights, and the same ones in evaluations,
# after a resume with other data, in pipelines that load the model and in the library.
. tests/programs/lib/common.sh
# What the vocabularies are in a file of weights.
texts() { grep -ao '"vocabulary\.[^"]*":"[^"]*"' "$1"; }

awk 'BEGIN { print "kind,city,y"; for (i = 0; i < 500; i++) { k = (i * 7) % 4
    kind = k == 0 ? "" : k == 1 ? "\"the \"\"b\"\"\"" : k == 2 ? "zebra" : "\xc3\xa9"
    city = i % 50 == 7 ? "seldom" i : i % 3 == 0 ? "Ulm" : i % 3 == 1 ? "Bonn" : "Kiel"
    printf "%s,%s,%d\n", kind, city, k * 2 + i % 3 } }' >rows.csv
cat >words.flow <<'F'
option epochs = 2 "passes"
option file = "rows.csv"
option test = "rows.csv"
pipeline rows(path: path) -> (kind: i32 in 0..4, city: i32 in 0..5, y: f32) {
  return csv(path) |> shuffle(seed = 1) |> map(kind: category(kind, 4), city: category(city, 5, unknown = 1), y)
}
model net(kind: i32[N] in 0..4, city: i32[N] in 0..5) -> f32[N] {
  return concat([one_hot(kind, 4), one_hot(city, 5)], axis = -1) |> dense(1) |> squeeze(1)
}
train learn {
  data      = rows(file) |> take(400) |> batch(64)
  let guess = net(data.kind, data.city)
  loss      = mse(guess, data.y)
  optimizer = adam(0.05)
  epochs    = epochs
  every 1 epoch {
    evaluate rows(test) |> batch(100)
    save "words.safetensors"
    save weights("deployed.safetensors")
  }
}
pipeline guesses {
  let net = load(net, "deployed.safetensors")
  return rows(test) |> batch(50) |> map(kind, city, guess: net(kind, city)) |> unbatch() |> csv(stdout)
}
export guess(kind: i32[1] in 0..4, city: i32[1] in 0..5) -> f32[1] {
  return net(kind, city)
}
F
"$FLOWC" build words.flow -o words
./words learn --threads=1 --progress=plain >one.out 2>one.err
grep -q '^words: `rows.kind`: 4 texts$' one.err || fail "$(cat one.err)"
grep -q '^words: `rows.city`: 4 texts, the most frequent of 1[0-9]$' one.err || fail "$(cat one.err)"
mv words.safetensors one.safetensors
for how in --threads=2 --threads=3 --workers=3; do
    ./words learn $how >other.out
    same one.out other.out
    same one.safetensors words.safetensors
done

# A cache keeps what the texts stand for, not what they were while they were found.
mkdir cached && cp rows.csv cached
sed 's/rows(file) |> take(400)/rows(file) |> take(400) |> cache("rows.cache")/' words.flow >cached/words.flow
for run in fresh kept; do
    (cd cached && "$FLOWC" run words.flow learn >$run.out)
    same one.out cached/$run.out
done
(cd cached && "$FLOWC" run words.flow guesses >guesses.csv)

# Places: bytewise, the empty text first; 1 of the cities is unknown, the fourth kept one is a seldom one.
./words guesses >guesses.csv
same guesses.csv cached/guesses.csv
{ echo 'kind,city'; ./words guesses --test=rows.csv | tail -n +2 | cut -d, -f1,2 | sort -u; } >seen
grep -q '^0,0$' seen && grep -q '^3,3$' seen && grep -q ',1$' seen && ! grep -q ',5$' seen || fail "$(cat seen)"

# Other data after a resume and in an evaluation: the same numbers, in whatever order texts come.
{ head -1 rows.csv; tail -n +2 rows.csv | sed 's/,Ulm,/,Aachen,/' | tac; } >changed.csv
./words learn --resume --epochs=3 --file=changed.csv --test=rows.csv >/dev/null
[ "$(texts words.safetensors)" = "$(texts one.safetensors)" ] && grep -q 'Ulm' words.safetensors || fail "$(texts words.safetensors)"
./words learn --epochs=1 --file=changed.csv --test=changed.csv >/dev/null
texts words.safetensors | grep -q Aachen || fail "$(texts words.safetensors)"
printf 'kind,city,y\nzebra,Ulm,1\n' >few.csv
./words learn --epochs=1 >/dev/null
./words learn --resume --epochs=2 --test=few.csv >/dev/null
same one.safetensors words.safetensors
./words guesses --test=few.csv >few.out
grep -q '^2,3,' few.out || fail "zebra is 2, Ulm is 3: $(cat few.out)"

# Killed in the middle, where it waits for who reads its output, and resumed: the same vocabulary and weights.
mkdir killed && cp rows.csv killed
sed "s/^  every 1 epoch {/&\n    print \"$(printf '%020000d' 0)\"/" words.flow >killed/words.flow
(cd killed
"$FLOWC" build words.flow -o words
./words learn --epochs=30 >whole.out
mv words.safetensors whole.safetensors
mkfifo pipe
./words learn --epochs=30 >pipe 2>stderr & id=$!
exec 8<pipe
head -n 20 <&8 >/dev/null
kill -9 $id || fail "it has ended by itself: $(cat stderr)"
wait $id 2>/dev/null && fail "it ended before it was killed: $(cat stderr)"
exec 8<&-
[ "$(texts words.safetensors)" = "$(texts whole.safetensors)" ] || fail "$(texts words.safetensors)"
./words learn --epochs=30 --resume >resumed.out
[ "$(wc -l <resumed.out)" -lt "$(wc -l <whole.out)" ] && tail -n "$(wc -l <resumed.out)" whole.out | cmp - resumed.out || fail "other epochs follow"
same whole.safetensors words.safetensors)
./words learn --epochs=1 >/dev/null
sed 's/Bonn/Born/' words.safetensors >damaged.safetensors
expect 1 'its checksum is wrong' ./words learn --resume=damaged.safetensors --epochs=2
sed 's/Bonn/Zonn/' words.safetensors >damaged.safetensors
expect 1 'its vocabulary `rows.city` is damaged' ./words learn --resume=damaged.safetensors --epochs=2

# What training has not seen, or more than there is room for.
printf 'kind,city,y\nhorse,Ulm,1\n' >few.csv
expect 1 '`kind` is `horse`, none of those that the training data has' ./words guesses --test=few.csv
{ cat rows.csv; echo 'horse,Ulm,1'; } >more.csv
sed 's/|> take(400)//' words.flow >all.flow
expect 1 'the training data has 5 texts for `rows.kind`, `category` has room for 4' "$FLOWC" run all.flow learn --file=more.csv
cp one.safetensors kept.safetensors
sed 's/"vocabulary.rows.kind"/"vocabulary.rows.gone"/' deployed.safetensors >gone.safetensors
mv gone.safetensors deployed.safetensors
expect 1 'nothing says what the texts of `kind` stand for' ./words guesses
cp kept.safetensors words.safetensors

# A filter is asked about records that it leaves out, whose texts are known then; what is rejected is told once.
awk 'BEGIN { print "kind,x,y"; for (i = 0; i < 200; i++) printf "%c,%s,%d\n", 97 + i % 3, i == 57 ? "bad" : i % 7, i % 3 }' >rows3.csv
cat >filter.flow <<'F'
pipeline rows() -> (k: i32 in 0..3, x: f32[1], y: f32) {
  return csv("rows3.csv", on_error = log("bad.jsonl")) |> filter(y < 2) |> map(k: category(kind, 3), x: [x], y)
}
model net(k: i32[N] in 0..3, x: f32[N, 1]) -> f32[N] {
  return concat([one_hot(k, 3), standardise(x)], axis = -1) |> dense(1) |> squeeze(1)
}
train t {
  data      = rows() |> batch(32)
  loss      = mse(net(data.k, data.x), data.y)
  optimizer = adam(0.1)
}
F
"$FLOWC" run filter.flow 2>filter.err
grep -q '1 record rejected' filter.err && [ "$(wc -l <bad.jsonl)" = 1 ] || fail "$(cat filter.err bad.jsonl)"

# The library has the table.
"$FLOWC" export words.flow -o lib --weights=one.safetensors
alone lib/libwords.a
cat >use.c <<'F'
#include "words.h"
#include <stdio.h>
int main(int count, char **arguments) {
    char message[300];
    Words *words = words_create(arguments[1], message, sizeof message);
    if (!words) return puts(message), count - 1;
    int32_t kind = words_kind_index(words, "zebra"), city = words_city_index(words, "Ulm");
    float guess;
    if (words_guess(words, &kind, &city, &guess)) return 2;
    printf("%d %d %s %d %d %s %.4f\n", kind, city, words_kind_text(words, 1), words_kind_index(words, "horse"),
           words_city_index(words, "horse"), words_city_text(words, 1) ? "some" : "none", guess);
    words_destroy(words);
    return 0;
}
F
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -Ilib -o use use.c lib/libwords.a -lz -lm -lpthread
./use lib/words.safetensors >used
cp one.safetensors deployed.safetensors
printf 'kind,city,y\nzebra,Ulm,1\n' >few.csv
told=$(./words guesses --test=few.csv | tail -1 | cut -d, -f3)
awk -v told="$told" '{ exit !($1 == 2 && $2 == 3 && $3 == "the" && $4 == "\"b\"" && $5 == -1 && $6 == 1 && $7 == "none" && ($8 - told) ^ 2 < 1e-8) }' used || fail "$(cat used), not $told"
sed 's/"vocabulary.rows.kind"/"vocabulary.rows.gone"/' one.safetensors >gone.safetensors
if ./use gone.safetensors >message; then fail "a library without its vocabulary"; fi
grep -q 'it has no vocabulary `rows.kind`' message || fail "$(cat message)"

# Where one pipeline trains and another scores, the vocabulary needs a name that both say.
printf 'city,y\nUlm,1\nBonn,2\nKiel,3\n' >cities.csv
cat >apart.flow <<'F'
pipeline rows { return csv("cities.csv") |> map(c: category(city, 3), y) }
model net(c: i32[N] in 0..3) -> f32[N] { return one_hot(c, 3) |> dense(1) |> squeeze(1) }
train learn {
  data      = rows() |> batch(3)
  loss      = mse(net(data.c), data.y |> cast(f32))
  optimizer = adam(0.01)
  every 1 epoch { save weights("cities.safetensors") }
}
pipeline score {
  let trained = load(net, "cities.safetensors")
  return csv("cities.csv") |> map(c: category(city, 3)) |> batch(3) |> map(c, y: trained(c)) |> unbatch() |> csv(stdout)
}
F
"$FLOWC" run apart.flow learn >/dev/null
expect 1 'nothing says what the texts of `city` stand for: `score.city` is neither' "$FLOWC" run apart.flow score
sed 's/city, 3)/city, 3, vocabulary = "cities")/' apart.flow >shared.flow
"$FLOWC" run shared.flow learn >/dev/null
[ "$("$FLOWC" run shared.flow score | cut -d, -f1 | paste -sd,)" = c,2,0,1 ] || fail 'Ulm, Bonn and Kiel are not 2, 0 and 1'
