"""Products of bf16 by PyTorch. Arguments: how many threads, then `name,M,K,N,transposed` of each shape, as gemm_timing.c knows
them. Prints the seconds of a call of each (median) as JSON."""

import json
import statistics
import sys
import time

import torch

# As repeated.h does.
BATCH_SECONDS, SECONDS = 2e-3, 0.25
BATCHES_LEAST, BATCHES_MOST = 3, 21


def seconds_of(calls, function):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    return time.perf_counter() - begin


def seconds_of_a_call(function):
    calls, begin, found = 1, time.perf_counter(), []
    function()
    while seconds_of(calls, function) < BATCH_SECONDS / 2:
        calls *= 2
    while len(found) < BATCHES_LEAST or (len(found) < BATCHES_MOST and time.perf_counter() - begin < SECONDS):
        found.append(seconds_of(calls, function) / calls)
    return statistics.median(found)


def matrix(rows, columns, transposed):
    stored = torch.rand((columns, rows) if transposed else (rows, columns)) - 0.5
    return stored.bfloat16().t() if transposed else stored.bfloat16()


def product(m, k, n, transposed):
    a, b = matrix(m, k, transposed == "a"), matrix(k, n, transposed == "b")
    out = torch.empty(m, n, dtype=torch.bfloat16)
    return lambda: torch.mm(a, b, out=out)


torch.manual_seed(1)
torch.set_num_threads(int(sys.argv[1]))
answer = {}
for argument in sys.argv[2:]:
    name, *sizes, transposed = argument.split(",")
    answer[name] = seconds_of_a_call(product(*map(int, sizes), transposed))
print(json.dumps(answer))
