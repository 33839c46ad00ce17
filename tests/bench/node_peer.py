"""Nanoseconds of one of many products of 2 x 2 matrices in PyTorch, one after the other on one thread."""

import time

import torch

COUNT = 100000

torch.set_num_threads(1)
torch.set_grad_enabled(False)
w, y = torch.rand(2, 2), torch.rand(2, 2)
best = None
for _ in range(5):
    begin = time.perf_counter()
    for _ in range(COUNT):
        y = torch.mm(y, w)
    seconds = time.perf_counter() - begin
    best = min(best or seconds, seconds)
print(best / COUNT * 1e9)
