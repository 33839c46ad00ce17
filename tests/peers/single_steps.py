"""One step from given weights, judged by PyTorch in float64: the loss, and the gradient of each weight.

Where the sign of what a ReLU gets, or the largest of a window, hangs on less than CLOSE of the largest number
there, float32 may decide otherwise, and gradients jump: from those of one choice to those of the other, or to
the mean of those of all numbers of a window that are equal in float32 (flowc shares what flows back, as
PyTorch's amax does). Where gradients are not those of float64, they have to be so with some of these choices
made otherwise. It is no tolerance: what remains has to be as near as elsewhere. Where a channel of nearly no
weights makes all windows close, their choices could explain anything: then gradients that are not those of
float64 are not judged, and the caller says how often that may be."""

import dataclasses
import itertools

import torch
import torch.nn.functional as F
from torch import nn

CLOSE = 1e-6  # of the largest: some roundings of sums of a few hundred terms
EQUAL = 1e-14  # of the largest: numbers of equal parts of an image, which are equal in float32 as well
CHOICES = 40  # more of them, and gradients are not judged
TRIED = 10000  # ways of making some of them


@dataclasses.dataclass(eq=False)
class Choice:
    """Which inputs of its layer an output passes back to."""

    layer: nn.Module
    output: int
    ways: list  # some inputs each, and what more of the gradient goes there than in float64


class Choices:
    """Of the layers that choose: they keep what they get, and can be made to choose otherwise."""

    def __init__(self, model):
        self.layers = [layer for layer in model.modules() if isinstance(layer, (nn.ReLU, nn.MaxPool2d))]
        self.given, self.made = {}, {}  # by layer; by choice, one of its ways
        for layer in self.layers:
            layer.register_forward_hook(self.after)

    def after(self, layer, inputs, output):
        """It has the same numbers, and other gradients."""
        self.given[layer] = inputs[0].detach()
        here = [choice for choice in self.made if choice.layer is layer]
        parts = [(choice.output, *part) for choice in here for part in self.made[choice]]
        if not parts:
            return None
        to, places, shares = map(list, zip(*parts))
        x = inputs[0].flatten()[places]
        zeros = torch.tensor(shares, dtype=x.dtype) * (x - x.detach())
        added = torch.zeros_like(output).flatten().index_add(0, torch.tensor(to), zeros)
        return output + added.reshape(output.shape)

    def close(self):
        """Those together that change the gradients of the same weights, and the last layers first."""
        for layer in self.layers[::-1]:
            x = self.given[layer]
            find = close_signs if isinstance(layer, nn.ReLU) else close_windows
            found = [Choice(layer, output, ways) for output, ways in find(x)]
            yield from sorted(found, key=lambda choice: channel(choice, x))


def channel(choice, x):
    place, _ = choice.ways[-1][-1]
    return place // x[0, 0].numel() % x.shape[1]


def close_signs(x):
    flat = x.flatten()
    for place in (flat.abs() < CLOSE * flat.abs().max()).nonzero().flatten().tolist():
        yield place, [[], [(place, -1.0 if flat[place] > 0 else 1.0)]]


def close_windows(x):
    """Of 2 x 2 each. Where all that are close are equal, as zeros that ReLU left are, nothing is to choose."""
    height, width = x.shape[-2:]
    places = torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape)
    windows, at = (F.unfold(t.reshape(-1, 1, height, width), 2, stride=2) for t in (x, places))
    less = (windows.amax(dim=1, keepdim=True) - windows) / x.abs().max()
    close = less < CLOSE
    for image, window in (close & (less > EQUAL)).any(dim=1).nonzero().tolist():
        here = close[image, :, window]
        numbers = zip(less[image, here, window].tolist(), at[image, here, window].long().tolist())
        yield image * windows.shape[2] + window, list(ways_to_share(sorted(numbers)))


def ways_to_share(numbers):
    """By which are the largest in float32: of those close to it in float64, by how much less."""
    taken, equal = numbers[0][1], {}
    for less, place in numbers:
        among = next((other for other in equal if less - other <= EQUAL), less)
        equal.setdefault(among, []).append(place)
    for count in range(1, len(equal) + 1):
        for some in itertools.combinations(equal.values(), count):
            largest = sum(some, [])
            yield [(taken, -1.0), *((place, 1 / len(largest)) for place in largest)]


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


def nearest(moves, wanted):
    """Which move of each choice, that they come nearest to `wanted` together. Choice by choice, those stay that
    leave least of what no move of the choices to come makes up for."""
    basis = torch.linalg.qr(torch.cat(moves[::-1]).T).Q
    taken, left, to_come = torch.zeros(1, 0, dtype=torch.long), (wanted @ basis)[None], basis.shape[1]
    for ways in moves:
        to_come -= len(ways)
        way = torch.arange(len(ways)).repeat(len(taken))
        taken = torch.cat([taken.repeat_interleave(len(ways), 0), way[:, None]], 1)
        left = (left[:, None] - ways @ basis).flatten(0, 1)
        best = left[:, to_come:].norm(dim=1).argsort()[:TRIED]
        taken, left = taken[best], left[best]
    return taken[0].tolist()


def chosen(choices, close, found, gradients):
    """What the gradients are with each close choice made as those that were found say."""
    if not close:
        return gradients()

    def as_one(some):
        return torch.cat([(gradient / f.norm()).flatten() for gradient, (f, _) in zip(some, found)])

    def gradients_of(made):
        choices.made = made
        return as_one(gradients())

    made = {choice: choice.ways[0] for choice in close}
    for _ in range(2):  # again, since a choice changes what comes to those of layers before it
        now = gradients_of(made)
        moves = [torch.stack([gradients_of({**made, c: way}) for way in c.ways]) - now for c in close]
        taken = nearest(moves, as_one([f for f, _ in found]) - now)
        made = {choice: choice.ways[way] for choice, way in zip(close, taken)}
    choices.made = made
    return gradients()


def judged(model, parameters, x, y, loss, gradients, tolerance):
    """How far a step's loss and its gradients are off (None: they are not judged), and whether float32 has
    chosen otherwise. Each gradient comes with what it is rounded by."""
    x = x.double() if x.is_floating_point() else x
    choices = Choices(model)
    wanted, sure = step(model, parameters, x, y)
    error = largest_error(gradients, sure)
    otherwise = error > tolerance
    close = list(choices.close()) if otherwise else []
    if len(close) > CHOICES:
        error = None
    elif otherwise:
        error = largest_error(gradients, chosen(choices, close, gradients, lambda: step(model, parameters, x, y)[1]))
    return abs(loss - wanted) / wanted, error, otherwise
