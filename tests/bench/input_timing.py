"""What the processes of tf_input.py and torch_input.py share: an endless iterator of batches is warmed
up, then timed, with the processor time of the process and of those it has started."""

import json
import os
import pathlib
import resource
import signal
import sys
import time

import numpy

TICKS = os.sysconf("SC_CLK_TCK")


def children(process):
    tasks = pathlib.Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def running_seconds(process):
    """User time of a process and of what it has started, ended ones too."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[13])) / TICKS + sum(map(running_seconds, children(process)))
    except FileNotFoundError:
        return 0.0


def user_seconds():
    own = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    return own + ended + sum(map(running_seconds, children(os.getpid())))


class Facts:
    """Of the values of some records, so that contenders can be compared."""

    def __init__(self):
        self.sums, self.count = numpy.zeros(2), 0

    def add(self, values):
        values = numpy.asarray(values, dtype=numpy.float64)
        self.sums += values.sum(), (values**2).sum()
        self.count += values.size

    def result(self):
        mean, square = self.sums / self.count
        return {"mean": mean, "deviation": max(0.0, square - mean**2) ** 0.5}


def warm_up(batches, records):
    """Goes through so many records, and looks at them."""
    facts = Facts()
    while records > 0:
        x = next(batches)[0]
        facts.add(x)
        records -= len(x)
    return facts.result()


def timed(batches, seconds, use=lambda batch: None):
    """Records a second, and user seconds for a million of them."""
    records, begin, user = 0, time.perf_counter(), user_seconds()
    while (passed := time.perf_counter() - begin) < seconds:
        batch = next(batches)
        use(batch)
        records += len(batch[0])
    return {"rate": records / passed, "user": (user_seconds() - user) / records * 1e6}


def repeated(batch):
    while True:
        yield batch


def overlapped(batches, step, request):
    """The pipeline alone, the step alone on one batch that it keeps, and both."""
    one = next(batches)
    for _ in range(request["warm steps"]):
        step(next(batches))
    alone = timed(batches, request["seconds"])
    kept = timed(repeated(one), request["seconds"], step)
    both = timed(batches, request["seconds"], step)
    ideal = 1 / (1 / alone["rate"] + 1 / kept["rate"])
    return both | {"pipeline alone": alone["rate"], "step alone": kept["rate"], "ideal": ideal}


def save_pixels(batches, request):
    """The data set once, in its order, rows and columns before channels."""
    parts, left = [], request["records"]
    while left > 0:
        x = numpy.asarray(next(batches)[0])
        parts.append(x if x.shape[-1] == 3 else x.transpose(0, 2, 3, 1))
        left -= len(x)
    numpy.save(request["pixels"], numpy.concatenate(parts)[: request["records"]])
    return {}


def run(endless, new_step=None):
    """endless(request, shuffled): the iterator of batches that the request asks for. Prints what was
    measured as one line of JSON."""
    request = json.loads(sys.argv[1])
    if "pixels" in request:
        answer = save_pixels(endless(request, False), request)
    elif request["task"] == "overlap":
        answer = overlapped(endless(request, True), new_step(request["setting"]), request)
    else:
        batches = endless(request, True)
        facts = warm_up(batches, request["warm records"])
        answer = timed(batches, request["seconds"]) | ({} if request["setting"]["usual"] else facts)
    print(json.dumps(answer), flush=True)
    for child in children(os.getpid()):  # nobody waits for what they have read ahead, but their time counts
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os._exit(0)
