"""make bench-gpu: flowc beside PyTorch, torch.compile, JAX and cuBLAS on one GPU, in one run. Trainers come
from BUILD/gpu (tests/gpu/pack), so the machine needs the driver and a python3 with PyTorch. Prints a table,
and appends it to BUILD/gpu-results.md, of which tests/bench/gpu-results.md keeps what was measured."""

import datetime
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/bench/gpu")]
SIMULATED = bool(os.environ.get("SIMULATE"))
BUILD = ROOT / os.environ.get("BUILD", "build")
PACK = BUILD / ("gpu-simulated" if SIMULATED else "gpu")
PROGRAMS = PACK / "programs"
WORK = pathlib.Path(tempfile.mkdtemp())
N = {"4096": 64, "8192": 64} if SIMULATED else {"4096": 4096, "8192": 8192}
SIZE, LENGTH = (4096, 32) if SIMULATED else (1 << 26, 2048)

try:
    import peers
except ImportError as missing:
    peers = None
    WHY_NO_PEERS = str(missing)


def environment(**more):
    return {**os.environ, "FLOWC_TUNE": "off", "XDG_CACHE_HOME": str(WORK / "cache"), **more}


def run(name, *flags, **more):
    """What it prints, and the seconds that it took."""
    began = time.perf_counter()
    done = subprocess.run([PROGRAMS / name, *flags], cwd=ROOT / "tests/bench", capture_output=True, text=True, timeout=240, env=environment(FLOWC_PROGRESS="plain", **more))
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout + done.stderr, time.perf_counter() - began


# ---- What flowc says of itself ----

CALLS = 64  # more than a step of kernels.flow has


def calls(name, function):
    """Seconds that each call of a step takes on the GPU, by its events; the longest first."""
    asked, answers = WORK / "asked", WORK / "answers"
    answers.unlink(missing_ok=True)
    lines = [str(answers), "threads 2", f"function {function}.step", *(f"{call} gpu 1 {call} all" for call in range(CALLS))]
    asked.write_text("\n".join(lines) + "\n")
    run(name, "--threads=2", FLOWC_TIMES=str(asked))
    return sorted((float(line.split()[1]) for line in answers.read_text().splitlines()), reverse=True)


def gemm(n):
    """Of the three longest calls, the products, the last one: two have an update behind them."""
    return 2 * N[n] ** 3 / calls(f"bench-gemm-{n}", "gemm")[2] / 1e12


def elementwise():
    """Adam reads and writes a weight and two moments."""
    return 6 * 4 * SIZE / calls("bench-elementwise", "elementwise")[0] / 1e9


def rows():
    """The update behind the softmax reads and writes the weights."""
    return 2 * 4 * N["8192"] ** 2 / calls("bench-rows", "rows")[0] / 1e9


def records(name, *flags):
    """Records/s of the epochs after the first."""
    text, _ = run(name, *flags)
    rates = re.findall(r"^epoch \d+/\d+: .*? ([0-9.]+)([kM]?) records/s", text, re.M)
    return statistics.median([float(rate) * {"": 1, "k": 1e3, "M": 1e6}[unit] for rate, unit in rates][1:])


def start(**more):
    return run("bench-start", "--epochs=1", **more)[1]


def idle(*flags):
    """Per cent of the time in which no kernel ran, by nvidia-smi ten times a second."""
    if not shutil.which("nvidia-smi"):
        raise RuntimeError("there is no nvidia-smi")
    watch = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "100"], stdout=subprocess.PIPE, text=True)
    run("bench-gpt", *flags)
    watch.terminate()
    busy = [float(line) for line in watch.communicate()[0].split()]
    return 100 - statistics.mean(busy[len(busy) // 4 :])


# ---- Rows ----


def both(function, *given, **named):
    """Of PyTorch: as it stands, and compiled."""
    return {"PyTorch": function(*given, compiled=False, **named), "torch.compile": function(*given, compiled=True, **named)}


ROWS = [  # name, unit, flowc, peers, of the best peer that is wanted
    *((f"gemm-bf16-{n}", "TFLOP/s", lambda n=n: gemm(n), [lambda n=n: peers.gemm(N[n]), lambda n=n: peers.gemm_by_jax(N[n])], 0.85) for n in N),
    ("elementwise", "GB/s", elementwise, [lambda: peers.copy(SIZE)], 0.9),
    ("rows", "GB/s", rows, [lambda: peers.copy(SIZE)], 0.9),
    ("attention", "steps/s", lambda: records("bench-attention", "--epochs=5"), [lambda: both(peers.attention, LENGTH)], 0.75),
    ("digits-b64", "records/s", lambda: records("bench-digits"), [lambda: both(peers.training, "mlp", 64), lambda: peers.digits_by_jax(64)], 1),
    ("cnn-b64", "records/s", lambda: records("bench-cnn"), [lambda: both(peers.training, "cnn", 64)], 1),
    ("cifar-resnet20-b64", "records/s", lambda: records("bench-cifar", f"--images={cifar()}"), [lambda: both(peers.training, "resnet20", 64)], 1),
    ("gpt-bf16-b8", "records/s", lambda: records("bench-gpt"), [lambda: both(peers.training, "gpt", 8, half=True)], 1),
    ("idle", "%", lambda: idle("--epochs=10"), [], 5),
    ("start, kernels built in", "s", start, [], 1),
    ("start, NVRTC", "s", lambda: start(FLOWC_BUILT_IN="off", XDG_CACHE_HOME=tempfile.mkdtemp()), [], 5),
]


NOT_SIMULATED = ("cnn", "cifar", "gpt", "idle")  # too slow there, or asked of NVIDIA's driver


def cifar():
    """Records as of CIFAR-10, of noise: what they show takes no time."""
    path = WORK / "cifar10.bin"
    if not path.exists():
        path.write_bytes(b"".join(bytes([i % 10]) + os.urandom(3072) for i in range(6400)))
    return path


def attempt(function, failures, name):
    try:
        return function()
    except Exception as error:  # a row that fails is a result, too
        failures.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return None


def measure(row, failures):
    name, unit, flowc, others, goal = row
    mine, found = attempt(flowc, failures, f"{name}, flowc"), {}
    for other in others if peers else []:
        found.update(attempt(other, failures, f"{name}, a peer") or {})
    text = ", ".join(f"{peer} {value:.4g}" for peer, value in found.items()) or "–"
    best = max(found.values(), default=None)
    share = f"{mine / best:.2f} (goal {goal})" if mine and best else f"goal: at most {goal} {unit}" if not others else "–"
    line = f"| {name} | {unit} | {'failed' if mine is None else f'{mine:.4g}'} | {text} | {share} |"
    print(line, flush=True)
    return line


def facts():
    devices = subprocess.run([PACK / "flowc", "devices"], capture_output=True, text=True).stdout
    versions = f"PyTorch {peers.torch.__version__}" if peers else f"no PyTorch: {WHY_NO_PEERS}"
    return [line for line in devices.splitlines() if line.startswith(("gpu(", "NVIDIA", "NVRTC"))] + [versions]


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "commit unknown"


def main(pattern):
    devices = subprocess.run([PACK / "flowc", "devices"], capture_output=True, text=True).stdout
    if not re.search(r"^gpu\(0\)", devices, re.M):
        reason = re.search(r"^no GPU.*", devices, re.M)
        print(f"not run: {reason[0] if reason else devices}")
        return 77
    if SIMULATED:
        print("SIMULATED: the CPU stands in for the GPU; no figure below was measured on one, and none is kept")
    wanted = [row for row in ROWS if pattern in row[0] and not (SIMULATED and row[0].startswith(NOT_SIMULATED))]
    failures = []
    lines = [f"## {datetime.date.today()}, {commit()}", "", *(f"    {fact}" for fact in facts()), ""]
    lines += ["| row | unit | flowc | peers | flowc / the best |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    rows = [measure(row, failures) for row in wanted]
    told = ["", f"Failed: {'; '.join(failures) or 'nothing'}", ""]
    print("\n".join(told))
    if not SIMULATED:
        with open(BUILD / "gpu-results.md", "a") as out:
            out.write("\n".join(lines + rows + told))
    shutil.rmtree(WORK)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
