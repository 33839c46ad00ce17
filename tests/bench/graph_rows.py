"""S5 to S7, S10, S13 and S14: what graphs, the compiler and threads cost."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compile_time
import kernels
import processes
from flowc_program import HERE, build
from measurement import Contender, Measurement
from peer import CORES
from row import Row

LAYER_NODES = 121  # of compile_time.py's program, with their gradients and updates
NODES = 100000
KINDS, REPEATS = 5, 166  # of layers: about 200 kernels, 100,000 nodes
THREADS = (1, 2, 7)


class FrontEnd(Contender):
    """All of flowc's steps but the C compiler."""

    def __init__(self, nodes):
        self.layers = nodes // LAYER_NODES

    def measure(self, session):
        flowc = (session.build / "flowc").resolve()
        nodes, size, steps = compile_time.measure(flowc, "equal", self.layers, False)
        return Measurement(sum(steps.values()), {"nodes": nodes, "us a node": 1e3 * sum(steps.values()) / nodes, "MB of C": size / 1e6})


def layered():
    widths = ", ".join(str(33 + kind) for kind in range(KINDS))
    layer = "x = x + dense(relu(dense(centred(x), units)), 32)"
    return compile_time.PROGRAM % f"  repeat i in {REPEATS} {{ repeat units in [{widths}] {{ {layer} }} }}"


class WholeBuild(Contender):
    """From source to executable, with nothing in the cache, or with all of it."""

    rounds = 2

    def __init__(self, cached):
        self.cached = cached

    def build(self, session, folder):
        command = [(session.build / "flowc").resolve(), "build", "net.flow", "--target=native", "-o", "net"]
        return processes.run(command, cwd=folder, env=os.environ | {"XDG_CACHE_HOME": str(folder)})[0]

    def measure(self, session):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "net.flow").write_text(layered())
            seconds = self.build(session, folder)
            return Measurement(self.build(session, folder) if self.cached else seconds, {})


class NodeCost(Contender):
    """A table of calls of one small kernel."""

    def prepare(self, session):
        source = session.scratch / "nodes.flow"
        source.write_text(
            "export nodes(x: f32[2, 2], w: f32[2, 2]) -> f32[2, 2] {\n  let y = x\n"
            f"  repeat i in {NODES // 1000} {{ repeat j in 1000 {{ y = matmul(y, w) }} }}\n  return y\n}}\n"
        )
        self.program = kernels.timing_program(session, source)

    def measure(self, session):
        return Measurement(kernels.seconds_of_exports(self.program, 1)["nodes"] / NODES * 1e9, {})


class NodePeer(Contender):
    def measure(self, session):
        return Measurement(float(processes.run([sys.executable, HERE / "node_peer.py"])[1]), {})


class CompilerSize(Contender):
    rounds = 1

    def measure(self, session):
        bare = session.scratch / "flowc-bare"
        subprocess.run(["strip", "-o", bare, session.build / "flowc"], check=True)
        return Measurement(bare.stat().st_size / 1e6, {})


class CompilerBuild(Contender):
    """The compiler and its runtime, by one make on all cores."""

    rounds = 1

    def measure(self, session):
        folder = session.scratch / "own"
        shutil.rmtree(folder, ignore_errors=True)
        seconds, _ = processes.run(["make", f"-j{CORES}", f"BUILD={folder}"], cwd=session.repository)
        shutil.rmtree(folder)
        return Measurement(seconds, {})


class SameBits(Contender):
    """How many different files of weights trainings with other numbers of threads give."""

    rounds = 1

    def prepare(self, session):
        self.program = build(session, "digits-infer.flow", ["step"], "same-bits")

    def weights(self, session, threads):
        path = (session.scratch / f"bits-{threads}.safetensors").resolve()
        processes.run([self.program.resolve(), "--epochs=1", f"--threads={threads}", f"--kept={path}"], cwd=HERE)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def measure(self, session):
        different = len({self.weights(session, threads) for threads in (*THREADS, THREADS[-1])})
        return Measurement(different, {"different weights": different})


class Barrier(Contender):
    def __init__(self, name, flags):
        self.name, self.flags = name, flags

    def prepare(self, session):
        self.program = session.scratch / f"barrier-{self.name}"
        flags = ["-O2", "-march=native", "-std=gnu11", f"-I{kernels.REPOSITORY}", *self.flags, "-lm", "-lpthread"]
        source = HERE / "barrier_timing.c"
        library = [] if "-DOPENMP_BARRIER" in flags else [session.build / "lib" / "flowc" / "libflowrt.a", *kernels.OPENMP]
        subprocess.run(["gcc", source, *flags, *library, "-o", self.program], check=True)

    def measure(self, session):
        return Measurement(float(processes.run([self.program, str(CORES)])[1]), {})


def lower(name, unit, what, flowc, peers=None):
    return Row(
        name=name, unit=unit, what=what, flowc=flowc, peers=peers or {}, limit=lambda *_: None, limit_is="none is known",
        higher_is_better=False,
    )


def front_end(name, nodes):
    return lower(f"S5-{name}", "ms", f"from source to C, about {nodes} nodes with gradients and Adam, equal layers", FrontEnd(nodes))


ROWS = [
    front_end("1k", 1000),
    front_end("10k", 10000),
    front_end("100k", 100000),
    lower("S6-cold", "s", f"from source to executable, about {KINDS * REPEATS * LAYER_NODES} nodes, nothing in the cache", WholeBuild(False)),
    lower("S6-cached", "s", "the same with all in the cache", WholeBuild(True)),
    lower("S7", "ns", f"a node of {NODES} that each multiply 2 x 2 matrices, one thread", NodeCost(), {"PyTorch eager": NodePeer()}),
    lower("S10-size", "MB", "the compiler without symbols", CompilerSize()),
    lower("S10-build", "s", "the compiler and its runtime, built by make", CompilerBuild()),
    lower("S13", "files", f"different weights after an epoch of 784-128-10 with {THREADS} threads and once more: 1 is right", SameBits()),
    lower("S14", "ns", "a barrier of all threads", Barrier("flowc", []),
          {"OpenMP of gcc": Barrier("gcc", ["-fopenmp", "-DOPENMP_BARRIER"])}),
]
