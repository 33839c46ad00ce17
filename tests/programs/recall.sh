# A line that was run before starts its program at once, as long as nothing has changed that decides what it comes to.
. tests/programs/lib/common.sh
export XDG_CACHE_HOME=$PWD/cache
unset FLOW_PATH FLOWC_DEVICE FLOWC_MEASURE
export FLOWC_LIBCUDA=/nowhere # with a driver no line is recalled
mkdir -p p first second
cat >p/main.flow <<'END'
import "helper.flow"
option text = "plain"
option times = 1
dim N = times
pipeline demo { return csv("t.csv") |> map(x: helped(a |> : i64) + N - 1) |> print() }
END
printf 'a\n1\n' >p/t.csv
helps() { echo "fn helped(i: i64) -> i64 { return i + $1 }"; }
helps 10 >second/helper.flow

# gives X RECALLED WORDS…: the program prints x=X; RECALLED: yes or no.
gives() {
    local x=$1 recalled=$2
    shift 2
    "$FLOWC" run --time-passes "$@" >out 2>err || fail "$*: exit $?: $(cat err)"
    grep -qx "x=$x" out || fail "$*: not x=$x: $(cat out)"
    [ "$(grep -c '^recall ' err)" = "$([ "$recalled" = yes ] && echo 1 || echo 0)" ] || fail "$*: recalled is not $recalled: $(cat err)"
    [ "$(grep -c '^lower ' err)" = "$([ "$recalled" = yes ] && echo 0 || echo 1)" ] || fail "$*: $(cat err)"
}
gives 11 no --path=first:second p/main.flow
gives 11 yes --path=first:second p/main.flow
touch -d 2001-01-01 p/main.flow second/helper.flow
gives 11 yes --path=first:second p/main.flow

# Other words, also such as shape something, or have blanks and lines in them.
gives 14 no --path=first:second p/main.flow --times=4
gives 14 yes --path=first:second p/main.flow --times=4
gives 11 no --path=first:second p/main.flow --text=$'two\nlines, blanks'
gives 11 yes --path=first:second p/main.flow --text=$'two\nlines, blanks'
gives 11 yes --path=first:second p/main.flow

# The file, what it imports, and what is found earlier now.
sed -i 's/+ N - 1/+ N + 99/' p/main.flow
gives 111 no --path=first:second p/main.flow
gives 111 yes --path=first:second p/main.flow
helps 20 >second/helper.flow
gives 121 no --path=first:second p/main.flow
helps 30 >first/helper.flow
gives 131 no --path=first:second p/main.flow
gives 121 no --path=second p/main.flow
FLOW_PATH=first gives 131 no p/main.flow
FLOW_PATH=second gives 121 no p/main.flow
FLOW_PATH=first gives 131 yes p/main.flow
rm first/helper.flow
gives 121 no --path=first:second p/main.flow
mv second/helper.flow away
expect 1 'helper.flow' "$FLOWC" run --time-passes --path=first:second p/main.flow
mv away second/helper.flow
gives 121 yes --path=first:second p/main.flow

# The same line in another folder, or through a link that leads there, reads the data that lies there.
cp -r p q
printf 'a\n2\n' >q/t.csv
mkdir elsewhere
cp -r q elsewhere/p
cp -r second elsewhere
(cd elsewhere && gives 122 no --path=first:second p/main.flow)
ln -sfn p link && gives 121 no --path=second link/main.flow
ln -sfn q link && gives 122 no --path=second link/main.flow
ln -sfn p link && gives 121 yes --path=second link/main.flow

# What decides how it is compiled.
for word in --exact --target=x86-64 "--cc=$(command -v "${FLOWC_CC:-gcc}")"; do
    gives 121 no --path=second "$word" p/main.flow
    gives 121 yes --path=second "$word" p/main.flow
done
FLOWC_TARGET=x86-64 gives 121 no --path=second p/main.flow
FLOWC_TARGET=x86-64 gives 121 yes --path=second p/main.flow

# What says where things run, and whoever wants to see how it is compiled, or to measure.
expect 1 'not on this machine' "$FLOWC" run --device='gpu(9)' --path=second p/main.flow
FLOWC_DEVICE='gpu(9)' expect 1 'not on this machine' "$FLOWC" run --time-passes --path=second p/main.flow
: >p/main.lock
expect 1 'main.lock' "$FLOWC" run --time-passes --path=second p/main.flow
rm p/main.lock
gives 121 yes --path=second p/main.flow
for word in --no-cache --keep --explain --verbose --dump-ir --soft-placement --simulate=gpu:1 --visible-devices=none; do
    gives 121 no --path=second "$word" p/main.flow
    gives 121 no --path=second "$word" p/main.flow
done
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
for try in 1 2; do
    FLOWC_MEASURE=0 gives 121 no --path=second p/main.flow
    FLOWC_LIBCUDA=$standin FLOWC_LIBNVRTC=$standin FLOWC_SIMULATE=gpu:1 gives 121 no --path=second p/main.flow
done

# C that is linked.
echo 'extern fn twice(x: f32[N]) -> f32[N]
pipeline demo { return range(2) |> map(x: twice(broadcast(cast(index, f32), [1]))[0]) |> print() }' >linked.flow
for times in 2 3; do
    printf '#include <stdint.h>\nvoid twice(const float *x, int64_t n, float *y) { *y = %s * *x; }\n' $times >twice.c
    gives $times no --link=twice.c linked.flow
done

# A link that becomes a copy is a second file.
printf 'dim T <= 8\nfn first() -> i64 { return T }\n' >a.flow
printf 'import "b.flow"\nfn other() -> i64 { return T * 2 }\n' >c.flow
printf 'import "a.flow"\nimport "c.flow"\npipeline demo { return range(2) |> map(x: index + first() + other()) |> print() }\n' >links.flow
ln -s a.flow b.flow
gives 24 no links.flow
gives 24 yes links.flow
rm b.flow && cp a.flow b.flow
expect 1 'E0202' "$FLOWC" run --time-passes links.flow

# A note that is damaged, or that others could have written, counts for nothing; so does a program that is damaged.
notes=cache/flowc/recalled
for note in "$notes"/*; do printf x | dd of="$note" bs=1 seek=40 conv=notrunc 2>/dev/null; done
gives 121 no --path=second p/main.flow
for note in "$notes"/*; do printf x | dd of="$note" bs=1 seek=$(($(stat -c %s "$note") - 2)) conv=notrunc 2>/dev/null; done
gives 121 no --path=second p/main.flow
for note in "$notes"/*; do truncate -s -1 "$note"; done
gives 121 no --path=second p/main.flow
for note in "$notes"/*; do : >"$note"; done
gives 121 no --path=second p/main.flow
gives 121 yes --path=second p/main.flow
chmod go+w "$notes"
gives 121 no --path=second p/main.flow
chmod go-w "$notes"
gives 121 yes --path=second p/main.flow
for program in cache/flowc/*/program; do printf x | dd of="$program" bs=1 seek=500 conv=notrunc 2>/dev/null; done
gives 121 no --path=second p/main.flow
gives 121 yes --path=second p/main.flow

for program in cache/flowc/*/program; do rm "$program" && mkfifo "$program"; done
expect 0 'lower ' "$FLOWC" run --time-passes --path=second p/main.flow
gives 121 yes --path=second p/main.flow

# flowc's own library and flowc itself.
mkdir home
cp -r "$(dirname "$FLOWC")"/{flowc,lib,share} home
FLOWC=$PWD/home/flowc
cat >library.flow <<'END'
pipeline demo { return range(1) |> map(x: cast(relu(cast(index, f32) - 1), i64)) |> print() }
END
gives 0 no library.flow
gives 0 yes library.flow
sed -i '/^fn relu/,/^}/s/maximum(x, 0)/maximum(x, 7)/' home/share/flowc/lang/std/activations.flow
gives 7 no library.flow
part=home/share/flowc/lang/std/activations.flow
sed 's/maximum(x, 7)/maximum(x, 8)/' $part >new && touch -r $part new && cp -p new $part
gives 8 no library.flow
cp home/flowc copy && mv copy home/flowc
gives 8 no library.flow
gives 8 yes library.flow
