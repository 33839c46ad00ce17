"""Every optimizer of the library beside PyTorch's, or beside the paper's reference written out in
float64 where PyTorch has none: the weights after 1, 10 and 100 steps of the same small regression.

    python optimizers.py FLOWC
"""

import math
import sys
import tempfile
from pathlib import Path

import numpy
import torch

from library import flowc, read_tensors, write_idx

ROWS, INPUTS, OUTPUTS, BATCH = 64, 6, 4, 16
STEPS = (1, 10, 100)
TOLERANCE = 1e-5

PROGRAM = """
pipeline points -> (x: f32[6], y: f32[4]) {
  return idx(x: "x.idx", y: "y.idx")
}
model regression(x: f32[B, 6]) -> f32[B, 4] {
  weight w: f32[6, 4] = (reshape(cast(iota(24), f32), [6, 4]) - 11.5) / 12
  weight b: f32[4] = (cast(iota(4), f32) - 1.5) / 4
  return matmul(x, w) + b
}
train fit {
  data = points() |> batch(16)
  let error = regression(data.x) - data.y
  loss = sum(error * error) / size(error)
  optimizer = OPTIMIZER
  ENTRIES
  steps = 100
  every 1 step { save keep("run.safetensors", 100) }
}
"""


def data():
    random = numpy.random.default_rng(1)
    x = random.standard_normal((ROWS, INPUTS)).astype(numpy.float32)
    truth = random.standard_normal((INPUTS, OUTPUTS)).astype(numpy.float32)
    return x, x @ truth + 0.1 * random.standard_normal((ROWS, OUTPUTS)).astype(numpy.float32)


def first_weights():
    w = (numpy.arange(24, dtype=numpy.float32).reshape(6, 4) - numpy.float32(11.5)) / 12
    return w, (numpy.arange(4, dtype=numpy.float32) - numpy.float32(1.5)) / 4


def flowc_weights(program, optimizer, entries, names):
    """The weights after each of STEPS."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, values in zip("xy", data()):
            write_idx(folder / f"{name}.idx", torch.tensor(values))
        text = PROGRAM.replace("OPTIMIZER", optimizer).replace("ENTRIES", entries)
        (folder / "fit.flow").write_text(text)
        flowc(program, "run", "fit.flow", "--progress=off", folder=folder)
        found = []
        for step in STEPS:
            file = "run.safetensors" if step == 100 else f"run.{100 - step}.safetensors"
            tensors = read_tensors(folder / file)
            found.append([tensors[name].numpy() for name in names])
        return found


def train(step_of, dtype):
    """Runs STEPS[-1] steps of `step_of(parameters, loss)`, a function that updates them."""
    x, y = (torch.tensor(a, dtype=dtype) for a in data())
    parameters = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in first_weights()]
    update = step_of(parameters)
    found = []
    for step in range(STEPS[-1]):
        begin = step * BATCH % ROWS
        error = x[begin : begin + BATCH] @ parameters[0] + parameters[1] - y[begin : begin + BATCH]
        for parameter in parameters:
            parameter.grad = None
        (error * error).mean().backward()
        update(step)
        if step + 1 in STEPS:
            found.append([p.detach().numpy().copy() for p in parameters])
    return found


def of_torch(make, scheduler=None, before=None):
    """An optimizer of torch.optim."""

    def begin(parameters):
        optimizer = make(parameters)
        schedule = scheduler(optimizer) if scheduler else None

        def update(step):
            if before:
                before(parameters)
            optimizer.step()
            if schedule:
                schedule.step()

        return update

    return lambda: train(begin, torch.float32)


def by_hand(first, rule):
    """A rule (weight, gradient, state, step) -> weight, in float64."""

    def begin(parameters):
        states = [first(p.detach()) for p in parameters]

        def update(step):
            with torch.no_grad():
                for parameter, state in zip(parameters, states):
                    parameter.copy_(rule(parameter.detach().clone(), parameter.grad, state, step))

        return update

    return lambda: train(begin, torch.float64)


# Rules from the papers.


def zeros(*names):
    return lambda p: {name: torch.zeros_like(p) for name in names}


def lion(w, g, s, step, rate=1e-3, decay=0.1, b1=0.9, b2=0.99):
    direction = torch.sign(b1 * s["m"] + (1 - b1) * g)
    s["m"] = b2 * s["m"] + (1 - b2) * g
    return w - rate * (direction + decay * w)


def lamb(w, g, s, step, rate=1e-2, decay=0.01, b1=0.9, b2=0.999, epsilon=1e-6):
    s["m"] = b1 * s["m"] + (1 - b1) * g
    s["v"] = b2 * s["v"] + (1 - b2) * g * g
    m, v = s["m"] / (1 - b1 ** (step + 1)), s["v"] / (1 - b2 ** (step + 1))
    direction = m / (v.sqrt() + epsilon) + decay * w
    return w - rate * w.norm() / direction.norm() * direction


def muon(w, g, s, step, rate=0.02, decay=0.1, momentum=0.95):
    if w.ndim < 2:
        return w
    s["m"] = momentum * s["m"] + (1 - momentum) * g
    x = momentum * s["m"] + (1 - momentum) * g
    wide = x.T if w.shape[0] > w.shape[1] else x
    wide = wide / max(wide.norm().item(), 1e-7)
    for _ in range(5):
        a = wide @ wide.T
        wide = 3.4445 * wide + (-4.7750 * a + 2.0315 * a @ a) @ wide
    x = wide.T if w.shape[0] > w.shape[1] else wide
    return w * (1 - rate * decay) - rate * max(1, w.shape[0] / w.shape[1]) ** 0.5 * x


def schedule_free_first(p):
    return {"v": torch.zeros_like(p), "z": p.clone(), "sum": 0.0}


def schedule_free(y, g, s, step, base=0.02, decay=0.01, b1=0.9, b2=0.999, epsilon=1e-8, warm=5):
    rate = base * min(1, (step + 1) / warm)
    s["sum"] += rate**2
    share = rate**2 / s["sum"]
    s["v"] = b2 * s["v"] + (1 - b2) * g * g
    direction = g / ((s["v"] / (1 - b2 ** (step + 1))).sqrt() + epsilon) + decay * y
    new = (1 - share) * y + share * s["z"] + rate * (b1 * (1 - share) - 1) * direction
    s["z"] = s["z"] - rate * direction
    return new


def clip(parameters):
    torch.nn.utils.clip_grad_norm_(parameters, 0.5)


def clip_value(parameters):
    torch.nn.utils.clip_grad_value_(parameters, 0.05)


optim, schedules = torch.optim, torch.optim.lr_scheduler

# name, flowc's optimizer, further entries, the peer.
CASES = [
    ("sgd", "sgd(0.1)", "", of_torch(lambda p: optim.SGD(p, 0.1))),
    ("sgd decay", "sgd(0.1, decay = 0.01)", "", of_torch(lambda p: optim.SGD(p, 0.1, weight_decay=0.01))),
    ("momentum", "sgd(0.02, momentum = 0.9)", "", of_torch(lambda p: optim.SGD(p, 0.02, momentum=0.9))),
    ("nesterov", "sgd(0.02, momentum = 0.9, nesterov = true)", "",
     of_torch(lambda p: optim.SGD(p, 0.02, momentum=0.9, nesterov=True))),
    ("adam", "adam(0.01)", "", of_torch(lambda p: optim.Adam(p, 0.01))),
    ("adam of the gradient alone", "adam(0.01, beta1 = 0)", "", of_torch(lambda p: optim.Adam(p, 0.01, betas=(0.0, 0.999)))),
    ("adamw", "adamw(0.01, decay = 0.1)", "", of_torch(lambda p: optim.AdamW(p, 0.01, weight_decay=0.1))),
    ("adamax", "adamax(0.01)", "", of_torch(lambda p: optim.Adamax(p, 0.01))),
    ("nadam", "nadam(0.01)", "", of_torch(lambda p: optim.NAdam(p, 0.01))),
    ("adagrad", "adagrad(0.1)", "", of_torch(lambda p: optim.Adagrad(p, 0.1))),
    ("adadelta", "adadelta(1)", "", of_torch(lambda p: optim.Adadelta(p, 1.0))),
    ("rmsprop", "rmsprop(0.01)", "", of_torch(lambda p: optim.RMSprop(p, 0.01))),
    ("rmsprop of the gradient alone", "rmsprop(0.01, rho = 0)", "", of_torch(lambda p: optim.RMSprop(p, 0.01, alpha=0))),
    ("rmsprop centered", "rmsprop(0.01, momentum = 0.9, centered = true)", "",
     of_torch(lambda p: optim.RMSprop(p, 0.01, momentum=0.9, centered=True))),
    ("adafactor", "adafactor(0.05, decay = 0.01)", "",
     of_torch(lambda p: optim.Adafactor(p, 0.05, weight_decay=0.01))),
    ("lion", "lion(1e-3, decay = 0.1)", "", by_hand(zeros("m"), lion)),
    ("lamb", "lamb(0.01, decay = 0.01)", "", by_hand(zeros("m", "v"), lamb)),
    ("muon", "frozen()", 'optimizer "*/w" = muon(0.02)', by_hand(zeros("m"), muon)),
    ("schedule-free adamw", "schedule_free_adamw(0.02, decay = 0.01, warmup = 5)", "",
     by_hand(schedule_free_first, schedule_free)),
    ("clip_norm", "sgd(0.1)", "clip_norm = 0.5", of_torch(lambda p: optim.SGD(p, 0.1), before=clip)),
    ("clip_value", "sgd(0.1)", "clip_value = 0.05", of_torch(lambda p: optim.SGD(p, 0.1), before=clip_value)),
    ("exponential", "sgd(exponential(0.1, 0.9))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.ExponentialLR(o, 0.9))),
    ("staircase", "sgd(exponential(0.1, 0.5, 7, staircase = true))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.StepLR(o, 7, 0.5))),
    ("polynomial", "sgd(polynomial(0.1, 50, power = 2))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.PolynomialLR(o, 50, 2))),
    ("cosine", "sgd(cosine(0.1, 100, end = 0.01))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.CosineAnnealingLR(o, 100, 0.01))),
    ("cosine restarts", "sgd(cosine_restarts(0.1, 10, factor = 2, end = 0.01))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.CosineAnnealingWarmRestarts(o, 10, 2, 0.01))),
    ("one cycle", "sgd(one_cycle(0.1, 100))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.OneCycleLR(o, 0.1, total_steps=100, cycle_momentum=False))),
    ("warm-up", "sgd(0.1 * warmup(20))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.LambdaLR(o, lambda s: min((s + 1) / 20, 1)))),
    ("inverse root", "sgd(inverse_root(0.1, 20))", "",
     of_torch(lambda p: optim.SGD(p, 0.1), lambda o: schedules.LambdaLR(o, lambda s: min(math.sqrt(20 / (s + 1)), (s + 1) / 20)))),
]


def difference(found, wanted):
    """The largest difference, relative to the largest weight."""
    return max(numpy.abs(f - w).max() / numpy.abs(w).max() for f, w in zip(found, wanted))


def main():
    failures = 0
    for name, optimizer, entries, peer in CASES:
        try:
            found = flowc_weights(sys.argv[1], optimizer, entries, ("regression/w", "regression/b"))
        except SystemExit as error:  # flowc refused it
            print(f"{name:22} FAILED\n{error.code}")
            failures += 1
            continue
        differences = [difference(f, w) for f, w in zip(found, peer())]
        good = max(differences) <= TOLERANCE
        failures += not good
        print(f"{name:22} " + " ".join(f"{d:.1e}" for d in differences) + ("" if good else "  FAILED"))
    print(f"{len(CASES) - failures} of {len(CASES)} agree within {TOLERANCE:g}")
    return failures > 0


sys.exit(main())
