"""Training steps in PyTorch: each way to write them that a peer may use."""

import torch
import torch.nn.functional as F

import tasks
import torch_models

OPTIMIZERS = {
    "sgd": lambda *given, **kind: torch.optim.SGD(*given, **kind),
    "momentum": lambda *given, **kind: torch.optim.SGD(*given, momentum=0.9, **kind),
    "adam": lambda *given, **kind: torch.optim.Adam(*given, **kind),
    "adamw": lambda *given, **kind: torch.optim.AdamW(*given, **kind),
}
KINDS = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True}}


# ---- Data ----


def tensors(data):
    return [None if array is None else torch.from_numpy(array) for array in (data.x, data.y, data.test_x, data.test_y)]


def whole_batches(count, batch):
    return count // batch * batch


def picked(x, y, batch):
    """Each step picks its records."""
    order = torch.randperm(len(x))
    for index in order[: whole_batches(len(x), batch)].split(batch):
        yield x[index], y[index]


def rearranged(x, y, batch):
    """Each epoch puts all records in a new order; a step takes a slice."""
    order = torch.randperm(len(x))[: whole_batches(len(x), batch)]
    yield from zip(x[order].split(batch), y[order].split(batch))


# Each gives an epoch's batches.
INPUTS = {
    "as stored, picked each step": picked,
    "as stored, rearranged each epoch": rearranged,
    "prepared, picked each step": picked,
}


# ---- Loss and optimizer ----


class Work:
    """What all ways to write a step have in common."""

    def __init__(self, task, setting):
        self.task, self.setting = task, setting
        self.model = torch_models.new_model(task, setting)
        self.keeps_prepared = setting["input"].startswith("prepared")
        self.prepared = torch_models.PREPARED[task["model"]]
        self.half = task.get("precision") == "bf16"

    def loss(self, x, y, model=None):
        x = x if self.keeps_prepared else self.prepared(x)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            logits = (self.model if model is None else model)(x)
        return F.cross_entropy(logits.float().flatten(0, -2), y.flatten())

    def optimizer(self):
        kind = KINDS[self.setting["optimizer"]]
        return OPTIMIZERS[self.task["optimizer"]](self.model.parameters(), lr=self.task["rate"], **kind)

    def compile(self, function):
        """Leaves the mode away where it is the default, as usually written."""
        mode = self.setting["mode"]
        return torch.compile(function, **({} if mode == "default" else {"mode": mode}))


# ---- Steps: (x, y) → loss, updating the model ----


def step_of(loss_of, optimizer, update):
    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        update()
        return loss.detach()

    return step


def eager_step(work):
    optimizer = work.optimizer()
    return step_of(work.loss, optimizer, optimizer.step)


def compiled_model_step(work):
    """As usually written: the model compiled, the rest eager."""
    optimizer, compiled = work.optimizer(), work.compile(work.model)
    return step_of(lambda x, y: work.loss(x, y, compiled), optimizer, optimizer.step)


def compiled_parts_step(work):
    """Preparation, model and loss in one compiled function, the update in another."""
    optimizer = work.optimizer()
    return step_of(work.compile(work.loss), optimizer, work.compile(optimizer.step))


def sgd_update(weights, gradients, state, rate):
    for name, w in weights.items():
        w.sub_(gradients[name] * rate)


def momentum_update(weights, gradients, state, rate):
    for name, w in weights.items():
        state["m"][name].mul_(0.9).add_(gradients[name])
        w.sub_(state["m"][name] * rate)


def adam_update(weights, gradients, state, rate, decay=0.0):
    state["time"].add_(1)
    rate_now = rate / (1 - 0.9 ** state["time"])
    scale = 1 / (1 - 0.999 ** state["time"])
    for name, w in weights.items():
        gradient, m, v = gradients[name], state["m"][name], state["v"][name]
        m.mul_(0.9).add_(gradient * 0.1)
        v.mul_(0.999).add_(gradient * gradient * 0.001)
        w.mul_(1 - rate * decay).sub_(rate_now * m / ((v * scale).sqrt() + 1e-8))


def adamw_update(weights, gradients, state, rate):
    adam_update(weights, gradients, state, rate, decay=0.01)


UPDATES = {"sgd": sgd_update, "momentum": momentum_update, "adam": adam_update, "adamw": adamw_update}


def compiled_whole_step(work):
    """One compiled function from the data to the new weights, gradients by torch.func."""
    weights = {name: w.data for name, w in work.model.named_parameters()}
    zeros = lambda: {name: torch.zeros_like(w) for name, w in weights.items()}
    state = {"time": torch.zeros(()), "m": zeros(), "v": zeros()}
    update = UPDATES[work.task["optimizer"]]

    def loss_of(weights, x, y):
        return work.loss(x, y, lambda x: torch.func.functional_call(work.model, weights, (x,)))

    def step(weights, state, x, y):
        gradients, loss = torch.func.grad_and_value(loss_of)(weights, x, y)
        update(weights, gradients, state, work.task["rate"])
        return loss

    compiled = work.compile(step)

    def run(x, y):
        with torch.no_grad():
            return compiled(weights, state, x, y)

    return run


STEPS = {
    "eager": eager_step,
    "model": compiled_model_step,
    "model + loss, optimizer": compiled_parts_step,
    "whole step": compiled_whole_step,
}


# ---- The process ----


def start(setting):
    """Before the first operation: threads take denormals over from the one that starts them."""
    torch.set_flush_denormal(setting["denormals"] == "flushed")


def set_threads(threads):
    """0: as installed."""
    if not threads:
        return
    import torch._inductor.config as inductor

    torch.set_num_threads(threads)
    inductor.cpp.threads = threads


class Training:
    def __init__(self, task, setting, data, seed):
        torch.compiler.reset()
        torch.manual_seed(seed)
        set_threads(setting["threads"])
        self.work = Work(task, setting)
        self.step = STEPS[setting["form"]](self.work)
        self.x, self.y, self.test_x, self.test_y = tensors(data)
        if self.work.keeps_prepared:
            self.x = self.work.prepared(self.x)

    def batches(self):
        return INPUTS[self.work.setting["input"]](self.x, self.y, self.work.task["batch"])

    def epoch(self):
        for x, y in self.batches():
            self.step(x, y)

    def mean_loss(self):
        """Of an epoch."""
        return torch.stack([self.step(x, y) for x, y in self.batches()]).mean().item()

    def evaluate(self):
        """Mean loss and accuracy of the test data, in batches of 1000 as the .flow files do."""
        loss = correct = 0.0
        with torch.no_grad():
            for x, y in zip(self.test_x.split(1000), self.test_y.split(1000)):
                logits = self.work.model(self.work.prepared(x))
                loss += F.cross_entropy(logits, y, reduction="sum").item()
                correct += (logits.argmax(1) == y).sum().item()
        return loss / len(self.test_y), correct / len(self.test_y)
