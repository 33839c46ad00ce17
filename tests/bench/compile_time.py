#!/usr/bin/env python3
"""How long flowc takes, step by step, for networks of more and more layers.

    tests/bench/compile_time.py [flowc] [--layers=6,60,600] [--compile=20]

Equal layers have the same widths, unequal ones all have another. Each line is the best of three
runs, in milliseconds; `nodes` counts those of the training step after differentiate, `bytes` the
generated C. Up to --compile layers the C is compiled too (once, without the cache)."""
import argparse
import pathlib
import re
import subprocess
import tempfile

STEPS = ["parse", "lower", "differentiate", "fuse", "plan", "codegen", "compile"]
PROGRAM = """
fn centred(x: f32[B, E]) -> f32[B, E] {
  let d = x - sum(x, axis = -1, keep = true) / E
  return d / sqrt(sum(d * d, axis = -1, keep = true) / E + 1e-5)
}
pipeline rows(file: path) -> (x: f32[32], y: f32[32]) {
  return idx(x: file, y: file) |> map(x: x, y: y)
}
model net(x: f32[B, 32]) -> f32[B, 32] {
%s
  return x
}
train fit {
  data      = rows("rows.idx") |> batch(64)
  loss      = sum((net(data.x) - data.y) ^ 2)
  optimizer = adam(0.01)
}
"""


def layers(kind, count):
    layer = "x = x + dense(relu(dense(centred(x), %d)), 32)"
    if kind == "equal":
        return f"  repeat i in {count} {{ {layer % 64} }}"
    return "\n".join("  " + layer % (33 + i) for i in range(count))


def times(command, folder):
    """Milliseconds of each step that --time-passes names."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {name: float(value) for name, value in re.findall(r"^(\w+) +([\d.]+) ms$", done.stderr, re.M)}


def best(runs):
    return {name: min(run[name] for run in runs) for name in runs[0]}


def node_count(flowc, folder):
    text = subprocess.run([flowc, "check", "--dump-ir=differentiate", "net.flow"], cwd=folder,
                          capture_output=True, text=True, check=True).stdout
    return max(len(re.findall(r"^  %\d+ = ", graph, re.M)) for graph in text.split("\ngraph "))


def measure(flowc, kind, count, compiled):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "net.flow").write_text(PROGRAM % layers(kind, count))
        command = [flowc, "build", "--time-passes", "net.flow"]
        row = best([times(command + ["--emit=c", "-o", "c"], folder) for _ in range(3)])
        size = sum(file.stat().st_size for pattern in ("program.c", "kernels_*.c")
                   for file in (folder / "c").glob(pattern))
        if compiled:
            row["compile"] = times(command + ["--target=native", "-o", "net"], folder)["compile"]
        return node_count(flowc, folder), size, row


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("flowc", nargs="?", default=root / "build/flowc", type=pathlib.Path)
    parser.add_argument("--layers", default="6,20,60,200,600,1000,2000")
    parser.add_argument("--compile", default=20, type=int)
    given = parser.parse_args()
    print(f"{'layers':14}{'nodes':>8}{'bytes':>10}" + "".join(f"{step:>14}" for step in STEPS))
    for kind in ("equal", "unequal"):
        for count in map(int, given.layers.split(",")):
            nodes, size, row = measure(given.flowc.resolve(), kind, count, count <= given.compile)
            cells = [f"{row[step]:14.1f}" if step in row else f"{'':14}" for step in STEPS]
            print(f"{kind:8}{count:6}{nodes:8}{size:10}" + "".join(cells).rstrip(), flush=True)


if __name__ == "__main__":
    main()
