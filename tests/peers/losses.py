"""Two models from the same weights and batches: the loss of each of 100 steps beside PyTorch's.

    python losses.py FLOWC

The models are those of the bench, the second one smaller. Rounding differs, and what it changes in
the weights grows with each step: a loss may be off by TOLERANCE of itself, and as much again every
GROWTH steps. The bench's convolutional network is not among them: after some 70 steps its losses are
further apart than that, by 1 % at step 97, and it is not known why; single steps from the same weights
that were looked at agree to 3e-7."""

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from library import flowc, read_tensors, write_idx

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "bench"))
import torch_models

STEPS = 100
TOLERANCE, GROWTH = 1e-5, 10
BATCHES = STEPS + 1  # no epoch ends, so that what a run has added up is not begun anew
IMAGES, WINDOWS, LENGTH = 16, 8, 32
GPT = {"WIDTH": 64, "HEADS": 4, "LAYERS": 2, "VOCABULARY": 128, "CONTEXT": LENGTH}


# Data.


def shipped(name, begin, count):
    content = gzip.decompress((HERE / "../../examples/data" / name).read_bytes())
    return torch.tensor(numpy.frombuffer(content, numpy.uint8, count, begin))


def digits():
    count = BATCHES * IMAGES
    x = shipped("train-images-idx3-ubyte.gz", 16, count * 784).reshape(count, 28, 28, 1).float() / 255
    return x, shipped("train-labels-idx1-ubyte.gz", 8, count).int()


def text():
    """Windows, and what follows each of their bytes."""
    count = BATCHES * WINDOWS * LENGTH
    return [shipped("tinyshakespeare.txt.gz", begin, count).reshape(-1, LENGTH).int() for begin in (0, 1)]


# flowc.


def loss_sum(path):
    """Of the losses so far, each as often as its batch has records: a checkpoint has all its bits."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return float.fromhex(header["__metadata__"]["sums"].split()[0])


def flowc_run(program, folder, name, batch):
    """The first weights, and the loss of each step."""
    flowc(program, "run", "losses.flow", name, "--count=0", "--progress=off", folder=folder)
    last = folder / f"{name}.safetensors"
    weights = read_tensors(last)
    flowc(program, "run", "losses.flow", name, "--progress=off", folder=folder)
    sums = [0.0] + [loss_sum(folder / f"{name}.{i}.safetensors") for i in range(STEPS - 1, 0, -1)] + [loss_sum(last)]
    return weights, [(after - before) / batch for before, after in zip(sums, sums[1:])]


# PyTorch: the parameters of its modules in the order of flowc's weights.


def gpt_modules(model):
    yield from [model.embedding, model]
    for block in model.blocks:
        yield from [block.before_attention, block.attention, block.merged]
        yield from [block.before_units, block.units, block.result]
    yield from model.head


def parameters(model):
    modules = gpt_modules(model) if isinstance(model, torch_models.Gpt) else model
    return [(module, p) for module in modules for p in module.parameters(recurse=False)]


def as_torch(module, weight):
    """flowc has the inputs of a layer before its outputs."""
    if not isinstance(module, torch.nn.Linear) or weight.dim() == 1:
        return weight
    return weight.T


def load(model, weights):
    wanted = parameters(model)
    assert len(wanted) == len(weights), f"{len(weights)} weights for {len(wanted)} parameters"
    for (module, parameter), weight in zip(wanted, weights):
        with torch.no_grad():
            parameter.copy_(as_torch(module, weight))


def torch_run(model, optimizer, x, y, batch):
    losses = []
    for i in range(STEPS):
        here = slice(i * batch, (i + 1) * batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[here]).flatten(0, -2), y[here].long().flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# Comparing.


def worst_of(found, wanted):
    """The largest difference, in what is allowed at its step, and that step."""
    return max(
        (abs(f - w) / abs(w) / (TOLERANCE * (1 + i / GROWTH)), i + 1) for i, (f, w) in enumerate(zip(found, wanted))
    )


optim = torch.optim

# The train block, the model, its name in losses.flow, the optimizer, data, batch.
CASES = [
    ("mlp", torch_models.mlp, "perceptron", lambda p: optim.SGD(p, 0.1), digits, IMAGES),
    ("gpt", torch_models.Gpt, "transformer", lambda p: optim.AdamW(p, 1e-3), text, WINDOWS),
]


def agrees(program, folder, name, make, first, optimizer, data, batch):
    x, y = data()
    write_idx(folder / "x.idx", x)
    write_idx(folder / "y.idx", y)
    weights, found = flowc_run(program, folder, name, batch)
    model = make(torch.contiguous_format)
    load(model, [w for path, w in weights.items() if path.startswith(first + "/")])
    wanted = torch_run(model, optimizer(model.parameters()), x, y, batch)
    worst, step = worst_of(found, wanted)
    fell = wanted[-1] < 0.8 * wanted[0]
    verdict = "as PyTorch" if worst <= 1 and fell else "FAILED"
    print(f"{name}: {verdict}: {wanted[0]:.6f} to {wanted[-1]:.6f}, step {step} is off by {worst:.2g} of what it may")
    return worst <= 1 and fell


def main(program):
    program = str(Path(program).resolve())
    for size, number in GPT.items():
        setattr(torch_models, size, number)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "losses.flow", folder)
        failed = sum(not agrees(program, Path(folder), *case) for case in CASES)
    print(f"{len(CASES) - failed} models learn as in PyTorch, {failed} do not")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
