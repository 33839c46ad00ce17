"""PyTorch, eager and compiled: what its settings may be, and whole runs."""

import json
import subprocess
import sys
import time

from measurement import Measurement
from peer import CORES, ENVIRONMENTS, HERE, Framework, Peer, environment

AS_INSTALLED = {
    "form": "eager", "environment": "as installed", "threads": 0, "denormals": "kept",
    "input": "as stored, picked each step", "optimizer": "default", "layout": "channels_first",
}
IMAGES = ["lenet", "cnn", "resnet20"]
SMALL = ["mlp", "tiny", "lenet"]

EAGER = Framework(
    name="PyTorch eager",
    package="torch",
    module="torch_steps",
    process=("environment", "denormals"),
    first={"threads": CORES, "denormals": "flushed", "environment": "no trimming"},
    choices={
        "environment": list(ENVIRONMENTS),
        "threads": sorted({1, CORES}),
        "layout": ["channels_first", "channels_last"],
        "input": ["as stored, picked each step", "as stored, rearranged each epoch", "prepared, picked each step"],
        "optimizer": ["default", "foreach", "fused"],
    },
    as_installed=AS_INSTALLED,
    only_for={"layout": IMAGES, "input": SMALL},
)
COMPILE = Framework(
    name="PyTorch compile",
    package="torch",
    module="torch_steps",
    process=("environment", "denormals"),
    first={"form": "whole step", "mode": "default"},
    choices={
        "form": ["whole step", "model + loss, optimizer", "model"],
        "threads": sorted({1, CORES}),
        "mode": ["default", "max-autotune-no-cudagraphs"],
    },
    as_installed=AS_INSTALLED | {"form": "model", "mode": "default"},
    begins_with="PyTorch eager",
    only_for={"threads": SMALL, "mode": [*SMALL, "gpt"]},  # autotuning is for products of matrices
)


class RunPeer(Peer):
    """A whole process. As installed it reads through a DataLoader."""

    def __init__(self, framework, task, epochs, as_installed=False):
        super().__init__(framework, task, as_installed)
        self.epochs = epochs

    def prepare(self, session):
        super().prepare(session)
        if self.as_installed:
            self.setting = self.setting | {"input": "DataLoader"}

    def measure(self, session):
        request = {
            "task": self.task, "setting": self.setting, "epochs": self.epochs, "seed": session.round,
            "save": str(session.scratch / "torch.pt"), "scratch": str(session.scratch),
        }
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, HERE / "torch_run.py", json.dumps(request)], check=True, capture_output=True,
            text=True, env=environment(self.setting["environment"], session.scratch),
        )
        seconds = time.perf_counter() - begin
        checks = json.loads(done.stdout) | {"seconds": seconds}
        return Measurement(self.task["records"] * self.epochs / seconds, checks)


def run_peers(task, epochs):
    return {
        "PyTorch eager": RunPeer(EAGER, task, epochs),
        "PyTorch compile": RunPeer(COMPILE, task, epochs),
        "PyTorch eager as installed": RunPeer(EAGER, task, epochs, as_installed=True),
    }
