"""PyTorch's side: processes in several environments, the search for its best settings, and the
contenders of the rows."""

import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import disturbance
from measurement import Contender, Measurement

HERE = pathlib.Path(__file__).parent
CORES = len(os.sched_getaffinity(0))
TIMED_SECONDS = 1.0
TUNING_SECONDS = 0.3
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

AS_INSTALLED = {
    "eager": {
        "form": "eager", "environment": "as installed", "threads": 0,
        "denormals": "kept", "input": "u8, picked each step", "optimizer": "default",
    },
    "compile": {
        "form": "model", "mode": "default", "environment": "as installed", "threads": 0,
        "denormals": "kept", "input": "u8, picked each step", "optimizer": "default",
    },
}

# Searched one after another, each with the best of those before.
CHOICES = {
    "eager": {
        "environment": list(ENVIRONMENTS),
        "threads": sorted({1, CORES}),
        "input": ["u8, picked each step", "u8, rearranged each epoch", "f32, picked each step"],
        "optimizer": ["default", "foreach", "fused"],
    },
    "compile": {
        "form": ["whole step", "model + loss, optimizer", "model"],
        "threads": sorted({1, CORES}),
        "mode": ["default", "max-autotune-no-cudagraphs"],
    },
}


def versions():
    names = ("torch", "numpy")
    return {name: importlib.metadata.version(name) for name in names} | {"python": platform.python_version()}


# ---- Processes ----


def environment(name, scratch):
    """Compiled code is kept between runs, so that measuring does not wait for compilers."""
    return os.environ | ENVIRONMENTS[name] | {"TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}


class Worker:
    def __init__(self, setting, scratch):
        self.log = open(scratch / "torch.log", "a")
        self.process = subprocess.Popen(
            [sys.executable, HERE / "torch_worker.py", setting["denormals"]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=environment(setting["environment"], scratch),
        )
        self.read_line()

    def read_line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"PyTorch's process died; see {self.log.name}")
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

    def wake(self, peer, setting):
        key = (peer, setting["environment"], setting["denormals"])
        if key not in self.running:
            self.running[key] = Worker(setting, self.scratch)
        return self.running[key]

    def ask(self, peer, request):
        return self.wake(peer, request["setting"]).ask(request)

    def processes(self):
        return [worker.process.pid for worker in self.running.values()]

    def stop(self):
        for worker in self.running.values():
            worker.stop()
        self.running = {}


# ---- Search ----


def task_name(peer, task):
    settled = "-".join(f"{key}={value}" for key, value in sorted(task.items()))
    return f"{peer} {settled} torch={versions()['torch']} cores={CORES}"


class Tuning:
    """The best settings found for each task. Those found in a quiet machine are kept in a file, which
    may be removed to search again."""

    def __init__(self, path, workers, quiet):
        self.path, self.workers, self.quiet = path, workers, quiet
        self.kept = json.loads(path.read_text()) if path.exists() else {}
        self.found = dict(self.kept)
        self.worst_share = 0.0

    def rate(self, peer, task, setting):
        request = {"task": task, "setting": setting, "seconds": TUNING_SECONDS, "check": False, "seed": 0}
        self.workers.wake(peer, setting)
        share, answer = self.quiet.measure(lambda: self.workers.ask(peer, request))
        self.worst_share = max(self.worst_share, share)
        outcome = answer.get("error") or f"{answer['rate']:.0f} samples/s"
        print(f"  {outcome}: {', '.join(str(value) for value in setting.values())}", flush=True)
        return answer.get("rate", 0)

    def start(self, peer, task):
        if peer == "eager":
            return AS_INSTALLED["eager"] | {"threads": CORES, "denormals": "flushed"}
        eager = self.setting("eager", task)
        shared = {key: eager[key] for key in ("environment", "threads", "denormals", "input", "optimizer")}
        return AS_INSTALLED["compile"] | shared | {"form": "whole step"}

    def search(self, peer, task):
        best = self.start(peer, task)
        best_rate = self.rate(peer, task, best)
        for name, values in CHOICES[peer].items():
            for setting in [best | {name: value} for value in values if value != best[name]]:
                rate = self.rate(peer, task, setting)
                if rate > best_rate:
                    best, best_rate = setting, rate
        return best

    def keep(self, name):
        self.kept[name] = self.found[name]
        self.path.write_text(json.dumps(self.kept, indent=2) + "\n")

    def setting(self, peer, task):
        name = task_name(peer, task)
        if name not in self.found:
            self.worst_share = 0.0
            print(f"looking for the best settings: {name}", flush=True)
            self.found[name] = self.search(peer, task)
            if self.worst_share <= disturbance.LIMIT:
                self.keep(name)
        return self.found[name]


# ---- Contenders ----


class Peer(Contender):
    """PyTorch as `peer` (eager or compile), at its best or as installed."""

    def __init__(self, peer, task, as_installed=False):
        self.peer, self.task, self.as_installed = peer, task, as_installed
        self.setting = None
        if as_installed:
            self.rounds = 1

    def prepare(self, session):
        self.setting = (
            AS_INSTALLED[self.peer] if self.as_installed else session.tuning.setting(self.peer, self.task)
        )

    def settings(self):
        return self.setting


class StepPeer(Peer):
    def wake(self, session):
        session.workers.wake(self.peer, self.setting)

    def measure(self, session):
        request = {
            "task": self.task, "setting": self.setting, "seconds": TIMED_SECONDS, "check": True,
            "seed": session.round,
        }
        answer = session.workers.ask(self.peer, request)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return Measurement(answer.pop("rate"), answer)


class RunPeer(Peer):
    """A whole process. As installed it reads through a DataLoader."""

    def __init__(self, peer, task, epochs, as_installed=False):
        super().__init__(peer, task, as_installed)
        self.epochs = epochs

    def prepare(self, session):
        super().prepare(session)
        if self.as_installed:
            self.setting = self.setting | {"input": "DataLoader"}

    def measure(self, session):
        request = {
            "task": self.task, "setting": self.setting, "epochs": self.epochs, "seed": session.round,
            "save": str(session.scratch / "torch.pt"),
        }
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, HERE / "torch_run.py", json.dumps(request)], check=True, capture_output=True,
            text=True, env=environment(self.setting["environment"], session.scratch),
        )
        seconds = time.perf_counter() - begin
        checks = json.loads(done.stdout) | {"seconds": seconds}
        return Measurement(60000 * self.epochs / seconds, checks)


def step_peers(task):
    return {
        "PyTorch eager": StepPeer("eager", task),
        "PyTorch compile": StepPeer("compile", task),
        "PyTorch eager as installed": StepPeer("eager", task, as_installed=True),
        "PyTorch compile as installed": StepPeer("compile", task, as_installed=True),
    }


def run_peers(task, epochs):
    return {
        "PyTorch eager": RunPeer("eager", task, epochs),
        "PyTorch compile": RunPeer("compile", task, epochs),
        "PyTorch eager as installed": RunPeer("eager", task, epochs, as_installed=True),
    }
