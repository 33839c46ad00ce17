# What people get wrong: each ends with a clear message, the documented code, and nothing lost.
. tests/programs/lib/common.sh
small_data
sed 's/^option epochs .*/option epochs = 1 "passes"/' "$digits" >p.flow
"$FLOWC" run p.flow >/dev/null
cp digits.safetensors good

# A changed program does not resume another's run; a moved comment changes nothing.
for edit in s/relu/tanh/ s/seed.=.7/seed=8/ 's/1 \/ 255/1 \/ 128/' 's/adam(.*/sgd(rate)/' \
    's/^train fit {/& precision = tf32/' 's/^train fit {/& precision = bf16/'; do
    sed "$edit" p.flow >changed.flow
    expect 1 "saved by another program, or by another version" "$FLOWC" run changed.flow --resume --epochs=2
    same good digits.safetensors
done
{ echo '# a comment'; cat p.flow; } >commented.flow
"$FLOWC" run commented.flow --resume --epochs=2 >/dev/null
cp good digits.safetensors

# Nor does one that reads other columns, however they are called.
printf 'a # 1,a # 2,b\n1,2,3\n4,5,6\n' >table.csv
cat >columns.flow <<'END'
pipeline rows() -> (x: f32[1], y: f32) {
  return csv("table.csv") |> map(x: reshape(column("a # 1"), [1]), y: b)
}
model line(x: f32[B, 1]) -> f32[B] { return x |> dense(1) |> squeeze(1) }
train fit {
  data      = rows() |> batch(2)
  loss      = mean((line(data.x) - data.y) ^ 2)
  optimizer = sgd(0.1)
  every 1 epoch { save "columns.safetensors" }
}
END
sed 's/a # 1/a # 2/' columns.flow >others.flow
"$FLOWC" run columns.flow >/dev/null
expect 1 "saved by another program, or by another version" "$FLOWC" run others.flow --resume=columns.safetensors

expect 1 "typo.safetensors" "$FLOWC" run p.flow --resume=typo.safetensors
same good digits.safetensors
mkfifo pipe
expect 3 pipe "$FLOWC" run p.flow --save=pipe
[ -p pipe ] || fail "the pipe was replaced"
: >real.safetensors
ln -s real.safetensors link.safetensors
"$FLOWC" run p.flow --save=link.safetensors >/dev/null
[ -L link.safetensors ] && [ -s real.safetensors ] || fail "the link was replaced"

expect 2 "overwrite the program" "$FLOWC" build p.flow -o p.flow
expect 2 "no target" "$FLOWC" build p.flow --target=vax
"$FLOWC" help | grep -q -- 'flowc COMMAND --help' || fail "no help"
expect 3 "false" "$FLOWC" build p.flow --cc=false -o trainer
expect 2 "batch_sice" "$FLOWC" build p.flow --batch_sice=3
expect 2 'no flag `--device=gpu`; it is a flag of run, build, export, explain, doctor' "$FLOWC" check --device=gpu p.flow
expect 2 'no flag `--bundle`; it is a flag of build' "$FLOWC" check --bundle p.flow
expect 2 "is no flag and no option of p.flow; it is a flag of run, build, export, explain, doctor" "$FLOWC" check p.flow --device=gpu
expect 2 "whole number" "$FLOWC" run p.flow --epochs=abc
expect 1 "nan" "$FLOWC" run p.flow --rate=1e30
expect 1 "nothing.flow" "$FLOWC" run nothing.flow

# An unusable cache: the run goes on, says so, and leaves nothing behind.
mkdir scratch
: >file
before=$(ls scratch)
XDG_CACHE_HOME=$PWD/file TMPDIR=$PWD/scratch expect 0 "not cached" "$FLOWC" run p.flow
[ "$before" = "$(ls scratch)" ] || fail "left behind: $(ls scratch)"

# What a killed build left in the cache goes, and what is being built stays.
mkdir -p cache/flowc/.building.killed/part cache/flowc/.building.other
chmod -R go-w cache
touch -d "2 days ago" cache/flowc/.building.killed
XDG_CACHE_HOME=$PWD/cache "$FLOWC" run p.flow >/dev/null
[ ! -e cache/flowc/.building.killed ] && [ -e cache/flowc/.building.other ] || fail "the cache has $(ls -A cache/flowc)"

# Standard output closed: nothing is written into the program's own files.
"$FLOWC" run p.flow >&- || fail "exit $?"
"$FLOWC" run p.flow --resume --epochs=2 >/dev/null

# What is printed goes nowhere, and that is no success.
for command in "summary p.flow" "check --explain p.flow" devices explain; do
    expect 3 "standard output" bash -c "'$FLOWC' $command >/dev/full"
done
