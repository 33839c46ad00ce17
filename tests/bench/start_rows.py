"""S1, S3, S4, S8 and S9: how soon programs run, and how large they are."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys

import numpy

import processes
import tasks
from flowc_program import HERE, build
from graph_peers import JAX
from measurement import Contender, Measurement
from peer import environment
from row import Row
from torch_peer import COMPILE, EAGER

STARTS = 21
PEER_STARTS = 3
RECORDS = 640
PLANNED = re.compile(r"memory: .*?\((\d+) bytes\)")
MLP = {"model": "mlp", "batch": 64, "optimizer": "sgd", "rate": 0.1}
GPT = {"model": "gpt", "batch": 8, "optimizer": "adamw", "rate": 1e-3}


def idx(values):
    return bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape) + values.tobytes()


def few_digits(session):
    """Flags for files of some digits, not compressed: reading many is no start-up."""
    data = tasks.digits(None)
    flags = []
    for name, values in (("images", data.x[:RECORDS, :, :, 0]), ("labels", data.y[:RECORDS].astype(numpy.uint8))):
        path = (session.scratch / f"few-{name}.idx").resolve()
        path.write_bytes(idx(values))
        flags.append(f"--{name}={path}")
    return flags


class Started(Contender):
    """A built program with one step."""

    def prepare(self, session):
        self.flags = few_digits(session)
        self.program = build(session, "startup.flow", [], "startup")

    def measure(self, session):
        return Measurement(processes.median_milliseconds([self.program, *self.flags], STARTS), {})


class EmptyProgram(Contender):
    def prepare(self, session):
        self.program = session.scratch / "empty"
        subprocess.run(["gcc", "-x", "c", "-", "-o", self.program], input="int main(void) { return 0; }", text=True, check=True)

    def measure(self, session):
        return Measurement(processes.median_milliseconds([self.program], STARTS), {})


class FromSource(Contender):
    """`flowc run` of a source, with an empty cache or one that has the program."""

    def __init__(self, source, block, flags, cached):
        self.command, self.source, self.flags, self.cached = [source, block], source, flags, cached

    def prepare(self, session):
        digits = few_digits(session) if self.source == "startup.flow" else []
        self.command = [session.build.resolve() / "flowc", "run", HERE / self.source, self.command[1], *self.flags, *digits]
        self.cache = (session.scratch / "cache").resolve()

    def run(self):
        return processes.run(self.command, cwd=HERE, env=os.environ | {"XDG_CACHE_HOME": str(self.cache)})[0]

    def measure(self, session):
        if not self.cached:
            shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(mode=0o700, exist_ok=True)
        if not self.cached:
            return Measurement(1e3 * self.run(), {})
        self.run()
        return Measurement(1e3 * min(self.run() for _ in range(PEER_STARTS)), {})


class StartPeer(Contender):
    """A Python process that imports, builds the model and makes one step. fresh: nothing compiled is kept."""

    rounds = 3

    def __init__(self, framework, task, fresh=False):
        self.framework, self.task, self.fresh = framework, task, fresh

    def prepare(self, session):
        data = tasks.data_of(self.task | {"records": self.task["batch"]}, session.scratch)
        path = (session.scratch / f"start-{self.task['model']}.npz").resolve()
        numpy.savez(path, x=data.x, y=data.y)
        request = {"module": self.framework.module, "task": self.task, "setting": self.framework.as_installed, "batch": str(path)}
        self.command = [sys.executable, HERE / "startup_peer.py", json.dumps(request)]

    def environment(self, session):
        kept = session.scratch / "start-inductor"
        if self.fresh:
            shutil.rmtree(kept, ignore_errors=True)
        return environment("as installed", session.scratch) | {"TORCHINDUCTOR_CACHE_DIR": str(kept)}

    def measure(self, session):
        return Measurement(1e3 * processes.run(self.command, env=self.environment(session))[0], {})


class ProgramSize(Contender):
    rounds = 1

    def measure(self, session):
        return Measurement(build(session, "digits-sgd.flow", [], "size").stat().st_size / 1e6, {})


class PackageSize(Contender):
    """All files of a package, without those it needs."""

    rounds = 1

    def __init__(self, package):
        self.package = package

    def measure(self, session):
        return Measurement(sum(file.size or 0 for file in importlib.metadata.files(self.package)) / 1e6, {})


class Resident(Contender):
    """The most memory that a training had, beside what the program says it needs."""

    def __init__(self, source, block, flags):
        self.source, self.block, self.flags = source, block, flags

    def prepare(self, session):
        self.program = build(session, self.source, [self.block], f"resident-{self.source.removesuffix('.flow')}")

    def measure(self, session):
        command = [self.program.resolve(), "--memory", "--progress=plain", *self.flags]
        resident, printed = processes.resident(session, command, cwd=HERE)
        return Measurement(resident, {"planned MB": max(map(int, PLANNED.findall(printed))) / 2**20})


class ResidentPeer(StartPeer):
    def measure(self, session):
        return Measurement(processes.resident(session, self.command, env=self.environment(session))[0], {})


def start_row(name, what, flowc, peers, limit=None, limit_is="none is known"):
    """limit: the name of a contender that is one."""
    return Row(
        name=name, unit="ms", what=what, flowc=flowc, peers=peers, higher_is_better=False, limit_is=limit_is,
        limits={"empty program": EmptyProgram()} if limit else {},
        limit=lambda _calibration, medians: medians[limit]["median"] if limit else None,
    )


def planned(_calibration, medians):
    return medians["flowc"]["checks"]["planned MB"]


def resident_row(name, what, flowc, task):
    return Row(
        name=name, unit="MB", what=f"the most memory of {what}; of PyTorch, without the data", flowc=flowc, higher_is_better=False,
        peers={"PyTorch eager": ResidentPeer(EAGER, task)}, limit=planned, limit_is="what the program itself said (`--memory`)",
    )


def from_source(name, what, source, block, flags, cached, peers):
    state = "its compiled program in the cache" if cached else "nothing in the cache"
    return start_row(name, f"from source to {what}, {state}", FromSource(source, block, flags, cached), peers)


ROWS = [
    start_row(
        "S1", "a built program from its start to the end of its first step (784-128-10, batch 64) and its own", Started(),
        {"PyTorch eager": StartPeer(EAGER, MLP), "JAX": StartPeer(JAX, MLP)}, "empty program", "a C program that does nothing",
    ),
    from_source("S3-cold", "the end of the first step of 784-128-10", "startup.flow", "step", [], False,
                {"PyTorch compile": StartPeer(COMPILE, MLP, fresh=True), "JAX": StartPeer(JAX, MLP)}),
    from_source("S3-cached", "the end of the first step of 784-128-10", "startup.flow", "step", [], True,
                {"PyTorch compile": StartPeer(COMPILE, MLP), "JAX": StartPeer(JAX, MLP)}),
    from_source("S4-cold", "the first values of the weights of the GPT of C9 (peers: the end of a step)", "gpt.flow", "single",
                ["--epochs=0"], False, {"PyTorch compile": StartPeer(COMPILE, GPT, fresh=True), "JAX": StartPeer(JAX, GPT)}),
    from_source("S4-cached", "the first values of the weights of the GPT of C9 (peers: the end of a step)", "gpt.flow", "single",
                ["--epochs=0"], True, {"PyTorch compile": StartPeer(COMPILE, GPT), "JAX": StartPeer(JAX, GPT)}),
    Row(name="S8", unit="MB", what="the built trainer of digits-sgd.flow; of peers, the package", flowc=ProgramSize(), higher_is_better=False,
        peers={"PyTorch": PackageSize("torch"), "JAX": PackageSize("jaxlib")}, limit=lambda *_: None, limit_is="none is known"),
    resident_row("S9-mlp", "training 784-128-10", Resident("digits-sgd.flow", "step", ["--epochs=1"]), MLP),
    resident_row("S9-gpt", "training the GPT of C9", Resident("gpt.flow", "single", ["--epochs=1"]), GPT),
]
