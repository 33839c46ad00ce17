"""flowc's side: executables made by `flowc build`, and two ways to time them."""

import pathlib
import re
import subprocess
import time

from measurement import Contender, Measurement

HERE = pathlib.Path(__file__).parent
WARM_EPOCHS = 3
TIMED_SECONDS = 1.5
TIMED_EPOCHS_LEAST = 6

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


def command(session, program, *flags):
    """Saves go to the scratch folder, not to where the .flow files and their data are."""
    save = session.scratch / f"{program.name}.safetensors"
    return [program, f"--save={save}", f"--seed={session.round}", "--progress=plain", *flags]


def last_evaluation(text):
    loss, accuracy = EVALUATION.findall(text)[-1]
    return float(loss), float(accuracy)


def run_epochs(session, program, epochs):
    """When each epoch ended and its loss, as the progress lines arrive; and what was printed."""
    started = command(session, program, f"--epochs={epochs}", f"--evaluate_every={epochs}")
    times, losses = [], []
    with subprocess.Popen(
        started, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            now = time.perf_counter()
            found = EPOCH_LINE.match(line)
            if found:
                times.append(now)
                losses.append(float(found[2]))
        printed = process.stdout.read()
    if process.returncode or len(times) != epochs:
        raise RuntimeError(f"{program.name} ended with {process.returncode} after {len(times)} epochs")
    return times, losses, printed


class StepRate(Contender):
    """Samples a second over whole epochs, from the end of the third on: no start-up, no reading of
    files, no evaluation (that follows the last)."""

    def __init__(self, source, batch, records):
        self.source, self.batch, self.records = source, batch, records
        self.program, self.epochs = None, 0

    def prepare(self, session):
        options = [f"--batch_size={self.batch}"]
        name = f"{self.source.removesuffix('.flow')}-b{self.batch}"
        self.program = build(session, self.source, options, name)
        times, _, _ = run_epochs(session, self.program, WARM_EPOCHS)
        seconds = (times[-1] - times[0]) / (WARM_EPOCHS - 1)
        self.epochs = WARM_EPOCHS + max(TIMED_EPOCHS_LEAST, round(TIMED_SECONDS / seconds))

    def measure(self, session):
        times, losses, printed = run_epochs(session, self.program, self.epochs)
        first = WARM_EPOCHS - 1
        rate = self.records * (self.epochs - WARM_EPOCHS) / (times[-1] - times[first])
        return Measurement(rate, {"loss": losses[first], "accuracy": last_evaluation(printed)[1]})

    def settings(self):
        return {"threads": "default", "timed epochs": self.epochs - WARM_EPOCHS}


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
        loss, accuracy = last_evaluation(done.stdout)
        checks = {"test loss": loss, "accuracy": accuracy, "seconds": seconds}
        return Measurement(self.trained / seconds, checks)

    def settings(self):
        return {"threads": "default"}
