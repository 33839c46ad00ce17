# A line that was run before starts its program at once, as long as nothing has changed that decides what it comes to.
. tests/programs/lib/common.sh
export XDG_CACHE_HOME=$PWD/cache
unset FLOW_PATH FLOWC_DEVICE FLOWC_MEASURE
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
expect 1 'helper.flow' "$FLOWC" run --path=first:second p/main.flow
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

# What says where things run, and whoever wants to see how it is compiled.
expect 1 'not on this machine' "$FLOWC" run --device='gpu(9)' --path=second p/main.flow
FLOWC_DEVICE='gpu(9)' expect 1 'not on this machine' "$FLOWC" run --path=second p/main.flow
gives 121 yes --path=second p/main.flow
gives 121 no --path=second --no-cache p/main.flow
gives 121 no --path=second --keep p/main.flow

# A note that is damaged, or that others could have written, counts for nothing; so does a program that is damaged.
notes=cache/flowc/recalled
for note in "$notes"/*; do printf x | dd of="$note" bs=1 seek=40 conv=notrunc 2>/dev/null; done
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
cp home/flowc copy && mv copy home/flowc
gives 7 no library.flow
gives 7 yes library.flow
