"""Measures rows.py's rows in interleaved rounds; prints a table and writes BUILD/bench.json and a picture of it."""

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import chart
import disturbance
import flowc_program
import peer
from graph_peers import JAX, KERAS
from rows import ROWS
from torch_peer import COMPILE, EAGER

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 5))
PATIENCE = float(os.environ.get("BENCH_PATIENCE", 45))  # seconds a row spent on waiting for quiet and measuring again
MEASUREMENTS_NEEDED = 3  # for a median, and to judge a loss: one seed alone proves little
FACTS_TOLERANCE = 0.02  # of the values' deviation: between the means of shuffled, augmented records
PIXELS_TOLERANCE = 1.01  # of 255
FRAMEWORKS = {framework.name: framework for framework in (EAGER, COMPILE, JAX, KERAS)}
PACKAGES = ("torch", "jax", "keras", "tensorflow", "onnxruntime", "mkl", "onednn", "scipy-openblas32", "numpy", "torchvision", "pandas", "pillow")


def compiled(session, name, *flags):
    program = session.scratch / name
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["gcc", *flags, "-std=gnu11", "-pthread", f"-I{session.repository}", source, "-o", program], check=True)
    return program


class Session:
    """What the rows need while they measure: where to build, and the peers' processes."""

    def __init__(self, build):
        self.repository = pathlib.Path(__file__).resolve().parents[2]
        self.build = self.repository / build
        self.scratch = self.build / "bench"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.round = 0
        self.workers = peer.Workers(self.scratch)
        self.quiet = disturbance.Quiet(self.workers.processes, compiled(self, "distance", "-O2"))
        self.tuning = peer.Tuning(self.scratch / "tuning.json", FRAMEWORKS, self.workers, self.quiet)

    def next_round(self, number):
        """Every round has fresh processes."""
        self.workers.stop()
        self.round = number


# ---- Calibration ----


def calibrate(program, when):
    rates = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    print(
        f"calibration {when}: {rates['fma_gflops_one']:.0f} GFLOP/s fp32 on one core, "
        f"{rates['fma_gflops_all']:.0f} on {rates['cores']}, "
        f"{rates['loaded_gflops_one']:.0f} and {rates['loaded_gflops_all']:.0f} where operands are loaded; GB/s copy "
        f"{rates['copy_gbs_one']:.0f} and {rates['copy_gbs_all']:.0f}, triad "
        f"{rates['triad_gbs_one']:.0f} and {rates['triad_gbs_all']:.0f}",
        flush=True,
    )
    return rates


def highest(before, after):
    """The machine's peak is the better of two tries: what it lost to neighbours is no limit."""
    return {name: max(before[name], after[name]) for name in before}


# ---- Selecting rows ----


def is_wanted(row, pattern):
    """`C2` means C2-b64 and C2-b256: the pattern's words, in that order."""
    words = iter(row.name.split("-"))
    return all(word in words for word in pattern.split("-"))


def select(patterns):
    if not patterns:
        return ROWS
    unknown = [p for p in patterns if not any(is_wanted(row, p) for row in ROWS)]
    if unknown:
        names = "\n  ".join(row.name for row in ROWS)
        sys.exit(f"no row is called {', '.join(unknown)}; there are:\n  {names}")
    return [row for row in ROWS if any(is_wanted(row, p) for p in patterns)]


# ---- Measuring ----


def measure_round(session, row, samples):
    for name, contender in row.contenders().items():
        if session.round >= contender.rounds:
            continue
        contender.wake(session)
        disturbed, measurement = session.quiet.measure(lambda: contender.measure(session))
        samples.setdefault(name, []).append(dataclasses.replace(measurement, disturbed=disturbed))
        remark = session.quiet.remark(disturbed)
        print(f"  {row.name:22} {name:30} {number(measurement.value):>12} {row.unit}{remark}", flush=True)


def measure(session, rows):
    samples = {row.name: {} for row in rows}
    for row in rows:
        session.quiet.patience = PATIENCE
        for contender in row.contenders().values():
            contender.prepare(session)
    session.quiet.patience = PATIENCE * len(rows)
    for number in range(ROUNDS):
        session.next_round(number)
        print(f"round {number + 1} of {ROUNDS}", flush=True)
        for row in rows:
            measure_round(session, row, samples[row.name])
    session.workers.stop()
    return samples


# ---- Judging ----


def usable(measurements, quiet):
    """The undisturbed ones, if they suffice."""
    sure = [m for m in measurements if not quiet.is_doubtful(m.disturbed)]
    enough = len(sure) >= min(MEASUREMENTS_NEEDED, len(measurements))
    return sure if enough else measurements


def median_of(measurements, name):
    values = [m.checks[name] for m in measurements if name in m.checks]
    return statistics.median(values) if values else None


def loss_disagreement(measurements, flowc, check, tolerance):
    value, expected = median_of(measurements, check), median_of(flowc, check)
    if value is None or expected is None or abs(value - expected) <= tolerance * value:
        return []
    return [f"{check} {value:.4f}, flowc's {expected:.4f}"]


def low_accuracy(measurements, needed):
    accuracy = median_of(measurements, "accuracy")
    return [] if accuracy is None or accuracy >= needed else [f"accuracy {accuracy:.4f}"]


def facts_disagreement(measurements, flowc):
    """Whether the values of batches are the same."""
    width = median_of(flowc, "deviation")
    found = []
    for name in ("mean", "deviation"):
        value, expected = median_of(measurements, name), median_of(flowc, name)
        if value is not None and expected is not None and abs(value - expected) > FACTS_TOLERANCE * width:
            found.append(f"{name} of the values {value:.4f}, flowc's {expected:.4f}")
    return found


def wrong_pixels(row, samples):
    difference = median_of(samples["flowc"], "pixels differ by")
    if difference is None or difference <= PIXELS_TOLERANCE:
        return []
    return [f"flowc: pixels differ by {difference:.2f} of 255 from Pillow's"]


def different_bits(samples):
    different = median_of(samples["flowc"], "different weights") or 1
    return [] if different == 1 else [f"flowc: {different:.0f} different results of the same training"]


def disagreements(row, samples):
    """Whether all learned the same: losses beside flowc's, accuracy by itself; and from the same
    values."""
    found = wrong_pixels(row, samples) + different_bits(samples)
    for name, measurements in samples.items():
        if len(measurements) < MEASUREMENTS_NEEDED:
            continue
        wrong = low_accuracy(measurements, row.accuracy_needed)
        for check in ("loss", "test loss"):
            wrong += loss_disagreement(measurements, samples["flowc"], check, row.loss_tolerance)
        wrong += facts_disagreement(measurements, samples["flowc"])
        found += [f"{name}: {text}" for text in wrong]
    return found


def summary(measurements, quiet):
    values = [m.value for m in measurements]
    names = sorted({name for m in measurements for name in m.checks})
    return {
        "median": statistics.median(values),
        "range": [min(values), max(values)],
        "measurements": len(values),
        "checks": {name: median_of(measurements, name) for name in names},
        "parts": {name: statistics.median(m.parts[name] for m in measurements) for name in measurements[0].parts},
        "disturbed": [round(m.disturbed.others, 3) for m in measurements],
        "distance": [m.disturbed.distance for m in measurements],
        "doubtful": sum(quiet.is_doubtful(m.disturbed) for m in measurements),
    }


def best_of(values, higher_is_better):
    return (max if higher_is_better else min)(values, key=values.get) if values else None


def parts_of(row, summaries, gain):
    """Of each part all medians, the best peer and the ratio to it."""
    found = {}
    for name, flowc in summaries["flowc"]["parts"].items():
        peers = {peer: summaries[peer]["parts"][name] for peer in row.peers}
        best = best_of(peers, row.higher_is_better)
        found[name] = {"flowc": flowc, "peers": peers, "best_peer": best, "ratio": gain(flowc, peers[best])}
    return found


def result(row, samples, calibration, quiet):
    summaries = {name: summary(usable(measurements, quiet), quiet) for name, measurements in samples.items()}
    flowc = summaries["flowc"]["median"]
    peers = {name: summaries[name]["median"] for name in row.peers}
    best = best_of(peers, row.higher_is_better)
    limit = row.limit(calibration, summaries)
    gain = lambda mine, other: mine / other if row.higher_is_better else other / mine
    return {
        "row": row.name,
        "unit": row.unit,
        "higher_is_better": row.higher_is_better,
        "flowc": flowc,
        "peers": peers,
        "best_peer": best,
        "medians": {name: s["median"] for name, s in summaries.items()},
        "ratio": gain(flowc, peers[best]) if peers else None,
        "limit": limit,
        "percent_of_limit": 100 * gain(flowc, limit) if limit else None,
        "parts": parts_of(row, summaries, gain),
        "what": row.what,
        "limit_is": row.limit_is,
        "range": {name: s["range"] for name, s in summaries.items()},
        "measurements": {name: s["measurements"] for name, s in summaries.items()},
        "checks": {name: s["checks"] for name, s in summaries.items()},
        **{key: {name: s[key] for name, s in summaries.items()} for key in ("disturbed", "distance", "doubtful")},
        "disagreements": disagreements(row, samples),
        "settings": {name: c.settings() for name, c in row.contenders().items()},
    }


# ---- Reporting ----


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def versions(session):
    return {
        "flowc": flowc_program.version(session),
        **{name: peer.version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "gcc": subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip(),
        "kernel": platform.release(),
    }


def merge(path, results):
    """Rows that were not measured this time stay as they were."""
    kept = json.loads(path.read_text()) if path.exists() else []
    measured = {r["row"] for r in results}
    order = {row.name: i for i, row in enumerate(ROWS)}
    merged = [r for r in kept if r["row"] not in measured] + results
    merged.sort(key=lambda r: order.get(r["row"], len(order)))
    whole = json.dumps(merged, indent=2, ensure_ascii=False) + "\n"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(whole)
    unfinished.replace(path)


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


TABLE = "{:22} {:10} {:>9} {:>21}  {:27} {:>9} {:>7} {:>10} {:>6}"


def print_table(results):
    print()
    print(TABLE.format("row", "unit", "flowc", "[min-max]", "best peer", "value", "ratio", "limit", "%"))
    for r in results:
        low, high = r["range"]["flowc"]
        print(
            TABLE.format(
                r["row"], r["unit"], number(r["flowc"]), f"[{number(low)}-{number(high)}]",
                *((r["best_peer"], number(r["peers"][r["best_peer"]]), f"{r['ratio']:.2f}x") if r["peers"] else ("-", "-", "-")),
                *((number(r["limit"]), f"{r['percent_of_limit']:.1f}") if r["limit"] else ("-", "-")),
            )
        )
    for r in results:
        print_details(r)


def print_details(r):
    print(f"\n{r['row']}: {r['what']}; the limit: {r['limit_is']}")
    for name, (low, high) in r["range"].items():
        value = r["medians"][name]
        checks = ", ".join(f"{key} {number:.4g}" for key, number in r["checks"][name].items())
        times = r["measurements"][name]
        print(f"  {name:27} {number(value):>9} [{number(low)}-{number(high)}] of {times}; {checks}; {r['settings'][name]}")
    for name, part in r["parts"].items():
        peers = ", ".join(f"{peer} {value:.4g}" for peer, value in part["peers"].items())
        print(f"  {name:20} {part['flowc']:9.4g} {part['ratio']:6.2f}x of {part['best_peer']}; {peers}")
    doubtful = sum(r["doubtful"].values())
    if doubtful:
        print(f"  {doubtful} measurements that count had others at more than {disturbance.LIMIT:.0%} of the cores' time, or cores far apart")
    for text in r["disagreements"]:
        print(f"  DISAGREES: {text}")


def main(build, patterns):
    session = Session(build)
    rows = select([p for p in patterns.split(",") if p])
    program = compiled(session, "calibrate", "-O3", "-march=native")
    try:
        before = calibrate(program, "before")
        samples = measure(session, rows)
        after = calibrate(program, "after")
    finally:
        session.workers.stop()
    calibration = highest(before, after)
    common = {
        "versions": versions(session),
        "calibration": {"before": before, "after": after},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
    }
    results = [result(row, samples[row.name], calibration, session.quiet) | common for row in rows]
    merge(session.build / "bench.json", results)
    chart.draw(session.build / "bench.json", session.build / "bench.png")
    print_table(results)
    print(f"\nwritten: {session.build / 'bench.json'}, {session.build / 'bench.png'}")
    return 1 if any(r["disagreements"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
