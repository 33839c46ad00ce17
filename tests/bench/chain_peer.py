"""The chain of chain.flow by a peer. Arguments: which, and whether at its best (else as usually written). Prints seconds
of a call (median), and the mean and deviation of the result of the first, as JSON."""

import json
import statistics
import sys
import time

COUNT = 64 << 20
BLOCK = 1 << 15  # floats that stay in a core's cache
SECONDS = 3.0


def chain(x, maximum, minimum):
    a = maximum(x * 1.5 + 0.25, -1.0)
    b = minimum(a * 0.75 - 0.5, 1.0)
    return abs(b * 1.25 + 0.125) * 0.8


def numpy_chain(best):
    import numpy

    x = numpy.random.default_rng(1).random(COUNT, dtype=numpy.float32) - 0.5
    if not best:
        return lambda: chain(x, numpy.maximum, numpy.minimum)
    out = numpy.empty_like(x)

    def in_blocks():
        for first in range(0, COUNT, BLOCK):
            out[first : first + BLOCK] = chain(x[first : first + BLOCK], numpy.maximum, numpy.minimum)
        return out

    return in_blocks


def torch_input():
    import torch

    torch.manual_seed(1)
    return torch.rand(COUNT) - 0.5


def torch_eager(best):
    import torch

    x, out = torch_input(), torch.empty(COUNT)
    if not best:
        return lambda: chain(x, torch.clamp_min, torch.clamp_max)

    def in_place():
        torch.mul(x, 1.5, out=out).add_(0.25).clamp_min_(-1).mul_(0.75).sub_(0.5).clamp_max_(1)
        return out.mul_(1.25).add_(0.125).abs_().mul_(0.8)

    return in_place


def torch_compile(best):
    import torch

    x, out = torch_input(), torch.empty(COUNT)
    usual = lambda x: chain(x, torch.clamp_min, torch.clamp_max)
    compiled = torch.compile((lambda x, out: out.copy_(usual(x))) if best else usual)
    return lambda: compiled(x, out) if best else compiled(x)


def jax_chain(best):
    import jax

    usual = lambda x: chain(x, jax.numpy.maximum, jax.numpy.minimum)
    x = jax.random.uniform(jax.random.key(1), (COUNT,)) - 0.5
    if not best:
        compiled = jax.jit(usual)
        return lambda: compiled(x).block_until_ready()
    compiled = jax.jit(lambda x, _out: usual(x), donate_argnums=1, keep_unused=True)  # the last result's memory is taken
    out = jax.numpy.zeros(COUNT)

    def into_the_last():
        nonlocal out
        out = compiled(x, out).block_until_ready()
        return out

    return into_the_last


PEERS = {"NumPy": numpy_chain, "PyTorch eager": torch_eager, "PyTorch compile": torch_compile, "JAX": jax_chain}


def main(peer, best):
    call = PEERS[peer](best == "best")
    result = call()
    facts = {"mean": float(result.mean()), "deviation": float(result.std())}
    del result
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times)} | facts))


main(*sys.argv[1:])
