"""flowc's side of the rows that measure pipelines: a training whose step reads one number of each batch
(input-probe.flow), timed over whole epochs after the first."""

import pathlib
import re
import subprocess
import time

import numpy

import flowc_program
import photo_pixels
from input_peer import SECONDS, data_of
from input_timing import Facts, running_seconds
from measurement import Contender, Measurement

EPOCHS = 10**6  # it is stopped before
EPOCH_LINE = re.compile(r"^epoch \d+/", re.MULTILINE)
LOOK_SECONDS = 0.002


class Epochs:
    """The progress of a program as a file that is looked at now and then: who reads each of hundreds
    of lines a second takes a processor from what is measured."""

    def __init__(self, started, scratch):
        self.lines = (scratch / "epochs.log").open("w+")
        command = [*started, f"--epochs={EPOCHS}", "--progress=plain"]
        self.process = subprocess.Popen(command, cwd=flowc_program.HERE, stdout=subprocess.DEVNULL, stderr=self.lines)

    def done(self):
        text = pathlib.Path(self.lines.name).read_text()
        return len(EPOCH_LINE.findall(text[: text.rfind("\n") + 1]))

    def wait_for_next(self):
        """How many are done, now that one more is; the time; user seconds so far."""
        before = self.done()
        while (done := self.done()) == before:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.process.args[0]} ended with {self.process.returncode} after {done} epochs")
            time.sleep(LOOK_SECONDS)
        return done, time.perf_counter(), running_seconds(self.process.pid)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.lines.close()


def timed_epochs(session, started, records):
    """Records a second and user seconds for a million, from the end of the first epoch to that of
    the one in which the time is over."""
    epochs = Epochs(started, session.scratch)
    try:
        begun, begin, begin_user = epochs.wait_for_next()
        time.sleep(SECONDS)
        done, end, end_user = epochs.wait_for_next()
    finally:
        epochs.stop()
    made = records * (done - begun)
    return made / (end - begin), (end_user - begin_user) / made * 1e6


def build(session, source, block):
    program = session.scratch / f"{source.removesuffix('.flow')}-{block}"
    subprocess.run([session.build / "flowc", "build", flowc_program.HERE / source, block, "-o", program], check=True)
    return program


def written(session, task):
    """What the pipeline `written` of the row's program writes."""
    path = session.scratch / f"{task}.npy"
    command = [session.build / "flowc", "run", flowc_program.HERE / f"input-{task}.flow", "written"]
    options = [f"--data={data_of(task, session).path}", f"--result={path.resolve()}"]
    subprocess.run([*command, *options], check=True, cwd=flowc_program.HERE, stdout=subprocess.DEVNULL)
    return numpy.load(path, mmap_mode="r")


def facts_of(values):
    facts = Facts()
    for part in numpy.array_split(values, max(1, len(values) // 1000)):
        facts.add(part)
    return facts.result()


class InputRate(Contender):
    def __init__(self, task):
        self.task, self.program, self.facts, self.what = task, None, None, None

    def prepare(self, session):
        self.what = data_of(self.task, session).what
        self.program = build(session, f"input-{self.task}.flow", "run")
        self.facts = facts_of(written(session, self.task))

    def measure(self, session):
        data = data_of(self.task, session)
        rate, user = timed_epochs(session, [self.program, f"--data={data.path}"], data.records)
        checks = {"user s/M": user, **self.facts}
        if self.task == "csv":
            checks["MB per user s"] = data.size / data.records / user
        return Measurement(rate, checks)

    def settings(self):
        return {"threads": "default", "data": self.what}


class Photos(InputRate):
    """Its pixels are compared with Pillow's of the same files."""

    def prepare(self, session):
        super().prepare(session)
        folder = data_of(self.task, session).path
        self.facts = self.facts | {"pixels differ by": photo_pixels.largest_difference(folder, numpy.load(session.scratch / "photos.npy"))}


class Overlap(Contender):
    """A pipeline and a step that needs all cores; each alone, and both."""

    def prepare(self, session):
        self.what = data_of("cifar", session).what
        self.alone = build(session, "input-cifar.flow", "run")
        self.step, self.both = (build(session, "overlap.flow", block) for block in ("step", "both"))

    def measure(self, session):
        data = data_of("cifar", session)
        alone, step, (both, user) = (
            timed_epochs(session, [program, f"--data={data.path}"], data.records) for program in (self.alone, self.step, self.both)
        )
        ideal = 1 / (1 / alone[0] + 1 / step[0])
        checks = {"pipeline alone": alone[0], "step alone": step[0], "ideal": ideal, "user s/M": user}
        checks["CPU work of both"] = alone[1] + step[1]
        return Measurement(both, checks)

    def settings(self):
        return {"threads": "default", "data": self.what}
