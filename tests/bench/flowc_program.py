"""flowc's side: executables made by `flowc build`, and two ways to time them."""

import dataclasses
import pathlib
import re
import subprocess
import time

import tasks
from measurement import Contender, Measurement

HERE = pathlib.Path(__file__).parent
TIMED_SECONDS = 1.5
TIMED_EPOCHS_LEAST = 2

EPOCH_LINE = re.compile(r"epoch (\d+)/\d+: loss=(\S+)")
EVALUATION = re.compile(r"evaluate \w+: loss=(\S+) accuracy=(\S+)")


def version(session):
    says = subprocess.run([session.build / "flowc", "--version"], capture_output=True, text=True)
    commit = subprocess.run(
        ["git", "-C", session.repository, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return " ".join((says.stdout + says.stderr).split()[:2] + commit.stdout.split())


def build(session, source, options, name):
    program = session.scratch / name
    subprocess.run([session.build / "flowc", "build", HERE / source, *options, "-o", program], check=True)
    return program


@dataclasses.dataclass(frozen=True)
class Program:
    """A .flow file here: which entries of a task are its options, and which of its options are made files."""

    source: str
    block: str = "step"
    shaped: list = dataclasses.field(default_factory=list)
    files: dict = None
    evaluates: bool = False

    def build(self, session, task):
        values = task | {"batch_size": task["batch"]}
        names = ["batch_size" if name == "batch" else name for name in self.shaped]
        options = [f"--{name}={values[name]}" for name in names]
        return build(session, self.source, [self.block, *options], f"{self.source.removesuffix('.flow')}-{task['batch']}-{self.block}")

    def flags(self, session):
        return [f"--{name}={(session.scratch / file).resolve()}" for name, file in (self.files or {}).items()]


def command(session, program, *flags):
    """Saves go to the scratch folder, not to where the .flow files and their data are."""
    save = session.scratch / f"{program.name}.safetensors"
    return [program, f"--save={save}", f"--seed={session.round}", "--progress=plain", *flags]


def last_evaluation(text):
    """What was measured, by name."""
    found = EVALUATION.findall(text)
    return dict(zip(("test loss", "accuracy"), map(float, found[-1]))) if found else {}


def run_epochs(session, program, flags, epochs):
    """When each epoch ended and its loss, as the progress lines arrive; and what was printed."""
    started = command(session, program, f"--epochs={epochs}", *flags)
    ends = {}
    with subprocess.Popen(
        started, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            now = time.perf_counter()
            found = EPOCH_LINE.match(line)
            if found:
                ends[int(found[1])] = now, float(found[2])  # a slow epoch may have had a line before its last
        printed = process.stdout.read()
    if process.returncode or len(ends) != epochs:
        raise RuntimeError(f"{program.name} ended with {process.returncode} after {len(ends)} epochs")
    times, losses = zip(*ends.values())
    return times, losses, printed


class StepRate(Contender):
    """Over whole epochs, from the end of the warm ones on: no start-up, no reading of files, no evaluation (that follows
    the last). in_unit: from records a second to the row's unit."""

    def __init__(self, program, task, in_unit):
        self.source, self.task, self.in_unit = program, task, in_unit
        self.program, self.epochs = None, 0

    def prepare(self, session):
        tasks.data_of(self.task, session.scratch)  # makes the files
        self.program = self.source.build(session, self.task)
        times, _, _ = self.run(session, 2)
        self.epochs = tasks.warm_epochs(self.task) + max(TIMED_EPOCHS_LEAST, round(TIMED_SECONDS / (times[1] - times[0])))

    def run(self, session, epochs):
        flags = self.source.flags(session)
        if self.source.evaluates:
            flags.append(f"--evaluate_every={epochs}")
        return run_epochs(session, self.program, flags, epochs)

    def measure(self, session):
        times, losses, printed = self.run(session, self.epochs)
        warm = tasks.warm_epochs(self.task)
        first = warm - 1
        records = self.task["records"] * (self.epochs - warm)
        checks = {"loss": losses[first], **last_evaluation(printed)}
        checks.pop("test loss", None)  # of as many epochs as there was time for
        return Measurement(self.in_unit(records / (times[-1] - times[first])), checks)

    def settings(self):
        return {"threads": "default", "timed epochs": self.epochs - tasks.warm_epochs(self.task)}


class WholeRun(Contender):
    """Training samples a second of a process from its start to its end."""

    def __init__(self, source, trained):
        self.source, self.trained, self.program = source, trained, None

    def prepare(self, session):
        self.program = build(session, self.source, [], self.source.removesuffix(".flow"))

    def measure(self, session):
        begin = time.perf_counter()
        done = subprocess.run(
            command(session, self.program), cwd=HERE, check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - begin
        return Measurement(self.trained / seconds, last_evaluation(done.stdout) | {"seconds": seconds})

    def settings(self):
        return {"threads": "default"}
