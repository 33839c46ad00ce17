"""What flowc is compared with on a GPU: PyTorch (cuBLAS, cuDNN, FlashAttention) and JAX. Each function
gives the rate of a row, by the machine's clock around work that has been waited for."""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others compute here, too

import torch
import torch.nn.functional as F

import torch_models

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds(work, least=0.3):
    """Of one call, the best of three stretches that take that long together."""
    for _ in range(3):
        work()
    wait()
    count, best = 1, float("inf")
    for _ in range(3):
        while True:
            began = time.perf_counter()
            for _ in range(count):
                work()
            wait()
            taken = time.perf_counter() - began
            if taken >= least / 3 or count >= 1 << 16:
                break
            count *= 2
        best = min(best, taken / count)
    return best


# ---- Kernels ----


def gemm(n):
    a, b = (torch.randn(n, n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    return {"cuBLAS by PyTorch": 2 * n**3 / seconds(lambda: torch.matmul(a, b)) / 1e12}


def gemm_by_jax(n):
    import jax
    import jax.numpy as jnp

    a, b = (jax.random.normal(jax.random.key(i), (n, n), jnp.bfloat16) for i in range(2))
    product = jax.jit(jnp.matmul)
    return {"JAX": 2 * n**3 / seconds(lambda: product(a, b).block_until_ready()) / 1e12}


def copy(size):
    """GB/s of a copy in the GPU's memory, read and written."""
    a = torch.zeros(size, device=DEVICE)
    b = torch.empty_like(a)
    return {"copy": 2 * a.nbytes / seconds(lambda: b.copy_(a)) / 1e9}


def attention(length, compiled):
    shape = (4, 16, length, 64)
    q, k, v = (torch.randn(shape, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))

    def step():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        (y.float() ** 2).mean().backward()
        with torch.no_grad():
            for x in (q, k, v):
                x.sub_(x.grad, alpha=1e-6)
                x.grad = None

    return 1 / seconds(torch.compile(step) if compiled else step)


# ---- Training ----


def batches(model, batch):
    if model == "gpt":
        x = torch.randint(0, 128, (batch, 257), device=DEVICE)
        return x[:, :-1], x[:, 1:]
    shape = {"mlp": (784,), "cnn": (28, 28, 1), "resnet20": (32, 32, 3)}[model]
    return torch.rand(batch, *shape, device=DEVICE), torch.randint(0, 10, (batch,), device=DEVICE)


def training(model, batch, compiled, half=False):
    """Records/s of steps on one batch that lies on the GPU: peers are spared their input."""
    net = torch_models.MODELS[model](torch.channels_last).to(DEVICE)
    net.apply(torch_models.initialise)
    optimizer = torch.optim.AdamW(net.parameters(), fused=DEVICE == "cuda")
    x, y = batches(model, batch)

    def step():
        with torch.autocast(DEVICE, torch.bfloat16, enabled=half):
            logits = net(x)
        loss = F.cross_entropy(logits.float().flatten(0, -2), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return batch / seconds(torch.compile(step) if compiled else step)


def digits_by_jax(batch):
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.key(0), 3)
    weights = [jax.random.normal(keys[0], (784, 128)) * 0.05, jnp.zeros(128), jax.random.normal(keys[1], (128, 10)) * 0.1, jnp.zeros(10)]
    x, y = jax.random.uniform(keys[2], (batch, 784)), jnp.zeros(batch, int)

    def loss(w):
        logits = jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(batch), y])

    @jax.jit
    def step(w, m, v):
        g = jax.grad(loss)(w)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
        return [a - 1e-3 * b / (jnp.sqrt(c) + 1e-8) for a, b, c in zip(w, m, v)], m, v

    state = [weights, [0 * w for w in weights], [0 * w for w in weights]]

    def work():
        state[:] = step(*state)
        state[0][0].block_until_ready()

    return {"JAX": batch / seconds(work)}
