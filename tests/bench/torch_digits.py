"""The digits model in PyTorch: its data, and each way to write its step that a peer may use."""

import gzip
import pathlib

import torch
import torch.nn.functional as F

HIDDEN, CLASSES, PIXELS = 128, 10, 784
DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
KINDS = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True}}


# ---- Data ----


def read_idx(path, header):
    with gzip.open(path) as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8, offset=header)


def read_set(name):
    """Images u8[n, 784] and labels i64[n]."""
    images = read_idx(DATA / f"{name}-images-idx3-ubyte.gz", 16).view(-1, PIXELS)
    labels = read_idx(DATA / f"{name}-labels-idx1-ubyte.gz", 8).long()
    return images, labels


def pixels(images):
    """To f32 in 0..1, unless they are already."""
    return images if images.is_floating_point() else images.float().mul_(1 / 255)


def whole_batches(count, batch):
    return count // batch * batch


def gathered(images, labels, batch):
    """Each step picks its records."""
    order = torch.randperm(len(images))
    for index in order[: whole_batches(len(images), batch)].split(batch):
        yield images[index], labels[index]


def rearranged(images, labels, batch):
    """Each epoch puts all records in a new order; a step takes a slice."""
    order = torch.randperm(len(images))[: whole_batches(len(images), batch)]
    yield from zip(images[order].split(batch), labels[order].split(batch))


# Each gives an epoch's batches from a pair (images, labels).
INPUTS = {
    "u8, picked each step": gathered,
    "u8, rearranged each epoch": rearranged,
    "f32, picked each step": gathered,
}


def input_batches(name, images, labels, batch):
    held = pixels(images) if name.startswith("f32") else images
    return lambda: INPUTS[name](held, labels, batch)


# ---- Model ----


def new_model():
    """Initialised as flowc's `dense` does."""
    model = torch.nn.Sequential(
        torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES)
    )
    for layer in (model[0], model[2]):
        torch.nn.init.xavier_uniform_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    return model


def evaluate(model, images, labels):
    """Mean loss and accuracy, in batches of 1000 as the .flow files do."""
    loss = correct = 0.0
    with torch.no_grad():
        for x, y in zip(images.split(1000), labels.split(1000)):
            logits = model(pixels(x))
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(1) == y).sum().item()
    return loss / len(labels), correct / len(labels)


def new_optimizer(model, task, setting):
    kind = KINDS[setting.get("optimizer", "default")]
    return OPTIMIZERS[task["optimizer"]](model.parameters(), lr=task["rate"], **kind)


# ---- Steps: (x, y) → loss, updating the model ----


def eager_step(model, task, setting):
    optimizer = new_optimizer(model, task, setting)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels(x)), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def compiler(setting):
    """Leaves the mode away where it is the default, as usually written."""
    mode = setting["mode"]
    return lambda function: torch.compile(function, **({} if mode == "default" else {"mode": mode}))


def compiled_model_step(model, task, setting):
    """As usually written: the model compiled, the rest eager."""
    optimizer = new_optimizer(model, task, setting)
    compiled = compiler(setting)(model)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(compiled(pixels(x)), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def compiled_parts_step(model, task, setting):
    """Conversion, model and loss in one compiled function, the update in another."""
    optimizer = new_optimizer(model, task, setting)
    loss_of = compiler(setting)(lambda x, y: F.cross_entropy(model(pixels(x)), y))
    update = compiler(setting)(optimizer.step)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        update()
        return loss.detach()

    return step


def sgd_update(weights, gradients, state, rate):
    for w, gradient in zip(weights, gradients):
        w.sub_(gradient * rate)


def adam_update(weights, gradients, state, rate):
    time, means, squares = state
    time.add_(1)
    rate_now = rate / (1 - 0.9**time)
    scale = 1 / (1 - 0.999**time)
    for w, gradient, m, v in zip(weights, gradients, means, squares):
        m.mul_(0.9).add_(gradient * 0.1)
        v.mul_(0.999).add_(gradient * gradient * 0.001)
        w.sub_(rate_now * m / ((v * scale).sqrt() + 1e-8))


def compiled_whole_step(model, task, setting):
    """One compiled function from the images to the new weights, gradients by torch.func."""
    weights = [parameter.data for parameter in model.parameters()]
    state = (torch.zeros(()), [w.clone().zero_() for w in weights], [w.clone().zero_() for w in weights])
    apply_update = {"sgd": sgd_update, "adam": adam_update}[task["optimizer"]]

    def loss_of(weights, x, y):
        w1, b1, w2, b2 = weights
        return F.cross_entropy(F.linear(F.linear(x, w1, b1).relu(), w2, b2), y)

    def step(weights, state, x, y):
        gradients, loss = torch.func.grad_and_value(loss_of)(weights, pixels(x), y)
        apply_update(weights, gradients, state, task["rate"])
        return loss

    compiled = compiler(setting)(step)

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


def new_step(model, task, setting):
    return STEPS[setting.get("form", "eager")](model, task, setting)


# ---- The process ----


def set_denormals(denormals):
    """Before the first operation: threads take it over from the one that starts them."""
    torch.set_flush_denormal(denormals == "flushed")


def set_threads(threads):
    """0: as installed."""
    if not threads:
        return
    import torch._inductor.config as inductor

    torch.set_num_threads(threads)
    inductor.cpp.threads = threads


def mean_loss(step, batches):
    total = torch.zeros(())
    count = 0
    for x, y in batches:
        total += step(x, y)
        count += 1
    return (total / count).item()
