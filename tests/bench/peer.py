"""Peers that train: their processes, the search for their best settings, and contenders of rows."""

import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

from measurement import Contender, Measurement

HERE = pathlib.Path(__file__).parent
CORES = len(os.sched_getaffinity(0))
TIMED_SECONDS = 1.0
TUNING_SECONDS = 0.3
TUNING_STEPS = 30  # of an epoch, at most
JEMALLOC = pathlib.Path("/usr/lib") / f"{platform.machine()}-linux-gnu" / "libjemalloc.so.2"

# glibc gives memory back to the kernel after each large free and asks again at the next step.
ENVIRONMENTS = {
    "as installed": {},
    "no trimming": {
        "MALLOC_TRIM_THRESHOLD_": "-1",
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TOP_PAD_": str(256 << 20),
    },
}
if JEMALLOC.exists():
    ENVIRONMENTS["jemalloc"] = {"LD_PRELOAD": str(JEMALLOC)}


@dataclasses.dataclass(frozen=True)
class Framework:
    name: str
    package: str
    module: str  # its Training, for step_worker.py
    process: tuple  # settings that hold for a whole process
    first: dict  # settings that a search begins with
    choices: dict  # searched one after another, each with the best of those before
    as_installed: dict
    begins_with: str = None  # another peer's best settings
    only_for: dict = dataclasses.field(default_factory=dict)  # choices that mean something to some models only


def version(package):
    return importlib.metadata.version(package)


# ---- Processes ----


def environment(name, scratch):
    """Compiled code is kept between runs, so that measuring does not wait for compilers."""
    kept = {"TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), "TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"}
    return os.environ | ENVIRONMENTS[name] | kept


class Worker:
    def __init__(self, framework, setting, scratch):
        self.log = open(scratch / "peers.log", "a")
        begin = {"module": framework.module, "setting": setting, "scratch": str(scratch)}
        self.process = subprocess.Popen(
            [sys.executable, HERE / "step_worker.py", json.dumps(begin)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment(setting["environment"], scratch),
        )
        self.read_line()

    def read_line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a peer's process died; see {self.log.name}")
        return line

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.read_line())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Workers:
    """Processes by peer and what holds for a whole process, started when first asked. They sleep while others work."""

    def __init__(self, scratch):
        self.scratch, self.running = scratch, {}

    def wake(self, framework, setting):
        key = (framework.name, *(setting[name] for name in framework.process))
        if key not in self.running:
            self.running[key] = Worker(framework, setting, self.scratch)
        return self.running[key]

    def ask(self, framework, request):
        return self.wake(framework, request["setting"]).ask(request)

    def processes(self):
        return [worker.process.pid for worker in self.running.values()]

    def stop(self):
        for worker in self.running.values():
            worker.stop()
        self.running = {}


# ---- Search ----


def task_name(framework, task):
    settled = "-".join(f"{key}={value}" for key, value in sorted(task.items()))
    return f"{framework.name} {settled} {framework.package}={version(framework.package)} cores={CORES}"


class Tuning:
    """The best settings found for each task. Those found in a quiet machine are kept in a file, which
    may be removed to search again."""

    def __init__(self, path, frameworks, workers, quiet):
        self.path, self.frameworks, self.workers, self.quiet = path, frameworks, workers, quiet
        self.kept = json.loads(path.read_text()) if path.exists() else {}
        self.found = dict(self.kept)
        self.was_quiet = True

    def rate(self, framework, task, setting):
        short = task | {"records": min(task["records"], TUNING_STEPS * task["batch"])}
        request = {"task": short, "setting": setting, "seconds": TUNING_SECONDS, "check": False, "seed": 0}
        self.workers.wake(framework, setting)
        disturbed, answer = self.quiet.measure(lambda: self.workers.ask(framework, request))
        self.was_quiet = self.was_quiet and not self.quiet.is_doubtful(disturbed)
        outcome = answer.get("error") or f"{answer['rate']:.0f} samples/s"
        print(f"  {outcome}: {', '.join(str(value) for value in setting.values())}", flush=True)
        return answer.get("rate", 0)

    def start(self, framework, task):
        if not framework.begins_with:
            return framework.as_installed | framework.first
        best = self.setting(self.frameworks[framework.begins_with], task)
        return framework.as_installed | best | framework.first

    def search(self, framework, task):
        best = self.start(framework, task)
        best_rate = self.rate(framework, task, best)
        for name, values in framework.choices.items():
            if task["model"] not in framework.only_for.get(name, [task["model"]]):
                continue
            for setting in [best | {name: value} for value in values if value != best[name]]:
                rate = self.rate(framework, task, setting)
                if rate > best_rate:
                    best, best_rate = setting, rate
        return best

    def keep(self, name):
        self.kept[name] = self.found[name]
        self.path.write_text(json.dumps(self.kept, indent=2) + "\n")

    def setting(self, framework, task):
        name = task_name(framework, task)
        if name not in self.found:
            self.was_quiet = True
            print(f"looking for the best settings: {name}", flush=True)
            self.found[name] = self.search(framework, task)
            if self.was_quiet:
                self.keep(name)
        return self.found[name]


# ---- Contenders ----


class Peer(Contender):
    """A framework at its best or as installed."""

    def __init__(self, framework, task, as_installed=False):
        self.framework, self.task, self.as_installed = framework, task, as_installed
        self.setting = None
        if as_installed:
            self.rounds = 1

    def prepare(self, session):
        best = session.tuning.setting
        self.setting = self.framework.as_installed if self.as_installed else best(self.framework, self.task)

    def settings(self):
        return self.setting


class StepPeer(Peer):
    def __init__(self, framework, task, in_unit, as_installed=False):
        super().__init__(framework, task, as_installed)
        self.in_unit = in_unit

    def wake(self, session):
        session.workers.wake(self.framework, self.setting)

    def measure(self, session):
        request = {
            "task": self.task, "setting": self.setting, "seconds": TIMED_SECONDS, "check": True,
            "seed": session.round,
        }
        answer = session.workers.ask(self.framework, request)
        if "error" in answer:
            raise RuntimeError(f"{self.framework.name}: {answer['error']}")
        return Measurement(self.in_unit(answer.pop("rate")), answer)


def step_peers(frameworks, task, in_unit):
    """Each at its best and as installed. in_unit: from samples a second to the row's unit."""
    best = {f.name: StepPeer(f, task, in_unit) for f in frameworks}
    return best | {f"{f.name} as installed": StepPeer(f, task, in_unit, as_installed=True) for f in frameworks}
