# Where the time of steps goes: a row for each kernel, whoever makes it, and a picture.
. tests/programs/lib/common.sh
cat >'a&b<c.flow' <<'END'
option width = 64 "numbers of a record"

pipeline numbers() -> (x: f32[width]) { return range(640) |> map(x: cast(index, f32) / 640 + cast(iota(width), f32) / 64) }

model twice(x: f32[B, N]) -> f32[B, N] {
  let h = dense(x, N)
  scan t in 3 { h = tanh(h + x) }
  return dense(h, N)
}

train fit {
  data      = numbers() |> batch(32)
  loss      = mean((twice(data.x) - 1) ^ 2)
  optimizer = sgd(0.01)
  epochs    = 2
  every 1 epoch {
    evaluate numbers() |> batch(64)
    save "fit.safetensors"
  }
}
END
"$FLOWC" build 'a&b<c.flow' -o profiled
"$FLOWC" check --explain 'a&b<c.flow' >explained
grep -q '^limits of [0-9]* threads, as measured now: [0-9]* GFLOP/s' explained || fail "no limits: $(cat explained)"
[ "$(sed -n '/^fit.step/,/^$/p' explained | grep -A 5 'contraction \[B, 64, 64\]' | grep -c 'at least [0-9.e-]* us: \(arithmetic\|cache\|memory\)$')" -ge 2 ] || fail "no prediction: $(cat explained)"
for threads in 1 2; do
    ./profiled --threads=$threads --profile=picture.svg 2>said
    grep -q "^limits: [0-9]* GFLOP/s, of bf16 [0-9].* from memory, by $threads thread" said || fail "no limits: $(cat said)"
    grep -q "^fit.step: 40 times [0-9.]* us by $threads thread" said || fail "not 40 steps: $(cat said)"
    [ "$(sed -n '/^fit.step/,/^$/p' said | grep -c 'scan: a&b<c.flow:')" = 2 ] || fail "not the loop and its gradient: $(cat said)"
    sed -n '/^fit.step/,/^$/p' said | grep -q '% \(arithmetic\|cache\|memory\) .* contraction \[B, 64, 64\]: a&b<c.flow:6 matmul.*; matmul.c, tiles of [0-9]* x [0-9]*' || fail "no product: $(cat said)"
    for part in 'kernels of fit.step' 'batches of evaluations' saves 'the rest'; do
        sed -n '/^where [0-9.]* s went/,/^$/p' said | grep -q " %  $part" || fail "no $part: $(cat said)"
    done
    python3 - <<'END'
# Parts of the run's time are all of it. Nothing is far beyond its limit: both were measured, at
# different moments of a busy machine.
import re
text = open("said").read()
parts = [float(at) for at in re.findall(r"^ *[0-9.]+ +([0-9.]+) %  \S", text.split("limits:")[0], re.M)]
assert abs(sum(parts) - 100) < 1, parts
reached = [float(at) for at in re.findall(r" ([0-9.]+) % (?:arithmetic|cache|memory) ", text)]
assert reached and 0 < max(reached) < 1000, reached
END
    python3 - <<'END'
import xml.etree.ElementTree as tree
texts = [node.text for node in tree.parse("picture.svg").iter() if node.text]
assert any(text.startswith("fit.step: ") and "the mean of 40" in text for text in texts), texts
assert any("a&b<c.flow:6 matmul" in text for text in texts), texts
END
done

./profiled --save=plain.safetensors >one 2>&1
./profiled --save=seen.safetensors --profile >two 2>/dev/null
same plain.safetensors seen.safetensors
expect 2 '--profile: `steps.csv` is not FILE.svg' ./profiled --profile=steps.csv
expect 3 'none/a.svg' ./profiled --profile=none/a.svg
