"""Every loss, metric and activation of the library beside PyTorch's or Keras' formula in float64, on
random inputs. All of them are exports of one program, which is compiled once.

    python functions.py FLOWC
"""

import sys
import tempfile
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from library import Library, type_of

TOLERANCE = 1e-5
N, C = 37, 11
random = numpy.random.default_rng(3)


def normal(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def classes(*shape):
    return random.integers(0, C, shape).astype(numpy.int32)


def distribution(*shape):
    return torch.softmax(torch.tensor(normal(*shape)), -1).numpy()


def yes(*shape):
    return random.integers(0, 2, shape).astype(numpy.float32)


def signs(*shape):
    return 2 * yes(*shape) - 1


X, T, P, Q = normal(N, C), normal(N, C), distribution(N, C), distribution(N, C)
Y, BITS, SIGNS, POSITIVE = classes(N), yes(N, C), signs(N, C), numpy.exp(normal(N, C))
HOT = numpy.eye(C, dtype=numpy.float32)[Y]
WEIGHTS = numpy.exp(normal(C))
LONG = 5 * normal(N, C)
SCORES, TRUTH = normal(N), yes(N)
TURNS, LABELS = normal(N, 10, C), random.integers(1, C, (N, 3)).astype(numpy.int32)
LENGTHS, COUNTS = (random.integers(low, high, N).astype(numpy.int32) for low, high in ((7, 11), (1, 4)))


def ctc(logits, target, lengths, counts):
    return F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), target, lengths, counts)



def keras_auc(logits, target):
    p = torch.sigmoid(logits)
    thresholds = torch.linspace(0, 1, 200, dtype=torch.float64)
    thresholds[0], thresholds[-1] = -1e-7, 1 + 1e-7
    above = p[:, None] > thresholds
    found = (above * target[:, None]).sum(0) / target.sum()
    alarms = (above * (1 - target)[:, None]).sum(0) / (1 - target).sum()
    return ((alarms[:-1] - alarms[1:]) * (found[:-1] + found[1:])).sum() / 2


def counts(logits, target):
    matrix = torch.zeros(C, C, dtype=torch.float64)
    for right, guess in zip(target, logits.argmax(-1)):
        matrix[right, guess] += 1
    return matrix


def mean_iou(logits, target):
    m = counts(logits, target)
    either = m.sum(0) + m.sum(1) - m.diag()
    return (m.diag() / either.clamp(min=1)).sum() / (either > 0).sum()


def macro_f(logits, target):
    m = counts(logits, target)
    return (2 * m.diag() / (m.sum(0) + m.sum(1)).clamp(min=1)).mean()


def f_beta(logits, target, beta):
    found = (logits > 0).double()
    right = (found * target).sum()
    p, r = right / found.sum(), right / target.sum()
    return (1 + beta**2) * p * r / (beta**2 * p + r)


def focal(logits, target, gamma=2.0, alpha=0.25):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    return ((alpha * target + (1 - alpha) * (1 - target)) * (1 - pt) ** gamma * ce).mean()


def top_k(logits, target, k):
    return (logits.topk(k).indices == target[:, None]).any(-1).double().mean()


def keras_kl(p, t):
    p, t = p.clamp(1e-7, 1), t.clamp(1e-7, 1)
    return (t * (t / p).log()).sum(-1).mean()


# The call in .flow over a, b, c; the arguments; the peer.
SCALARS = [
    ("mse(a, b)", (X, T), F.mse_loss),
    ("mae(a, b)", (X, T), F.l1_loss),
    ("huber(a, b)", (X, T), F.huber_loss),
    ("huber(a, b, 0.3)", (X, T), lambda x, t: F.huber_loss(x, t, delta=0.3)),
    ("log_cosh(a, b)", (LONG, T), lambda x, t: torch.log(torch.cosh(x - t)).mean()),
    ("poisson(a, b)", (POSITIVE, BITS), lambda p, t: (p - t * torch.log(p + 1e-7)).mean()),
    ("cross_entropy(a, b)", (LONG, Y), F.cross_entropy),
    ("cross_entropy(a, b, smoothing = 0.1)", (X, Y), lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)),
    ("weighted_cross_entropy(a, b, c)", (X, Y, WEIGHTS), lambda x, y, w: F.cross_entropy(x, y, weight=w)),
    ("categorical_cross_entropy(a, b)", (X, Q), F.cross_entropy),
    ("categorical_cross_entropy(a, b, 0.1)", (X, Q), lambda x, q: F.cross_entropy(x, q, label_smoothing=0.1)),
    ("binary_cross_entropy(a, b)", (LONG, BITS), F.binary_cross_entropy_with_logits),
    ("binary_cross_entropy(a, b, positive = 3)", (X, BITS),
     lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(3.0))),
    ("binary_cross_entropy(a, b, 0.1)", (X, BITS),
     lambda x, t: F.binary_cross_entropy_with_logits(x, t * 0.9 + 0.05)),
    ("focal(a, b)", (X, BITS), focal),
    ("focal(a, b, 1.5, 0.6)", (X, BITS), lambda x, t: focal(x, t, 1.5, 0.6)),
    ("kl_divergence(a, b)", (P, Q), keras_kl),
    ("hinge(a, b)", (X, SIGNS), lambda x, t: (1 - t * x).clamp(min=0).mean()),
    ("squared_hinge(a, b)", (X, SIGNS), lambda x, t: ((1 - t * x).clamp(min=0) ** 2).mean()),
    ("categorical_hinge(a, b)", (X, HOT),
     lambda x, t: (((1 - t) * x).max(-1).values - (t * x).sum(-1) + 1).clamp(min=0).mean()),
    ("cosine_loss(a, b)", (X, T), lambda a, b: 1 - F.cosine_similarity(a, b).mean()),
    ("ctc(a, b, c, d)", (TURNS, LABELS, LENGTHS, COUNTS), ctc),
    ("dice(a, b)", (P, BITS), lambda p, t: 1 - 2 * (p * t).sum() / (p.sum() + t.sum() + 1e-7)),
    ("accuracy(a, b)", (X, Y), lambda x, y: (x.argmax(-1) == y).double().mean()),
    ("binary_accuracy(a, b)", (X, BITS), lambda x, t: ((x > 0) == (t > 0.5)).double().mean()),
    ("top_k_accuracy(a, b, 3)", (X, Y), lambda x, y: top_k(x, y, 3)),
    ("precision(a, b)", (X, BITS), lambda x, t: ((x > 0) * t).sum() / (x > 0).sum()),
    ("recall(a, b)", (X, BITS), lambda x, t: ((x > 0) * t).sum() / t.sum()),
    ("f_score(a, b)", (X, BITS), lambda x, t: f_beta(x, t, 1)),
    ("f_score(a, b, 2)", (X, BITS), lambda x, t: f_beta(x, t, 2)),
    ("macro_f_score(a, b)", (X, Y), macro_f),
    ("mean_iou(a, b)", (X, Y), mean_iou),
    ("auc(a, b)", (SCORES, TRUTH), keras_auc),
    ("rmse(a, b)", (X, T), lambda x, t: F.mse_loss(x, t).sqrt()),
    ("r2(a, b)", (X, T), lambda x, t: 1 - ((x - t) ** 2).sum() / ((t - t.mean()) ** 2).sum()),
    ("perplexity(a, b)", (X, Y), lambda x, y: F.cross_entropy(x, y).exp()),
]
TENSORS = [
    ("relu(a)", F.relu), ("leaky_relu(a)", F.leaky_relu), ("leaky_relu(a, 0.3)", lambda x: F.leaky_relu(x, 0.3)),
    ("elu(a)", F.elu), ("elu(a, 0.5)", lambda x: F.elu(x, 0.5)), ("selu(a)", F.selu), ("gelu(a)", F.gelu),
    ("gelu_tanh(a)", lambda x: F.gelu(x, approximate="tanh")), ("sigmoid(a)", torch.sigmoid),
    ("log_sigmoid(a)", F.logsigmoid), ("silu(a)", F.silu), ("softplus(a)", F.softplus),
    ("softsign(a)", F.softsign), ("mish(a)", F.mish), ("hard_sigmoid(a)", F.hardsigmoid),
    ("hard_silu(a)", F.hardswish), ("hard_tanh(a)", F.hardtanh), ("tanh(a)", torch.tanh),
    ("softmax(a)", lambda x: x.softmax(-1)), ("log_softmax(a)", lambda x: x.log_softmax(-1)),
]
CASES = [(call, arguments, peer) for call, arguments, peer in SCALARS]
CASES += [(call, (LONG,), peer) for call, peer in TENSORS]
CASES += [("confusion_matrix(a, b)", (X, Y), counts)]


def declared(tensor):
    return type_of(tensor) + (f" in 0..{C}" if tensor.dtype == torch.int32 else "")


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def program(cases):
    lines = []
    for i, (call, arguments, wanted) in enumerate(cases):
        parameters = ", ".join(f"{name}: {declared(a)}" for name, a in zip("abcd", arguments))
        lines.append(f"export e{i}({parameters}) -> (y: {type_of(wanted.float())}) {{ return (y: {call}) }}")
    return "\n".join(lines) + "\n"


def main():
    failures, cases = 0, []
    for call, arguments, peer in CASES:
        arguments = [torch.from_numpy(a) for a in arguments]
        cases.append((call, arguments, torch.as_tensor(peer(*map(wide, arguments)))))
    with tempfile.TemporaryDirectory() as folder:
        library = Library(str(Path(sys.argv[1]).resolve()), folder, program(cases))
        for i, (call, arguments, wanted) in enumerate(cases):
            (found,) = library.call(f"e{i}", arguments, [wanted.float()])
            difference = (found - wanted).abs().max().item() / max(wanted.abs().max().item(), 1)
            good = difference <= TOLERANCE
            failures += not good
            print(f"{call:42} {difference:.1e}" + ("" if good else f"  FAILED: {found.flatten()[0]} {wanted.flatten()[0]}"))
    print(f"{len(CASES) - failures} of {len(CASES)} agree within {TOLERANCE:g}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
