"""Every layer of the library beside PyTorch's, or beside Keras' formula written out, in float64, on
random inputs and weights; then gradients of a few beside torch's.

    python layers.py FLOWC [PART OF A CALL]
"""

import math
import re
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

from library import Library, flowc, read_tensors, type_of, write_idx

TOLERANCE = 1e-5
random = torch.Generator().manual_seed(5)


def normal(*shape):
    return torch.randn(shape, generator=random)


def positive(*shape):
    return torch.exp(normal(*shape) / 2)


# PyTorch has channels second, weights [filters, channels, height, width].


def channels_second(x):
    return x.movedim(-1, 1)


def channels_last(y):
    return y.movedim(1, -1)


def same(size, kernel, stride, dilation=1):
    """TensorFlow's padding: ceil(size / stride) windows, an odd zero last."""
    missing = max((math.ceil(size / stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return missing // 2, missing - missing // 2


def padded(x, kernel, stride, dilation, padding, value=0.0):
    """Channels second."""
    if padding == "valid":
        return x
    if padding == "causal":
        return F.pad(x, ((kernel - 1) * dilation, 0), value=value)
    around = [n for size in reversed(x.shape[2:]) for n in same(size, kernel, stride, dilation)]
    return F.pad(x, around, value=value)


def conv2d(x, w, b=None, stride=1, padding="valid", dilation=1, groups=1):
    x = padded(channels_second(x), w.shape[0], stride, dilation, padding)
    return channels_last(F.conv2d(x, w.permute(3, 2, 0, 1), b, stride, 0, dilation, groups))


def conv1d(x, w, b=None, stride=1, padding="valid", dilation=1, groups=1):
    x = padded(channels_second(x), w.shape[0], stride, dilation, padding)
    return channels_last(F.conv1d(x, w.permute(2, 1, 0), b, stride, 0, dilation, groups))


def adjoint(convolution, x, w, b, stride):
    """What the convolution "same" of a result has for its gradient."""
    shape = (x.shape[0], *(stride * size for size in x.shape[1:-1]), w.shape[-2])
    y = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(convolution(y, w, None, stride, "same"), y, x, create_graph=True)[0] + b


def conv2d_transpose(x, w, b, stride=1, padding="valid"):
    if padding == "same":
        return adjoint(conv2d, x, w, b, stride)
    return channels_last(F.conv_transpose2d(channels_second(x), w.permute(3, 2, 0, 1), b, stride))


def conv1d_transpose(x, w, b, stride=1, padding="valid"):
    if padding == "same":
        return adjoint(conv1d, x, w, b, stride)
    return channels_last(F.conv_transpose1d(channels_second(x), w.permute(2, 1, 0), b, stride))


def depthwise(x, w, b=None, stride=1, padding="valid", dilation=1):
    kernel, _, channels, multiplier = w.shape
    w = w.reshape(kernel, kernel, 1, channels * multiplier)
    return conv2d(x, w, b, stride, padding, dilation, groups=channels)


def separable(x, d, p, b, **options):
    return conv2d(depthwise(x, d, **options), p, b)


def max_pool(x, kernel=2, stride=None, padding="valid"):
    x = padded(channels_second(x), kernel, stride or kernel, 1, padding, -math.inf)
    pool = F.max_pool2d if x.dim() == 4 else F.max_pool1d
    return channels_last(pool(x, kernel, stride))


def average_pool(x, kernel=2, stride=None, padding="valid"):
    ones = torch.ones_like(x)
    pool = F.avg_pool2d if x.dim() == 4 else F.avg_pool1d
    total, share = (pool(padded(channels_second(a), kernel, stride or kernel, 1, padding), kernel, stride)
                    for a in (x, ones))
    return channels_last(total / share)


def rms_norm(x, gain):
    return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def batch_norm(x, gain, shift, middle, square):
    return channels_last(F.batch_norm(channels_second(x), middle, square, gain, shift))


def training_batch_norm(x, gain, shift):
    return channels_last(F.batch_norm(channels_second(x), None, None, gain, shift, training=True))


def group_norm(x, gain, shift, groups):
    """Of one record: an export has no batches."""
    return channels_last(F.group_norm(channels_second(x[None]), groups, gain, shift))[0]


# Attention.


def heads_of(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(q, k, v, heads, causal=False, groups=None, turn=lambda x: x):
    """What torch.nn.MultiheadAttention does between its products; groups: query heads share."""
    q, k, v = heads_of(q, heads), heads_of(k, groups or heads), heads_of(v, groups or heads)
    k, v = (a.repeat_interleave(heads // (groups or heads), 1) for a in (turn(k), v))
    return F.scaled_dot_product_attention(turn(q), k, v, is_causal=causal).transpose(1, 2).flatten(2)


def self_attention(x, w, b, u, c, heads, causal=False):
    return attend(*(x @ w + b).chunk(3, -1), heads, causal) @ u + c


def torch_attention(x, w, b, u, c, heads, causal=False):
    mine = nn.MultiheadAttention(x.shape[-1], heads, batch_first=True, dtype=torch.float64)
    values = {"in_proj_weight": w.T, "in_proj_bias": b, "out_proj.weight": u.T, "out_proj.bias": c}
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype) if causal else None
    options = {"attn_mask": mask, "is_causal": causal, "need_weights": False}
    return torch.func.functional_call(mine, values, (x, x, x), options)[0]


def cross_attention(x, other, wk, bk, wq, bq, u, c, heads):
    k, v = (other @ wk + bk).chunk(2, -1)
    return attend(x @ wq + bq, k, v, heads) @ u + c


def rotate(x):
    """A pair (i, i + D/2) is a complex number, turned by t · 10000^(-2i/D)."""
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * frequency
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], -1)


def grouped_attention(x, wq, bq, wk, bk, wv, bv, u, c, heads, groups, causal=False, rotary=False):
    turn = rotate if rotary else lambda a: a
    y = attend(x @ wq + bq, x @ wk + bk, x @ wv + bv, heads, causal, groups, turn)
    return y @ u + c


def transformer_block(x, g1, s1, w, b, u, c, g2, s2, w1, b1, w2, b2, heads, causal=False):
    size = x.shape[-1:]
    z = x + self_attention(F.layer_norm(x, size, g1, s1), w, b, u, c, heads, causal)
    return z + F.gelu(F.layer_norm(z, size, g2, s2) @ w1 + b1) @ w2 + b2


def sinusoids(x):
    t, half = torch.arange(x.shape[1], dtype=x.dtype)[:, None], x.shape[2] // 2
    angle = t / 10000.0 ** (torch.arange(half, dtype=x.dtype) / half)
    return x + torch.cat([angle.sin(), angle.cos()], -1)


# Recurrent: Keras' formulas; torch's own where the order of gates can be exchanged.


def through(module, x, w, u, b, v=None):
    """torch's module of that kind with these weights."""
    layer = module(x.shape[-1], u.shape[0], batch_first=True, dtype=torch.float64)
    v = torch.zeros_like(b) if v is None else v
    values = {"weight_ih_l0": w.T, "weight_hh_l0": u.T, "bias_ih_l0": b, "bias_hh_l0": v}
    return torch.func.functional_call(layer, values, (x,))[0]


def reset_first(a):
    """Gates z, r, n as r, z, n."""
    z, r, n = a.chunk(3, -1)
    return torch.cat([r, z, n], -1)


def simple_rnn(x, w, u, b):
    return through(nn.RNN, x, w, u, b)


def lstm(x, w, u, b):
    return through(nn.LSTM, x, w, u, b)


def gru(x, w, u, b, v):
    return through(nn.GRU, x, *(reset_first(a) for a in (w, u, b, v)))


def bidirectional(layer):
    """The weights of the layer that goes backwards come first."""

    def both(x, *weights):
        backwards, forwards = weights[: len(weights) // 2], weights[len(weights) // 2 :]
        return torch.cat([layer(x, *forwards), layer(x.flip(1), *backwards).flip(1)], -1)

    return both


def residual_block(x, g1, s1, m1, q1, *rest, stride=1):
    """A change of width is made of what is normalised, as in the authors' code."""
    y, short = F.relu(batch_norm(x, g1, s1, m1, q1)), x
    if len(rest) == 10:
        w0, b0, *rest = rest
        short = conv2d(y, w0, b0, stride, "same")
    w1, b1, g2, s2, m2, q2, w2, b2 = rest
    y = F.relu(batch_norm(conv2d(y, w1, b1, stride, "same"), g2, s2, m2, q2))
    return short + conv2d(y, w2, b2, 1, "same")


def with_options(function, **options):
    return lambda *a: function(*a, **options)


def normalised(prefix, size):
    return {prefix + "gain": normal(size), prefix + "shift": normal(size)}


def batch_normalised(prefix, size):
    return {**normalised(prefix, size), prefix + "middle": normal(size), prefix + "square": positive(size)}


def denses(*sizes, prefix=""):
    weights = {}
    for i, (inputs, outputs) in enumerate(sizes, 1):
        weights[f"{prefix}dense.{i}/w"] = normal(inputs, outputs) / inputs**0.5
        weights[f"{prefix}dense.{i}/b"] = normal(outputs)
    return weights


def kernel(*shape, **more):
    return {"w": normal(*shape), "b": normal(shape[-1]), **more}


def recurrent(gates, inputs, units, prefix="", second=False):
    weights = {"w": normal(inputs, gates * units), "u": normal(units, gates * units) / 2, "b": normal(gates * units)}
    if second:
        weights["v"] = normal(gates * units)
    return {prefix + name: weight for name, weight in weights.items()}


SEQUENCE, IMAGE, ODD = normal(2, 7, 12), normal(2, 9, 8, 6), normal(1, 11, 7, 6)
IDS = torch.randint(0, 13, (3, 5), generator=random, dtype=torch.int32)


def convolutions():
    cases = []
    for padding in ("valid", "same"):
        for stride, dilation, groups, size in ((1, 1, 1, 3), (2, 1, 1, 3), (3, 1, 1, 2), (2, 1, 1, 4),
                                               (1, 2, 1, 3), (1, 1, 3, 3), (2, 1, 2, 3), (2, 2, 1, 2), (3, 1, 1, 1)):
            options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            for image in (IMAGE, ODD):
                cases.append((f'conv2d(x, 12, {size}, {stride}, "{padding}", {dilation}, {groups})',
                              kernel(size, size, 6 // groups, 12), (image,), with_options(conv2d, **options)))
    for padding in ("valid", "same", "causal"):
        for stride, dilation, groups, size in ((1, 1, 1, 3), (2, 1, 1, 3), (1, 2, 1, 3), (3, 1, 1, 2),
                                               (2, 2, 1, 2), (1, 1, 3, 3), (2, 2, 6, 2)):
            options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            cases.append((f'conv1d(x, 6, {size}, {stride}, "{padding}", {dilation}, {groups})',
                          kernel(size, 12 // groups, 6), (SEQUENCE,), with_options(conv1d, **options)))
    for padding in ("valid", "same"):
        for stride, size in ((1, 3), (2, 3), (2, 2), (3, 2), (2, 4), (3, 5), (1, 4)):
            cases.append((f'conv2d_transpose(x, 5, {size}, {stride}, "{padding}")',
                          {"w": normal(size, size, 5, 6), "b": normal(5)}, (ODD,),
                          with_options(conv2d_transpose, stride=stride, padding=padding)))
            cases.append((f'conv1d_transpose(x, 5, {size}, {stride}, "{padding}")',
                          {"w": normal(size, 5, 12), "b": normal(5)}, (SEQUENCE,),
                          with_options(conv1d_transpose, stride=stride, padding=padding)))
        for stride, multiplier, dilation in ((1, 1, 1), (2, 1, 1), (2, 3, 1), (1, 2, 2), (3, 2, 1)):
            options = {"stride": stride, "padding": padding, "dilation": dilation}
            d = normal(3, 3, 6, multiplier)
            cases.append((f'depthwise_conv2d(x, 3, {stride}, "{padding}", {multiplier}, {dilation})',
                          {"w": d, "b": normal(6 * multiplier)}, (ODD,), with_options(depthwise, **options)))
            cases.append((f'separable_conv2d(x, 7, 3, {stride}, "{padding}", {multiplier}, {dilation})',
                          {"depthwise": d, "pointwise": normal(1, 1, 6 * multiplier, 7), "b": normal(7)},
                          (IMAGE,), with_options(separable, **options)))
    return cases


def pools():
    cases = []
    for padding in ("valid", "same"):
        for size, stride in ((2, 0), (3, 1), (3, 2), (2, 3), (4, 3)):
            options = {"kernel": size, "stride": stride or None, "padding": padding}
            for name, peer in (("max_pool2d", max_pool), ("average_pool2d", average_pool)):
                cases.append((f'{name}(x, {size}, {stride}, "{padding}")', {}, (ODD - 3,), with_options(peer, **options)))
            for name, peer in (("max_pool1d", max_pool), ("average_pool1d", average_pool)):
                cases.append((f'{name}(x, {size}, {stride}, "{padding}")', {}, (SEQUENCE - 3,),
                              with_options(peer, **options)))
    cases += [("global_average_pool2d(x)", {}, (IMAGE,), lambda x: x.mean((1, 2))),
              ("global_max_pool2d(x)", {}, (IMAGE - 9,), lambda x: x.amax((1, 2))),
              ("global_average_pool1d(x)", {}, (SEQUENCE,), lambda x: x.mean(1)),
              ("global_max_pool1d(x)", {}, (SEQUENCE - 9,), lambda x: x.amax(1))]
    return cases


def norms():
    far = 30 + normal(4, 17)
    return [
        ("layer_norm(x)", normalised("", 12), (SEQUENCE,), lambda x, g, s: F.layer_norm(x, (12,), g, s)),
        ("layer_norm(x, 1e-3)", normalised("", 17), (far,), lambda x, g, s: F.layer_norm(x, (17,), g, s, 1e-3)),
        ("rms_norm(x)", {"gain": normal(12)}, (SEQUENCE,), rms_norm),
        ("batch_norm(x)", batch_normalised("", 6), (IMAGE,), batch_norm),
        ("batch_norm(x)", batch_normalised("", 12), (SEQUENCE,), batch_norm),
        ("batch_norm(x)", batch_normalised("", 17), (far,), batch_norm),
        ("group_norm(x, 3)", normalised("", 6), (IMAGE[0],), with_options(group_norm, groups=3)),
        ("group_norm(x, 6)", normalised("", 6), (IMAGE[0],), with_options(group_norm, groups=6)),
        ("group_norm(x, 1)", normalised("", 12), (SEQUENCE[0],), with_options(group_norm, groups=1)),
    ]


def attentions():
    mine = denses((12, 36), (12, 12))
    cross = denses((5, 24), (12, 12), (12, 12))
    other = normal(2, 9, 5)
    cases = []
    for causal in (False, True):
        text = ", causal = true" if causal else ""
        for heads in (1, 3):
            for peer in (self_attention, torch_attention):
                cases.append((f"self_attention(x, {heads}{text})", mine, (SEQUENCE,),
                              with_options(peer, heads=heads, causal=causal)))
        for rotary in (False, True):
            cases.append((f"grouped_attention(x, 6, 2{text}{', rotary = true' if rotary else ''})",
                          denses((12, 12), (12, 4), (12, 4), (12, 12)), (SEQUENCE,),
                          with_options(grouped_attention, heads=6, groups=2, causal=causal, rotary=rotary)))
        weights = {**normalised("layer_norm.1/", 12), **denses((12, 36), (12, 12), prefix="self_attention.1/"),
                   **normalised("layer_norm.2/", 12), **denses((12, 48), (48, 12), prefix="feed_forward.1/")}
        cases.append((f"transformer_block(x, 2{text})", weights, (SEQUENCE,),
                      with_options(transformer_block, heads=2, causal=causal)))
    cases += [
        ("cross_attention(x, y, 4)", cross, (SEQUENCE, other), with_options(cross_attention, heads=4)),
        ("feed_forward(x, 31)", denses((12, 31), (31, 12)), (SEQUENCE,),
         lambda x, w, b, u, c: F.gelu(x @ w + b) @ u + c),
        ("learned_positions(x)", {"position": normal(7, 12)}, (SEQUENCE,), lambda x, p: x + p),
        ("sinusoidal_positions(x)", {}, (SEQUENCE,), sinusoids),
    ]
    return cases


def recurrents():
    cases = []
    layers = [("simple_rnn", "bidirectional_simple_rnn", 1, simple_rnn), ("lstm", "bidirectional_lstm", 4, lstm),
              ("gru", "bidirectional_gru", 3, gru)]
    for name, both_ways, gates, peer in layers:
        both = {**recurrent(gates, 12, 5, f"{name}.1/", name == "gru"), **recurrent(gates, 12, 5, f"{name}.2/", name == "gru")}
        cases += [(f"{name}(x, 5)", recurrent(gates, 12, 5, "", name == "gru"), (SEQUENCE,), peer),
                  (f"{both_ways}(x, 5)", both, (SEQUENCE,), bidirectional(peer))]
    cases.append(("last(x)", {}, (SEQUENCE,), lambda x: x[:, -1]))
    return cases


def residuals():
    first, second = batch_normalised("batch_norm.1/", 6), batch_normalised("batch_norm.2/", 6)
    wide = batch_normalised("batch_norm.2/", 8)

    def filters(number, size, inputs, outputs):
        return {f"conv2d.{number}/w": normal(size, size, inputs, outputs) / 3, f"conv2d.{number}/b": normal(outputs)}

    plain = {**first, **filters(1, 3, 6, 6), **second, **filters(2, 3, 6, 6)}
    strided = {**first, **filters(1, 1, 6, 8), **filters(2, 3, 6, 8), **wide, **filters(3, 3, 8, 8)}
    return [("residual_block(x, 6)", plain, (IMAGE,), residual_block),
            ("residual_block(x, 8)", strided, (IMAGE,), residual_block),
            ("residual_block(x, 8, 2)", strided, (IMAGE[:, :8],), with_options(residual_block, stride=2))]


def simple():
    return [
        ("dense(x, 5)", kernel(12, 5), (SEQUENCE,), lambda x, w, b: x @ w + b),
        ("dense(x, 33)", kernel(300, 33), (normal(17, 300),), lambda x, w, b: x @ w + b),
        ("linear(x, 5)", {"w": normal(12, 5)}, (SEQUENCE,), lambda x, w: x @ w),
        ("embedding(x, 6)", {"table": normal(13, 6)}, (IDS,), lambda i, table: F.embedding(i.long(), table)),
        ("prelu(x)", {"slope": normal(6)}, (IMAGE,), lambda x, s: channels_last(F.prelu(channels_second(x), s))),
        ("flatten(x)", {}, (IMAGE[0],), torch.flatten),
        ("dropout(x)", {}, (IMAGE,), lambda x: x),
        ("drop_path(x)", {}, (IMAGE,), lambda x: x),
    ]


PART = sys.argv[2] if len(sys.argv) > 2 else ""
CASES = simple() + convolutions() + pools() + norms() + attentions() + recurrents() + residuals()
CASES = [case for case in CASES if PART in case[0]]


def declared(tensor):
    return type_of(tensor) + (" in 0..13" if tensor.dtype == torch.int32 else "")


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def forward(program, folder):
    """(name, relative difference) of each case."""
    lines, weights, wanted = [], {}, []
    for i, (call, mine, inputs, peer) in enumerate(CASES):
        wanted.append(peer(*map(wide, inputs), *map(wide, mine.values())).float())
        parameters = ", ".join(f"{name}: {declared(x)}" for name, x in zip("xy", inputs))
        begin = call[: call.index("(")]
        result = type_of(wanted[i])
        lines.append(f"model m{i}({parameters}) -> {result} {{ return {call} }}")
        names = "xy"[: len(inputs)]
        lines.append(f"export e{i}({parameters}) -> (r: {result}) {{ return (r: m{i}({', '.join(names)})) }}")
        weights.update({f"m{i}/{begin}.1/{name}": weight for name, weight in mine.items()})
    library = Library(program, folder, "\n".join(lines) + "\n", weights)
    for i, (call, _, inputs, _) in enumerate(CASES):
        (found,) = library.call(f"e{i}", inputs, [wanted[i]])
        scale = max(wanted[i].abs().max().item(), 1)
        yield call, (found.double() - wanted[i].double()).abs().max().item() / scale


# Gradients: a model over the batch, its peer. `front` is multiplied by the input, so that its gradient
# shows what flows back to the input.

IMAGES, SEQUENCES, NUMBERS = normal(6, 9, 8, 6), normal(6, 7, 12), torch.randint(0, 13, (6, 5), generator=random)
GRADIENTS = [
    ('conv2d(x, 4, 3, 2, "same")', IMAGES, with_options(conv2d, stride=2, padding="same")),
    ('conv2d(x, 4, 3, 2, "valid", 1, 2)', IMAGES, with_options(conv2d, stride=2, groups=2)),
    ('depthwise_conv2d(x, 3, 2, "same", 2)', IMAGES, with_options(depthwise, stride=2, padding="same")),
    ('conv2d_transpose(x, 4, 3, 2, "same")', IMAGES, with_options(conv2d_transpose, stride=2, padding="same")),
    ('conv1d(x, 4, 3, 2, "causal", 1, 2)', SEQUENCES, with_options(conv1d, stride=2, padding="causal", groups=2)),
    ('conv1d_transpose(x, 4, 3, 2, "same")', SEQUENCES, with_options(conv1d_transpose, stride=2, padding="same")),
    ("max_pool2d(x, 3, 2)", IMAGES, with_options(max_pool, kernel=3, stride=2)),
    ('max_pool2d(x, 3, 2, "same")', IMAGES, with_options(max_pool, kernel=3, stride=2, padding="same")),
    ('average_pool2d(x, 3, 2, "same")', IMAGES, with_options(average_pool, kernel=3, stride=2, padding="same")),
    ("batch_norm(x)", IMAGES, training_batch_norm),
    ("group_norm(x, 3)", IMAGES, lambda x, g, s: channels_last(F.group_norm(channels_second(x), 3, g, s))),
    ("layer_norm(x)", SEQUENCES, lambda x, g, s: F.layer_norm(x, (12,), g, s)),
    ("self_attention(x, 3, causal = true)", SEQUENCES, with_options(self_attention, heads=3, causal=True)),
    ("grouped_attention(x, 6, 2, rotary = true)", SEQUENCES,
     with_options(grouped_attention, heads=6, groups=2, rotary=True)),
    ("lstm(x, 5)", SEQUENCES, lstm), ("gru(x, 5)", SEQUENCES, gru),
    ("bidirectional_simple_rnn(x, 5)", SEQUENCES, bidirectional(simple_rnn)),
    ("embedding(x, 4)", NUMBERS, lambda i, table: F.embedding(i, table)),
]

# First values: the deviation and the largest size of those of f32[3, 3, 40, 60].
INPUTS, OUTPUTS = 9 * 40, 9 * 60
CUT = 2 / 0.8796256610342398
FIRST = [
    ("he_normal()", (2 / INPUTS) ** 0.5, CUT), ("he_uniform()", (2 / INPUTS) ** 0.5, 3**0.5),
    ("lecun_normal()", (1 / INPUTS) ** 0.5, CUT), ("lecun_uniform()", (1 / INPUTS) ** 0.5, 3**0.5),
    ("glorot_normal()", (2 / (INPUTS + OUTPUTS)) ** 0.5, CUT),
    ("glorot_uniform()", (2 / (INPUTS + OUTPUTS)) ** 0.5, 3**0.5),
    ("truncated_normal(0.1)", 0.1, CUT), ("normal(0.1)", 0.1, 6.0), ("uniform(-1, 1)", 3**-0.5, 3**0.5),
    ('variance_scaling(3, "out")', (3 / OUTPUTS) ** 0.5, CUT), ("orthogonal(1.5)", 1.5 / INPUTS**0.5, 6.0),
]

TRAINING = """
pipeline records -> (image: f32[9, 8, 6], sequence: f32[7, 12], numbers: i32[5] in 0..13) {
  return idx(image: "image.idx", sequence: "sequence.idx", numbers: "numbers.idx")
}
fn probe(y: f32[B, ...]) -> f32 {
  return mean(y * y * y) + mean(y)
}
model kept(w: f32[...], gradient: f32[...]) -> f32[...] {
  state flow: f32[...] = zeros()
  flow = gradient
  return w
}
train fit {
  data = records() |> batch(6)
  loss = LOSS
  optimizer = kept()
  steps = 1
  every 1 step { save "run.safetensors" }
}
"""


def training_program():
    models, losses = [], []
    for i, (call, x, _) in enumerate(GRADIENTS):
        field = {4: "image", 3: "sequence", 2: "numbers"}[x.dim()]
        shape = ", ".join(map(str, x.shape[1:]))
        begin = f"  let x = a * front\n" if x.is_floating_point() else "  let x = a\n"
        if x.is_floating_point():
            begin = f"  weight front: f32[{shape}] = 1 + 0.3 * random_normal([{shape}])\n" + begin
        element = "f32" if x.is_floating_point() else "i32"
        fact = "" if x.is_floating_point() else " in 0..13"
        models.append(f"model m{i}(a: {element}[B, {shape}]{fact}) -> f32 {{\n{begin}  return probe({call})\n}}\n")
        losses.append(f"m{i}(data.{field})")
    for i, (call, _, _) in enumerate(FIRST):
        models.append(f"model first{i}() -> f32 {{\n  weight w: f32[3, 3, 40, 60] = {call}\n  return sum(w)\n}}\n")
        losses.append(f"first{i}()")
    return "".join(models) + TRAINING.replace("LOSS", " + ".join(losses))


def gradients(program, folder):
    """(name of a weight, relative difference) of each."""
    folder = Path(folder)
    for name, x in (("image", IMAGES), ("sequence", SEQUENCES), ("numbers", NUMBERS)):
        write_idx(folder / f"{name}.idx", x)
    (folder / "gradients.flow").write_text(training_program())
    flowc(program, "run", "gradients.flow", "--progress=off", folder=folder)
    tensors = read_tensors(folder / "run.safetensors")
    for i, (call, x, peer) in enumerate(GRADIENTS):
        names = [name for name in tensors if name.startswith(f"m{i}/") and "flow" not in name]
        names = [name for name in names if not re.search(r"/(middle|square)$", name)]
        weights = [tensors[name].double().requires_grad_() for name in names]
        front = [w for name, w in zip(names, weights) if name.endswith("/front")]
        others = [w for name, w in zip(names, weights) if not name.endswith("/front")]
        y = peer(x * front[0] if front else x, *others)
        ((y**3).mean() + y.mean()).backward()
        for name, weight in zip(names, weights):
            (found,) = (t for n, t in tensors.items() if "flow" in n and name in n)
            scale = weight.grad.abs().max().item()
            yield f"gradient of {call}: {name}", (found - weight.grad).abs().max().item() / scale
    for i, (call, deviation, most) in enumerate(FIRST):
        w = tensors[f"first{i}/w"].double()
        fits = (abs(w.std() / deviation - 1) < 0.02 and abs(w.mean()) < 0.02 * deviation
                and 0.98 * min(most, 3) < w.abs().max() / deviation < most * (1 + 1e-5))
        yield f"first values of {call}: {w.mean():.2e} ± {w.std() / deviation:.3f}", 0 if fits else 1
        if call.startswith("orthogonal"):
            columns = w.reshape(INPUTS, -1) / 1.5
            yield f"columns of {call}", (columns.T @ columns - torch.eye(columns.shape[1])).abs().max().item()


def main():
    failures = count = 0
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        for name, difference in (*forward(program, folder), *gradients(program, folder)):
            good = difference <= TOLERANCE
            count += 1
            failures += not good
            print(f"{name:60} {difference:.1e}" + ("" if good else "  FAILED"))
    print(f"{count - failures} of {count} agree within {TOLERANCE:g}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
