# Steps that one GPU computes go ahead of the host: they give what steps give that are waited for, to the
# bit, and so do averages, a run that is stopped and resumed, and the line that says which step went wrong.
. tests/programs/lib/common.sh
cp -r "$data" .
sed -e 's/dense(256)/dense(4)/; s/|> batch(batch_size)/|> take(58) |> batch(8)/; s/|> batch(1000)/|> take(16) |> batch(16)/' "$digits" >gpu.flow
gpu="--device=gpu --simulate=gpu:1"
epochs() { sed -n 's/^epoch \([^ ]* loss=[^ ]* accuracy=[^ ]*\).*/\1/p' stderr; }

# Waited for, each kernel by itself; the last batch of an epoch is smaller.
FLOWC_PROGRESS=plain "$FLOWC" run $gpu gpu.flow --epochs=3 --profile >expected 2>stderr || fail "$(cat stderr)"
epochs >expected.epochs && [ "$(wc -l <expected.epochs)" = 3 ] || fail "$(cat stderr)"
mv digits.safetensors waited.safetensors
for workers in 0 1; do
    FLOWC_PROGRESS=plain "$FLOWC" run $gpu gpu.flow --epochs=3 --workers=$workers >out 2>stderr || fail "$(cat stderr)"
    same expected out
    epochs | cmp - expected.epochs || fail "$(cat stderr)"
    python3 - <<'E2' || fail "other weights"
import json, struct

def weights(path):
    data = open(path, "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]

assert weights("digits.safetensors") == weights("waited.safetensors")
E2
done

# Stopped somewhere, and resumed.
cp digits.safetensors whole && rm digits.safetensors
FLOWC_SIMULATE_DELAY=20000 "$FLOWC" run $gpu gpu.flow --epochs=3 --trace=trace.json >first 2>stderr &
until_true "[ -s trace.json ] && grep -q 'step 5' trace.json"
stopped $!
"$FLOWC" run $gpu gpu.flow --epochs=3 --resume >resumed 2>stderr || fail "$(cat stderr)"
cat first resumed >both
same both expected

# The seventh step goes wrong while others are on their way.
sed 's|adam(rate.*)$|sgd(rate / (6 - step))|' gpu.flow >wrong.flow
for device in "" "$gpu"; do
    expect 1 'is nan at step 7 (epoch 1): first at multiply' "$FLOWC" run $device wrong.flow --epochs=1
    grep error: stderr >>errors
done
[ "$(sort -u errors | wc -l)" = 1 ] || fail "$(cat errors)"
