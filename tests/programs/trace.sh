# `--trace=FILE.json`: what each thread and each GPU does when, as JSON that is whole at any end of the
# run; spans of a line nest, kernels are named by their lines. Steps of a GPU go ahead of it, and records are
# written beside the making of others.
. tests/programs/lib/common.sh
cp -r "$data" .
sed -e 's/dense(256)/dense(4)/; s/|> batch(batch_size)/|> take(160) |> batch(8)/; s/|> batch(1000)/|> take(32) |> batch(32)/' "$digits" >'a"b\.flow'
cat >look.py <<'E2'
import json, sys
from collections import defaultdict

events = json.load(open(sys.argv[1]))["traceEvents"]
lines, names, counters = defaultdict(list), {}, defaultdict(list)
for event in events:
    if event["ph"] == "M":
        names[event["pid"], event["tid"], event["name"]] = event["args"]["name"]
    elif event["ph"] == "X":
        lines[event["pid"], event["tid"]].append(event)
    else:
        counters[event["name"]].append(event["args"]["number"])
for line, spans in lines.items():
    open_ends = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        end = span["ts"] + span["dur"]
        while open_ends and open_ends[-1] <= span["ts"]:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 1e-3, (line, span)
        open_ends.append(end)


def spans(process, thread, text):
    wanted = [line for line in lines if names.get((line[0], 0, "process_name")) == process
              and thread in names[line + ("thread_name",)]]
    found = [span for line in wanted for span in lines[line] if text in span["name"]]
    return sorted(found, key=lambda span: span["ts"])


def has(process, thread, text, least=1):
    found = spans(process, thread, text)
    assert len(found) >= least, (process, thread, text, len(found), names)
    return found


E2

# On the CPU: workers' batches, steps with their kernels, the queue.
"$FLOWC" run 'a"b\.flow' --epochs=1 --workers=1 --threads=1 --trace=cpu.json >expected 2>stderr || fail "$(cat stderr)"
cat look.py - >cpu.py <<'E2'
has("cpu", "worker 0 of `digits`", 'a"b\\.flow:18: a batch of `digits`', 20)
has("cpu", "the run", "takes a batch", 20)
steps = has("cpu", "the run", "step", 20)
has("cpu", "the run", 'a"b\\.flow:24 matmul, add, multiply, maximum', 10)
assert all(any(s["ts"] <= k["ts"] and k["ts"] + k["dur"] <= s["ts"] + s["dur"] + 1e-3 for s in steps)
           for k in has("cpu", "the run", "multiply, add, multiply"))
has("cpu", "the run", "evaluations")
assert len(counters["batches of `digits` that lie ready"]) >= 20, counters
E2
python3 cpu.py cpu.json || fail "cpu.json"

# While one thread writes records, others make the next ones: 40 times, of which most are seen.
echo 'pipeline demo { return range(40000) |> map(x: sum(random_uniform([200]))) |> csv("beside.csv") }' >beside.flow
"$FLOWC" run beside.flow --threads=2 --workers=0 --trace=beside.json 2>stderr || fail "$(cat stderr)"
cat look.py - >beside.py <<'E2'
made = [span for line in lines for span in lines[line] if "its share of a batch" in span["name"] and "the run" not in names[line + ("thread_name",)]]
assert any(w["ts"] < m["ts"] + m["dur"] and m["ts"] < w["ts"] + w["dur"] for w in has("cpu", "the run", "writes records") for m in made), made
E2
[ "$(nproc)" = 1 ] || python3 beside.py beside.json || fail "beside.json"

# On a GPU: the host is steps ahead of what is computed; copies have their own lines.
"$FLOWC" run 'a"b\.flow' --device=gpu --simulate=gpu:1 --epochs=1 --trace=gpu.json >out 2>stderr || fail "$(cat stderr)"
cmp expected out || paste expected out | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat out)"
cat look.py - >gpu.py <<'E2'
has("gpu(0)", "kernels", 'a"b\\.flow:24 matmul, add', 20)
has("gpu(0)", "copies in", "copies digits.x from cpu to gpu(0)", 20)
has("gpu(0)", "copies in", "numbers of the call", 20)
results = has("gpu(0)", "copies out", "results of the call", 21) # the first one: of the first values
steps = [span for span in has("cpu", "the run", ": step ", 20)]
assert any(steps[i + 2]["ts"] + steps[i + 2]["dur"] < results[i + 1]["ts"] for i in range(15)), "nothing is ahead"
E2
python3 gpu.py gpu.json || fail "gpu.json"

# What stages do on GPUs, on a line for each thread that makes records, beside nobody's kernels.
cat >stage.flow <<'END'
pipeline numbers {
  return range(400) |> map(n: cast(index, i32) + 1)  @gpu(1) |> map(s: n * 2)  @cpu |> map(k: s * 3)  @gpu(0) |> csv(stdout)
}
END
"$FLOWC" run stage.flow --simulate=gpu:2 --trace=stage.json >out 2>stderr || fail "$(cat stderr)"
cat look.py - >stage.py <<'E2'
made = has("gpu(1)", "records ", "stage.flow:2 add", 8)
home = has("gpu(1)", "records ", "from gpu(1) to cpu", 8)
has("gpu(0)", "records ", "from cpu to gpu(0)", 8)
has("gpu(0)", "records ", "stage.flow:2 multiply", 8)
assert not spans("gpu(0)", "kernels", ""), "no step has kernels"
batches = has("cpu", "", "its share of a batch of `numbers`")
begin, end = min(b["ts"] for b in batches), max(b["ts"] + b["dur"] for b in batches)
assert all(begin - 1e5 <= span["ts"] <= end + 1e5 for span in home), "another clock"
assert made[0]["ts"] <= home[0]["ts"]
E2
python3 stage.py stage.json || fail "stage.json"

# From GPU to GPU it goes at once, and is shown where it arrives; explain says how.
cat >across.flow <<'END'
train fit {
  data      = range(640) |> map(x: random_normal([64]), y: random_normal([1])) |> batch(64)
  let h     = data.x |> dense(32) |> relu()  @gpu(0)
  let p     = h |> dense(1)  @gpu(1)
  loss      = mean((p - data.y) ^ 2)
  optimizer = sgd(0.1)
  every 1 epoch { evaluate range(64) |> map(x: random_normal([64]), y: random_normal([1])) |> batch(64) }
}
END
sed 's/ *@gpu([01])//' across.flow >one.flow
"$FLOWC" run one.flow >one 2>stderr || fail "$(cat stderr)"
"$FLOWC" run across.flow --simulate=gpu:2 --trace=across.json >out 2>stderr || fail "$(cat stderr)"
paste one out | tr '=' ' ' | awk '{ for (i = 1; i <= NF / 2; i++) if ($i != $(i + NF / 2) && ($i - $(i + NF / 2)) ^ 2 > 1e-6) exit 1 }' || fail "$(cat one out)"
cat look.py - >across.py <<'E2'
has("gpu(1)", "kernels", "copies maximum from gpu(0) to gpu(1)", 10)
assert not spans("gpu(0)", "copies out", "copies maximum")
E2
python3 across.py across.json || fail "across.json"
"$FLOWC" explain --simulate=gpu:2 across.flow | grep -q 'copies from gpu(0) to gpu(1) go directly, as the driver lets it' || fail 'explain says nothing of links'
FLOWC_SIMULATE_FAULT=cuDeviceCanAccessPeer:1 "$FLOWC" devices --simulate=gpu:2 | grep -q "gpu(0) copies from 0 of 1 others directly, else by way of the CPU's memory" || fail 'devices says nothing of links'

# Graphs are replayed where nobody looks.
FLOWC_SIMULATE_FAULT=cuGraphLaunch:9 expect 3 "can't replay kernels" "$FLOWC" run --device=gpu --simulate=gpu:1 'a"b\.flow' --epochs=1

# Whole whenever the run ends: with a signal, or at once.
for signal in TERM KILL; do
    "$FLOWC" run 'a"b\.flow' --epochs=1000000 --trace=$signal.json >out 2>stderr &
    until_true "[ -s $signal.json ] && [ \$(wc -c <$signal.json) -gt 100000 ]"
    code=0
    kill -$signal $! && wait $! || code=$?
    [ $signal = KILL ] || [ $code = 4 ] || fail "it ends with $code: $(cat stderr)"
    cat look.py - >ended.py <<'E2'
has("cpu", "the run", "step", 20)
E2
    python3 ended.py $signal.json || fail "$signal.json"
done
expect 2 '--trace: it needs a file' "$FLOWC" run 'a"b\.flow' --trace=
expect 2 'one of them at a time' "$FLOWC" run 'a"b\.flow' --trace=x.json --profile
expect 3 '--trace: nowhere/x.json: No such file' "$FLOWC" run 'a"b\.flow' --trace=nowhere/x.json
