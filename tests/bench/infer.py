"""C5: one digit a call through the trained 784-128-10 model."""

import json
import subprocess
import sys

import numpy

import kernels
import tasks
from measurement import Contender, Measurement
from peer import CORES, environment
from row import Row

DIGITS = 16
LOGITS_TOLERANCE = 1e-3
WEIGHT_BYTES = 4 * (784 * 128 + 128 + 128 * 10 + 10)


def train(session):
    weights, digits = session.scratch / "infer.safetensors", session.scratch / "infer-digits.npy"
    numpy.save(digits, tasks.digits(None).test_x[:DIGITS].reshape(-1, 784).astype(numpy.float32) / 255)
    command = [session.build / "flowc", "run", "digits-infer.flow", "--epochs=1", f"--kept={weights.resolve()}"]
    subprocess.run(command, check=True, cwd=kernels.HERE, capture_output=True)
    return weights, digits


class Exported(Contender):
    """A C program calls the exported library."""

    def prepare(self, session):
        self.weights, self.digits = train(session)
        source = kernels.HERE / "digits-infer.flow"
        self.folder = session.scratch / "digits-infer-library"
        options = ["--target=native", f"--weights={self.weights}", "-o", self.folder]
        subprocess.run([session.build / "flowc", "export", source, *options], check=True)
        self.program = session.scratch / "latency"
        flags = ["-O2", "-std=gnu11", f"-I{kernels.REPOSITORY}"]
        subprocess.run(["gcc", *flags, kernels.HERE / "latency.c", "-o", self.program, "-ldl", "-lm"], check=True)
        self.library = next(self.folder.glob("lib*.so"))

    def measure(self, session):
        name = self.library.stem.removeprefix("lib")
        arguments = [name.replace("-", "_"), "scores", self.weights, "784", "10"]
        by_threads = {}
        for threads in sorted({1, CORES}):
            command = [self.program, self.library.resolve(), *arguments, str(threads)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            by_threads[threads] = json.loads(done.stdout)
        threads, best = min(by_threads.items(), key=lambda found: found[1]["p50"])
        return Measurement(best["p50"], {"threads": threads, "p99": best["p99"], "by one thread": by_threads[1]["p50"]})

    def logits(self):
        library = kernels.Library(self.library, self.weights)
        found = numpy.empty((DIGITS, 10), numpy.float32)
        for x, y in zip(numpy.load(self.digits), found):
            library.call("scores", x, y)
        return found


class InferPeer(Contender):
    def __init__(self, name, flowc, best=True):
        self.name, self.flowc, self.best = name, flowc, best
        if not best:
            self.rounds = 1

    def measure(self, session):
        arguments = [self.name, "best" if self.best else "usual", self.flowc.weights, self.flowc.digits]
        done = subprocess.run(
            [sys.executable, kernels.HERE / "infer_peer.py", *arguments], check=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment("no trimming" if self.best else "as installed", session.scratch),
        )
        found = json.loads(done.stdout)
        difference = float(abs(numpy.array(found["logits"]) - self.flowc.logits()).max())
        if difference > LOGITS_TOLERANCE:
            raise RuntimeError(f"{self.name}: logits differ by {difference}")
        threads = {"threads": found["threads"]} if self.best else {}
        return Measurement(found["p50"], threads | {"p99": found["p99"], "logits differ by": difference})

    def settings(self):
        return {"threads": "the best of 1 and all" if self.best else "default", "called from": "Python"}


def row():
    flowc = Exported()
    names = ("PyTorch eager", "PyTorch compile", "ONNX Runtime")
    return Row(
        name="C5",
        unit="us",
        what="the scores of one digit by a trained 784-128-10: the median of calls one after another",
        flowc=flowc,
        peers={name: InferPeer(name, flowc) for name in names} | {"ONNX Runtime as installed": InferPeer("ONNX Runtime", flowc, False)},
        limit=lambda calibration, _medians: WEIGHT_BYTES / calibration["l2_gbs_all"] / 1e3,
        limit_is=f"{WEIGHT_BYTES} bytes of weights once from the second caches of all cores",
        higher_is_better=False,
    )


ROWS = [row()]
