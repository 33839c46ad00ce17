"""C13: ten elementwise operations over 64 M floats."""

import json
import subprocess
import sys

import numpy

import kernels
import peer
from measurement import Contender, Measurement
from peer import CORES, ENVIRONMENTS
from row import Row

COUNT = 64 << 20
TRAFFIC = 2 * 4 * COUNT  # bytes that have to be read and written
TOLERANCE = 1e-6


def measurement(seconds, checks):
    return Measurement(TRAFFIC / seconds / 1e9, checks)


def true_chain(x):
    a = numpy.maximum(x * 1.5 + 0.25, -1)
    return abs(numpy.minimum(a * 0.75 - 0.5, 1) * 1.25 + 0.125) * 0.8


class Generated(Contender):
    def prepare(self, session):
        source = kernels.HERE / "chain.flow"
        self.program = kernels.timing_program(session, source)
        x, found = numpy.random.default_rng(1).random(COUNT, dtype=numpy.float32) - 0.5, numpy.empty(COUNT, numpy.float32)
        kernels.library_of(session, source).call("chain", x, found)
        if abs(found - true_chain(x)).max() > TOLERANCE:
            raise RuntimeError("the chain's result is wrong")
        self.facts = {"mean": float(found.mean()), "deviation": float(found.std())}

    def measure(self, session):
        return measurement(kernels.seconds_of_exports(self.program, CORES)["chain"], self.facts)

    def settings(self):
        return {"threads": CORES}


class ChainPeer(Contender):
    def __init__(self, name, best):
        self.name, self.best = name, best
        if not best:
            self.rounds = 1

    def environment(self):
        return ("jemalloc" if "jemalloc" in ENVIRONMENTS else "no trimming") if self.best else "as installed"

    def measure(self, session):
        done = subprocess.run(
            [sys.executable, kernels.HERE / "chain_peer.py", self.name, "best" if self.best else "usual"],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=peer.environment(self.environment(), session.scratch),
        )
        answer = json.loads(done.stdout)
        return measurement(answer.pop("seconds"), answer)

    def settings(self):
        return {"environment": self.environment(), "result": "where it was" if self.best else "new"}


NAMES = ("PyTorch eager", "PyTorch compile", "JAX", "NumPy")

ROWS = [
    Row(
        name="C13",
        unit="GB/s",
        what="ten elementwise operations over 64 M floats, counting what has to be read and written",
        flowc=Generated(),
        peers={name: ChainPeer(name, True) for name in NAMES} | {f"{name} as installed": ChainPeer(name, False) for name in NAMES},
        limit=lambda calibration, _medians: calibration["copy_gbs_all"],
        limit_is="calibrated copy bandwidth of all cores",
    )
]
