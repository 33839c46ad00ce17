"""Pipelines of peers, each measurement a fresh process; the search for their best settings; and the
bare loop that limits decoding."""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

import numpy

import input_data
import photo_pixels
from measurement import Contender, Measurement
from peer import CORES, ENVIRONMENTS

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parents[1]
SECONDS, TUNING_SECONDS = 2.0, 1.0
WARM_RECORDS = {"csv": 8 * 20640}  # at most; they are looked at
USUAL_WARM_RECORDS = 20000
WARM_STEPS = 200

BATCHES = {"photos": 50, "csv": 256}
USUAL_BATCH = 64
PROGRAMS = {"tf.data": "tf_input.py", "DataLoader": "torch_input.py"}
PACKAGES = {"tf.data": "tensorflow", "DataLoader": "torch"}

NO_WORKERS_TO_TWICE = [0, *range(1, CORES + 1), 2 * CORES]

# What begins a search, and what is tried one after another, each with the best of those before.
FIRST = {
    ("tf.data", "photos"): {"environment": "no trimming"},
    ("tf.data", "cifar"): {"augments": "batches"},
    ("tf.data", "csv"): {"rows": 4096, "files": 4},
    ("tf.data", "idx"): {"shuffles": "orders"},
    ("tf.data", "overlap"): {"augments": "batches", "step": "function"},
    ("DataLoader", "photos"): {"decoder": "torchvision", "workers": CORES},
    ("DataLoader", "cifar"): {"workers": CORES, "threads": 1},
    ("DataLoader", "csv"): {"workers": CORES, "rows": 20640, "threads": 1},
    ("DataLoader", "idx"): {"workers": 0, "threads": 1},
    ("DataLoader", "overlap"): {"workers": CORES, "threads": 1},
}
CHOICES = {
    ("tf.data", "photos"): {"threads": [0, CORES], "environment": list(ENVIRONMENTS)},
    ("tf.data", "cifar"): {"augments": ["batches", "records"], "threads": [0, CORES], "environment": list(ENVIRONMENTS)},
    ("tf.data", "csv"): {"rows": [256, 4096, 20480], "files": [2, 4, 8], "threads": [0, CORES], "environment": list(ENVIRONMENTS)},
    ("tf.data", "idx"): {"shuffles": ["orders", "numbers", "records"], "threads": [0, CORES], "environment": list(ENVIRONMENTS)},
    ("tf.data", "overlap"): {"step": ["function", "XLA", "Keras"], "threads": [0, CORES], "environment": list(ENVIRONMENTS)},
    ("DataLoader", "photos"): {"workers": NO_WORKERS_TO_TWICE, "decoder": ["torchvision", "PIL"], "environment": list(ENVIRONMENTS)},
    ("DataLoader", "cifar"): {"workers": NO_WORKERS_TO_TWICE, "ahead": [2, 8], "environment": list(ENVIRONMENTS)},
    ("DataLoader", "csv"): {"workers": NO_WORKERS_TO_TWICE, "rows": [4096, 20640, 185760], "ahead": [2, 16], "environment": list(ENVIRONMENTS)},
    ("DataLoader", "idx"): {"workers": NO_WORKERS_TO_TWICE, "threads": [1, CORES], "environment": list(ENVIRONMENTS)},
    ("DataLoader", "overlap"): {"workers": NO_WORKERS_TO_TWICE, "threads": [1, CORES], "environment": list(ENVIRONMENTS)},
}
AS_INSTALLED = {"usual": True, "environment": "as installed", "step": "Keras", "workers": 0}


def batch_of(task):
    return BATCHES.get(task, USUAL_BATCH)


def data_of(task, session):
    return input_data.find("cifar" if task == "overlap" else task, session.scratch)


def ask(session, peer, request, environment):
    with open(session.scratch / "input.log", "a") as log:
        done = subprocess.run(
            [sys.executable, HERE / PROGRAMS[peer], json.dumps(request)], stdout=subprocess.PIPE, stderr=log,
            text=True, env=os.environ | ENVIRONMENTS[environment],
        )
    if done.returncode:
        raise RuntimeError(f"{PROGRAMS[peer]} ended with {done.returncode}; see {log.name}")
    return json.loads(done.stdout.splitlines()[-1])


def measurement(answer, facts=None):
    """User seconds are told of a million records."""
    names = {"user": "user s/M"}
    checks = {names.get(key, key): value for key, value in answer.items() if key != "rate"}
    return Measurement(answer["rate"], checks | (facts or {}))


class InputPeer(Contender):
    """tf.data or DataLoader, at its best or as installed (and as tutorials write it)."""

    def __init__(self, peer, task, as_installed=False):
        self.peer, self.task, self.as_installed = peer, task, as_installed
        self.setting, self.facts = None, {}

    def request(self, session, setting, seconds):
        data = data_of(self.task, session)
        return {
            "task": self.task, "path": data.path, "records": data.records, "batch": batch_of(self.task),
            "setting": {"usual": False} | setting, "seconds": seconds, "warm steps": WARM_STEPS,
            "warm records": min(data.records, WARM_RECORDS.get(self.task, USUAL_WARM_RECORDS)),
        }

    def rate(self, session, setting):
        request = self.request(session, setting, TUNING_SECONDS)
        answer = ask(session, self.peer, request, setting.get("environment", "as installed"))
        print(f"  {answer['rate']:.0f}/s: {setting}", flush=True)
        return answer["rate"]

    def search(self, session):
        best = {"environment": "as installed"} | FIRST[self.peer, self.task]
        best_rate = self.rate(session, best)
        for name, values in CHOICES[self.peer, self.task].items():
            for setting in [best | {name: value} for value in values if value != best.get(name, 0)]:
                rate = self.rate(session, setting)
                if rate > best_rate:
                    best, best_rate = setting, rate
        return best

    def best_setting(self, session, name):
        found = session.tuning.kept
        if name not in found:
            print(f"looking for the best settings: {name}", flush=True)
            session.tuning.found[name] = self.search(session)
            session.tuning.keep(name)
        return found[name]

    def prepare(self, session):
        version = importlib.metadata.version(PACKAGES[self.peer])
        name = f"input {self.task} {self.peer} {version} cores={CORES}"
        self.setting = AS_INSTALLED if self.as_installed else self.best_setting(session, name)

        self.facts = self.pixels(session) if self.task == "photos" and not self.as_installed else {}

    def pixels(self, session):
        path = session.scratch / f"photos-{self.peer}.npy"
        request = self.request(session, self.setting, SECONDS) | {"pixels": str(path)}
        ask(session, self.peer, request, self.setting["environment"])
        return {"pixels differ by": photo_pixels.largest_difference(request["path"], numpy.load(path))}

    def measure(self, session):
        request = self.request(session, self.setting, SECONDS)
        return measurement(ask(session, self.peer, request, self.setting["environment"]), self.facts)

    def settings(self):
        return self.setting


class BareLoop(Contender):
    """libjpeg-turbo and the resize alone, on all cores."""

    def prepare(self, session):
        self.program = session.scratch / "photos_limit"
        flags = ["-O3", "-march=native", "-std=gnu11", "-pthread", f"-I{REPOSITORY}"]
        library = session.build / "lib" / "flowc" / "libflowrt.a"
        subprocess.run(["gcc", *flags, HERE / "photos_limit.c", library, "-o", self.program, "-ljpeg", "-lm"], check=True)

    def measure(self, session):
        folder = data_of("photos", session).path
        done = subprocess.run([self.program, folder, str(SECONDS)], check=True, capture_output=True, text=True)
        return measurement(json.loads(done.stdout))


def peers(task):
    return {
        "tf.data": InputPeer("tf.data", task),
        "DataLoader": InputPeer("DataLoader", task),
        "tf.data as installed": InputPeer("tf.data", task, as_installed=True),
        "DataLoader as installed": InputPeer("DataLoader", task, as_installed=True),
    }
