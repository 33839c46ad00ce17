"""Three models from the same weights and batches: the loss of each of 100 steps beside PyTorch's.

    python losses.py FLOWC

The models are those of the bench, the last one smaller. Each step is judged alone: from flowc's own weights
before it, PyTorch in float64 has its loss and its gradients but for STEP_TOLERANCE (single_steps.py).

A perceptron and a GPT are also trained by PyTorch in float32 from the same first weights. Rounding differs,
and what it changes in the weights grows with each step: a loss may be off by TOLERANCE of itself, and as much
again every GROWTH steps. A convolutional network decides a million signs and largest of windows each step; now
and then one hangs on a rounding (of 8e-8 in the second step), and with another choice all that follows is
another, as right, training: so its steps are judged alone only."""

import dataclasses
import gzip
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from library import flowc, read_tensors, write_idx
from single_steps import judged

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "bench"))
import torch_models

STEPS = 100
TOLERANCE, GROWTH = 1e-5, 10
STEP_TOLERANCE = 3e-6  # of the loss, and of the largest of a gradient
UNJUDGED = 2  # steps, at most, whose gradients hang on too many roundings
BATCHES = STEPS + 1  # no epoch ends, so that what a run has added up is not begun anew
IMAGES, WINDOWS, LENGTH = 16, 8, 32
SGD_RATE = 0.1
POOLED = (5, 5, 64)  # what the convolutional network flattens
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


def checkpoint(folder, name, step):
    return folder / (f"{name}.{STEPS - step}.safetensors" if step < STEPS else f"{name}.safetensors")


def flowc_run(program, folder, name, batch):
    """What is kept of each step, from the first weights on, and the loss of each step."""
    flowc(program, "run", "losses.flow", name, "--count=0", "--progress=off", folder=folder)
    kept = [read_tensors(folder / f"{name}.safetensors")]
    flowc(program, "run", "losses.flow", name, "--progress=off", folder=folder)
    files = [checkpoint(folder, name, i + 1) for i in range(STEPS)]
    kept += map(read_tensors, files)
    sums = [0.0, *map(loss_sum, files)]
    return kept, [(after - before) / batch for before, after in zip(sums, sums[1:])]


def changed(before, after, kept, share):
    """after = kept * before + share * gradient gives the gradient, and what it is off by after's rounding."""
    return (after.double() - kept * before.double()) / share, 2**-23 * after.double().abs() / abs(share)


def sgd_gradient(before, after, weight):
    return changed(before[weight], after[weight], 1, -SGD_RATE)


def adamw_gradient(before, after, weight):
    """From the mean of gradients."""
    mean = f"optimizer/{weight}/adam.1/m"
    return changed(before[mean], after[mean], 0.9, 0.1)


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
    """flowc has the inputs of a layer before its outputs, and the channels of an image last."""
    if isinstance(module, torch.nn.Conv2d) and weight.dim() == 4:
        return weight.permute(3, 2, 0, 1)
    if not isinstance(module, torch.nn.Linear) or weight.dim() == 1:
        return weight
    if len(weight) == math.prod(POOLED):
        return weight.reshape(*POOLED, -1).permute(3, 2, 0, 1).flatten(1)
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


@dataclasses.dataclass(frozen=True)
class Case:
    """A train block of losses.flow and its model there."""

    name: str
    model: str
    make: object
    data: object
    batch: int
    gradient: object  # from what is kept before and after a step
    optimizer: object = None  # PyTorch's, where all steps are also taken together


optim = torch.optim
CASES = [
    Case("mlp", "perceptron", torch_models.mlp, digits, IMAGES, sgd_gradient, lambda p: optim.SGD(p, SGD_RATE)),
    Case("cnn", "convolutions", torch_models.cnn, digits, IMAGES, sgd_gradient),
    Case("gpt", "transformer", torch_models.Gpt, text, WINDOWS, adamw_gradient, lambda p: optim.AdamW(p, 1e-3)),
]


def model_of(case, kept):
    model = case.make(torch.contiguous_format)
    model.to(torch.float64)
    load(model, [w for path, w in kept.items() if path.startswith(case.model + "/")])
    return model


def step_judged(case, kept, i, x, y, loss):
    before, after = kept[i : i + 2]
    weights = [path for path in before if path.startswith(case.model + "/")]
    model = model_of(case, before)
    gradients = [
        tuple(as_torch(module, t) for t in case.gradient(before, after, weight))
        for weight, (module, _) in zip(weights, parameters(model))
    ]
    here = slice(i * case.batch, (i + 1) * case.batch)
    return judged(model, [p for _, p in parameters(model)], x[here], y[here], loss, gradients, STEP_TOLERANCE)


def steps_agree(case, kept, losses, x, y):
    judgements = [step_judged(case, kept, i, x, y, losses[i]) for i in range(STEPS)]
    error, step = max((max(loss, gradient or 0), i + 1) for i, (loss, gradient, _) in enumerate(judgements))
    unjudged = [i + 1 for i, (_, gradient, _) in enumerate(judgements) if gradient is None]
    others = [i + 1 for i, (_, gradient, otherwise) in enumerate(judgements) if otherwise and gradient is not None]
    agrees = error <= STEP_TOLERANCE and len(unjudged) <= UNJUDGED
    verdict = "as in float64" if agrees else "FAILED"
    chosen = f"; other choices in steps {others}" if others else ""
    left = f"; gradients not judged in steps {unjudged}" if unjudged else ""
    print(f"{case.name}: each step {verdict}: step {step} is off by {error:.2g} of itself{chosen}{left}")
    return agrees


def runs_agree(case, first, losses, x, y):
    model = model_of(case, first).float()
    wanted = torch_run(model, case.optimizer(model.parameters()), x, y, case.batch)
    worst, step = worst_of(losses, wanted)
    verdict = "as PyTorch" if worst <= 1 else "FAILED"
    print(f"{case.name}: all steps {verdict}: step {step} is off by {worst:.2g} of what it may")
    return worst <= 1


def learns(case, losses):
    fell = losses[-1] < 0.8 * losses[0]
    print(f"{case.name}: {'learns' if fell else 'FAILED to learn'}: {losses[0]:.6f} to {losses[-1]:.6f}")
    return fell


def agrees(program, folder, case):
    x, y = case.data()
    write_idx(folder / "x.idx", x)
    write_idx(folder / "y.idx", y)
    kept, losses = flowc_run(program, folder, case.name, case.batch)
    agree = [learns(case, losses), steps_agree(case, kept, losses, x, y)]
    if case.optimizer:
        agree.append(runs_agree(case, kept[0], losses, x, y))
    return all(agree)


def main(program):
    program = str(Path(program).resolve())
    for size, number in GPT.items():
        setattr(torch_models, size, number)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "losses.flow", folder)
        failed = sum(not agrees(program, Path(folder), case) for case in CASES)
    print(f"{len(CASES) - failed} models learn as in PyTorch, {failed} do not")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
