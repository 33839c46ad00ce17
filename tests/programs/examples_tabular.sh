# The examples on tables, series and words learn in a moment most of what they learn in the end.
. tests/programs/lib/examples.sh
trained housing_linear --epochs=4 && reaches housing_linear r2 '>' 0.58
trained housing --epochs=4 && reaches housing r2 '>' 0.70
trained titanic --epochs=30 && reaches titanic auc '>' 0.86
trained sine --epochs=1 && reaches sine rmse '<' 0.14
sed 's/180k/40k/; s/180002/200002/' "$root/examples/word2vec.flow" >word2vec.flow
trained word2vec --epochs=1 && reaches word2vec mean '>' 0.21

# All 179 passengers that were left out get their chance, with the weights that the training saved.
"$FLOWC" run titanic.flow guesses >guesses
awk -F, 'NR > 1 && $1 == ($2 > 0.5) { right++ } END { exit !(NR == 180 && right > 0.75 * 179) }' guesses ||
    fail "the saved weights guess otherwise"

# The library prices a house by the bay as the census did, within a third.
"$FLOWC" export housing.flow -o lib
cat >price.c <<'EOF'
#include "housing.h"

int main(void) {
    float value;
    Housing *housing = housing_create("lib/housing.safetensors", NULL, 0);
    if (!housing || housing_price(housing, 0, 0, 0, 0, 0, 0, 0, 0, 5, &value) != 1) return 1;
    int place = housing_ocean_proximity_index(housing, "NEAR BAY");
    if (housing_price(housing, -122.23f, 37.88f, 41, 880, 129, 322, 126, 8.3252f, place, &value)) return 2;
    housing_destroy(housing);
    return value > 300000 && value < 600000 ? 0 : 3;
}
EOF
"${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -Ilib -o price price.c lib/libhousing.a -lz -lm -lpthread
./price || fail "price.c: $?"
