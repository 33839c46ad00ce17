"""One step from given weights, judged by PyTorch in float64: the loss, and the gradient of each weight.

Where the sign of what a ReLU gets, or the largest of a window, hangs on less than CLOSE of the largest number
there, float32 may decide otherwise, and gradients jump: from those of one choice to those of the other, or to
their mean where two numbers of a window are equal in float32 (flowc shares what flows back, as PyTorch's amax
does). Where gradients are not those of float64, they have to be so with some of these choices made otherwise.
It is no tolerance: what remains has to be as near as elsewhere."""

import torch
import torch.nn.functional as F
from torch import nn

CLOSE = 1e-6  # of the largest: some roundings of sums of a few hundred terms
CHOICES = 40  # more of them, and the test says nothing


class Choices:
    """Of the layers that choose: they keep what they get, and one number of it can be nudged."""

    def __init__(self, model):
        self.layers = [layer for layer in model.modules() if isinstance(layer, (nn.ReLU, nn.MaxPool2d))]
        self.given, self.nudge = {}, None
        for layer in self.layers:
            layer.register_forward_pre_hook(self.before)

    def before(self, layer, inputs):
        self.given[layer] = inputs[0].detach()
        if not self.nudge or self.nudge[0] is not layer:
            return None
        _, place, number = self.nudge
        added = torch.zeros(inputs[0].numel(), dtype=torch.float64)
        added[place] = number
        return (inputs[0] + added.reshape(inputs[0].shape),)

    def close(self):
        """Each a layer, a place in what it gets and what makes it choose otherwise there."""
        for layer in self.layers:
            find = close_signs if isinstance(layer, nn.ReLU) else close_windows
            yield from ((layer, place, number) for place, number in find(self.given[layer]))


def close_signs(x):
    flat = x.flatten()
    for place in (flat.abs() < CLOSE * flat.abs().max()).nonzero().flatten().tolist():
        yield place, -2 * flat[place].item()


def close_windows(x):
    """Of 2 x 2 each. Numbers that are equal in float64 come from equal parts of an image, and it doesn't matter
    which is taken; nor does it where ReLU left nothing but zeros."""
    height, width = x.shape[-2:]
    places = torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape)
    windows, at = (F.unfold(t.reshape(-1, 1, height, width), 2, stride=2) for t in (x, places))
    largest, order = windows.topk(2, dim=1)
    gap = largest[:, 0] - largest[:, 1]
    scale = x.abs().max()
    for image, window in ((gap < CLOSE * scale) & (gap > 1e-14 * scale)).nonzero().tolist():
        yield int(at[image, order[image, 0, window], window]), -2 * gap[image, window].item()


def step(model, parameters, x, y):
    """The loss and the gradients."""
    loss = F.cross_entropy(model(x).flatten(0, -2), y.long().flatten())
    return loss.item(), torch.autograd.grad(loss, parameters)


def largest_error(found, wanted):
    """Of all gradients, each in what is its largest. `found`: with what it is rounded by, which doesn't count."""
    return max(
        ((f - w).abs() - rounding).clamp(min=0).max().item() / w.abs().max().item()
        for (f, rounding), w in zip(found, wanted)
    )


def distance(found, wanted):
    """Of all gradients together: each choice that is made as it was brings them nearer."""
    return sum((((f - w).norm() / w.norm()) ** 2).item() for (f, _), w in zip(found, wanted))


def moved(sure, differences, shares):
    return [s + sum(share * d for share, d in zip(shares, each)) for s, *each in zip(sure, *differences)]


def chosen(choices, found, sure, step_again):
    """What the gradients are with each close choice made as those that were found say."""
    close, differences = list(choices.close()), []
    assert len(close) <= CHOICES, f"{len(close)} choices are close"
    for choices.nudge in close:
        differences.append([other - s for other, s in zip(step_again()[1], sure)])
    shares = [0] * len(close)
    for choice in 2 * list(range(len(close))):  # the first ones again, when others are made
        tried = [shares[:choice] + [share] + shares[choice + 1 :] for share in (0, 0.5, 1)]
        shares = min(tried, key=lambda some: distance(found, moved(sure, differences, some)))
    return moved(sure, differences, shares)


def judged(model, parameters, x, y, loss, gradients, tolerance):
    """How far a step's loss and its gradients are off, and whether float32 has chosen otherwise. Each gradient
    comes with what it is rounded by."""
    x = x.double() if x.is_floating_point() else x
    choices = Choices(model)
    wanted, sure = step(model, parameters, x, y)
    error = largest_error(gradients, sure)
    otherwise = error > tolerance
    if otherwise:
        error = largest_error(gradients, chosen(choices, gradients, sure, lambda: step(model, parameters, x, y)))
    return abs(loss - wanted) / wanted, error, otherwise
