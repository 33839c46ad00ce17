"""Every function that moves, picks, sorts or reduces the values of a tensor, and index notation, beside
PyTorch's or numpy's: movement to the bit, sums in float64 within a tolerance.

    python tensors.py FLOWC
"""

import sys
import tempfile
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from library import Library, type_of

TOLERANCE = 1e-6
random = torch.Generator().manual_seed(7)


def normal(*shape):
    return torch.randn(shape, generator=random)


def numbers(limit, *shape):
    return torch.randint(0, limit, shape, generator=random, dtype=torch.int32)


X, Y, Z, ROW, IMAGE = normal(3, 4, 5), normal(3, 4, 5), normal(3, 2, 5), normal(13), normal(2, 7, 8, 3)
BYTES, TRUTHS = numbers(256, 3, 4, 5).to(torch.uint8), numbers(2, 3, 4, 5).bool()
TIES, PLACES, CLASSES = numbers(4, 3, 9).float(), numbers(5, 3, 4, 2), numbers(6, 4, 3)
LARGE = 50 * normal(4, 9)
MATRIX, OTHER, KERNEL, SHIFT = normal(6, 7), normal(7, 5), normal(4), normal(5)


def windows(x, axes, size, stride, dilation):
    """The windows' axes behind the last of `axes`."""
    for axis, length, step, spread in zip(axes, size, stride, dilation):
        x = x.unfold(axis, (length - 1) * spread + 1, step)[..., ::spread]
    last, count = max(axes), len(axes)
    order = list(range(x.dim()))
    added = order[len(order) - count :]
    return x.permute(order[: last + 1] + added + order[last + 1 : len(order) - count])


def overlap_add(y, axes, stride, dilation):
    """What windows' gradient is."""
    last, size = max(axes), []
    lengths = [y.shape[last + 1 + i] for i in range(len(axes))]
    size = list(y.shape[: last + 1]) + list(y.shape[last + 1 + len(axes) :])
    for axis, length, step, spread in zip(axes, lengths, stride, dilation):
        size[axis] = (size[axis] - 1) * step + (length - 1) * spread + 1
    x = torch.zeros(size, dtype=y.dtype, requires_grad=True)
    return torch.autograd.grad(windows(x, axes, lengths, stride, dilation), x, y)[0]


def part(x, *begin_and_end):
    return x[tuple(slice(*pair) for pair in begin_and_end)]


def best(x, k, axis=-1):
    order = torch.sort(x, dim=axis, descending=True, stable=True)
    return order.values.narrow(axis, 0, k), order.indices.narrow(axis, 0, k).int()


# The call in .flow over x, y, z; the arguments; the peer. Exact.
MOVEMENTS = [
    ("transpose(x)", (X,), lambda x: x.mT), ("permute(x, [2, 0, 1])", (X,), lambda x: x.permute(2, 0, 1)),
    ("permute(x, [1, 0, 2])", (BYTES,), lambda x: x.permute(1, 0, 2)), ("exchange(x, 0, -1)", (TRUTHS,), lambda x: x.transpose(0, 2)),
    ("flip(x)", (X,), lambda x: x.flip(-1)), ("flip(x, 1)", (BYTES,), lambda x: x.flip(1)),
    ("roll(x, 2)", (ROW,), lambda x: x.roll(2)), ("roll(x, -1, 0)", (X,), lambda x: x.roll(-1, 0)),
    ("expand(x, 0)", (X,), lambda x: x[None]), ("expand(x, -1)", (ROW,), lambda x: x[:, None]), ("squeeze(expand(x, 1), 1)", (X,), lambda x: x),
    ("pad(x, before = [1, 0, 2], after = [0, 3, 1], value = 0.5)", (X,), lambda x: F.pad(x, (2, 1, 0, 3, 1, 0), value=0.5)),
    ("pad(x, before = [-1, 0, 0], after = [0, -2, 4])", (X,), lambda x: F.pad(x, (0, 4, 0, -2, -1, 0))),
    ("pad(x, before = [0, 1, 0], after = [1, 0, 0], value = 7)", (BYTES,), lambda x: F.pad(x, (0, 0, 1, 0, 0, 1), value=7)),
    ("concat([x, y])", (X, Y), lambda x, y: torch.cat([x, y], -1)), ("concat([x, y, x], axis = 1)", (X, Z), lambda x, y: torch.cat([x, y, x], 1)),
    ("stack([x, y])", (X, Y), lambda x, y: torch.stack([x, y])), ("stack([x, y], axis = -1)", (X, Y), lambda x, y: torch.stack([x, y], -1)),
    ("split(x, 2, axis = 1)[1]", (X,), lambda x: x.chunk(2, 1)[1]), ("split(x, [1, 4])[1]", (X,), lambda x: x.split([1, 4], -1)[1]),
    ("tile(x, [2, 1, 3])", (X,), lambda x: x.tile(2, 1, 3)), ("tile(x, [1, 2, 1])", (TRUTHS,), lambda x: x.tile(1, 2, 1)),
    ("windows(x, axes = [1, 2], size = [3, 2], stride = [2, 1], dilation = [1, 3])", (IMAGE,), lambda x: windows(x, (1, 2), (3, 2), (2, 1), (1, 3))),
    ("windows(x, axes = [0], size = [4])", (ROW,), lambda x: x.unfold(0, 4, 1)),
    ("x[1]", (X,), lambda x: x[1]), ("x[:, -1]", (X,), lambda x: x[:, -1]), ("x[..., 2]", (X,), lambda x: x[..., 2]),
    ("x[1:, :3, 2:4]", (BYTES,), lambda x: x[1:, :3, 2:4]), ("x[::2]", (ROW,), lambda x: x[::2]), ("x[3:12:4]", (ROW,), lambda x: x[3:12:4]),
    ("x[0, ..., 1:-1]", (X,), lambda x: x[0, ..., 1:-1]),
    ("reshape(x, [3, 20])[2]", (X,), lambda x: x.reshape(3, 20)[2]),
    ("rank(x) + 10 * size(x) + 1000 * size(x, 1)", (X,), lambda x: torch.tensor(4603.0)),
    ("take_along(x, y)", (X, PLACES), lambda x, y: x.take_along_dim(y.long(), -1)),
    ("take_along(x, y, axis = 1)", (X.transpose(1, 2).contiguous(), PLACES.transpose(1, 2).contiguous()), lambda x, y: x.take_along_dim(y.long(), 1)),
    ("embed(y, x)", (normal(5, 6), numbers(5, 2, 3)), lambda x, y: F.embedding(y.long(), x)),
    ("one_hot(y, 6)", (ROW, CLASSES), lambda x, y: F.one_hot(y.long(), 6).float()),
    ("sort(x)", (TIES,), lambda x: x.sort(-1).values), ("sort(x, descending = true, axis = 0)", (TIES,), lambda x: x.sort(0, descending=True).values),
    ("argsort(x, axis = 0)", (TIES,), lambda x: x.argsort(stable=True, dim=0).int()),
    ("argsort(x, descending = true)", (TIES,), lambda x: x.argsort(stable=True, dim=-1, descending=True).int()),
    ("top_k(x, 3).values", (TIES,), lambda x: best(x, 3)[0]), ("top_k(x, 2, axis = 0).indices", (TIES,), lambda x: best(x, 2, 0)[1]),
    ("cummax(x)", (X,), lambda x: x.cummax(-1).values), ("cummax(x, axis = 1)", (X,), lambda x: x.cummax(1).values),
    ("cumargmax(x, axis = 0)", (X,), lambda x: x.cummax(0).indices.int()),
    ("sort(random_permutation(13))", (ROW,), lambda x: torch.arange(13, dtype=torch.int32)),
    ("clamp(x, -0.5, 1)", (X,), lambda x: x.clamp(-0.5, 1)), ("scale(x, 0.5)", (X,), lambda x: x / 2),
    ("lerp(x, 2 * x, 0)", (X,), lambda x: x), ("lerp(1e9 * x, x, 1)", (X,), lambda x: x),
    ("top1(x).label", (X,), lambda x: x.argmax(-1).int()),
]
# Within the tolerance, of the largest value.
SUMS = [
    ("lerp(x, x * x, 0.3)", (X,), lambda x: x.lerp(x * x, 0.3)), ("lerp(x, x * x, 0.8)", (X,), lambda x: x.lerp(x * x, 0.8)),
    ("mean(x)", (X,), torch.mean), ("mean(x, axis = 1)", (X,), lambda x: x.mean(1)),
    ("mean(x, axis = [0, 2], keep = true)", (X,), lambda x: x.mean((0, 2), keepdim=True)),
    ("variance(x)", (X,), lambda x: x.var(unbiased=False)), ("variance(x, axis = -1)", (X + 30,), lambda x: x.var(-1, unbiased=False)),
    ("deviation(x, axis = [1, 2])", (X,), lambda x: x.std((1, 2), unbiased=False)),
    ("logsumexp(x)", (LARGE,), lambda x: x.logsumexp((0, 1))), ("logsumexp(x, axis = 1, keep = true)", (LARGE,), lambda x: x.logsumexp(1, keepdim=True)),
    ("norm(x)", (X,), torch.linalg.vector_norm), ("norm(x, axis = 0)", (X,), lambda x: torch.linalg.vector_norm(x, dim=0)),
    ("cumsum(x, axis = 1)", (X,), lambda x: x.cumsum(1)), ("cumprod(x, axis = 0)", (X,), lambda x: x.cumprod(0)),
    ("overlap_add(x, axes = [0], stride = [2], dilation = [3])", (normal(6, 4),), lambda x: overlap_add(x, (0,), (2,), (3,))),
    ("overlap_add(x, axes = [1, 2], stride = [2, 1])", (normal(2, 3, 4, 3, 2, 5),), lambda x: overlap_add(x, (1, 2), (2, 1), (1, 1))),
]
# A body whose tensor is r; the arguments; the peer.
NOTATIONS = [
    ("let r[n, m] = sum(k) x[n, k] * y[k, m]", (MATRIX, OTHER), lambda x, y: x @ y),
    ("let r[m] = sum(n, k) x[n, k] * y[k, m]", (MATRIX, OTHER), lambda x, y: (x @ y).sum(0)),
    ("let r[i, j] = max(k) x[i, k] * y[k, j]", (MATRIX, OTHER), lambda x, y: (x[:, :, None] * y[None]).amax(1)),
    ("let r[i] = sum(p) x[2 * i + p] * y[p] + z[i]", (ROW, KERNEL, SHIFT), lambda x, y, z: x.unfold(0, 4, 2) @ y + z),
    ("let r[j, i] = x[i, j] * cast(i + j == 4, f32)", (MATRIX,), lambda x: (x * (torch.arange(6)[:, None] + torch.arange(7) == 4)).T),
    ("let r[i] = prod(j) x[i, j] + mean(j) x[i, j]", (MATRIX,), lambda x: x.prod(1) + x.mean(1)),
    ("let r[i] = min(j) exp(x[i, j])", (MATRIX,), lambda x: x.exp().amin(1)),
]


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def declared(name, tensor):
    limit = {id(CLASSES): 6}.get(id(tensor), 5)
    return f"{name}: {type_of(tensor)}" + (f" in 0..{limit}" if tensor.dtype == torch.int32 else "")


def cases():
    """(name, what the export's body is, arguments, what it should give, tolerance)"""
    for call, arguments, peer in MOVEMENTS:
        yield call, f"return (r: {call})", arguments, peer(*arguments).contiguous(), 0
    for call, arguments, peer in SUMS:
        yield call, f"return (r: {call})", arguments, peer(*map(wide, arguments)), TOLERANCE
    for text, arguments, peer in NOTATIONS:
        yield text, f"{text}\n  return (r: r)", arguments, peer(*map(wide, arguments)), TOLERANCE


def of_type(wanted):
    return wanted.float() if wanted.dtype == torch.float64 else wanted


def difference(found, wanted):
    if not found.is_floating_point():
        return float(not torch.equal(found, wanted))
    return (found - wanted).abs().max().item() / max(wanted.abs().max().item(), 1)


def main():
    failures, every = 0, list(cases())
    lines = []
    for i, (_, body, arguments, wanted, _) in enumerate(every):
        parameters = ", ".join(declared(name, x) for name, x in zip("xyz", arguments))
        lines.append(f"export e{i}({parameters}) -> (r: {type_of(of_type(wanted))}) {{\n  {body}\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        library = Library(str(Path(sys.argv[1]).resolve()), folder, "".join(lines))
        for i, (name, _, arguments, wanted, tolerance) in enumerate(every):
            (found,) = library.call(f"e{i}", arguments, [of_type(wanted)])
            far = difference(found, wanted)
            failures += far > tolerance
            print(f"{name:60} {far:.1e}" + ("  FAILED" if far > tolerance else ""))
    print(f"{len(every) - failures} of {len(every)} agree")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
