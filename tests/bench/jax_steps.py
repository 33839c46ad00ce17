"""Training steps in JAX: one compiled function for a step, or for an epoch of them."""

import jax
import jax.numpy as np
from jax import lax

from tasks import CIFAR_DEVIATION, CIFAR_MEAN, CLASSES, CONTEXT, HEADS, LAYERS, VOCABULARY, WIDTH

# ---- Weights ----


class Keys:
    def __init__(self, seed):
        self.last = jax.random.key(seed)

    def next(self):
        self.last, key = jax.random.split(self.last)
        return key


def dense_weights(keys, inputs, outputs, places=1):
    """Glorot's, as flowc's layers; places: of a convolution's window."""
    limit = (6 / (places * (inputs + outputs))) ** 0.5
    shape = (inputs, outputs) if places == 1 else (int(places**0.5), int(places**0.5), inputs, outputs)
    return {"w": jax.random.uniform(keys.next(), shape, minval=-limit, maxval=limit), "b": np.zeros(outputs)}


def normalised_weights(keys, inputs, filters, kernel):
    deviation = (2 / (kernel * kernel * inputs)) ** 0.5
    w = deviation * jax.random.normal(keys.next(), (kernel, kernel, inputs, filters))
    return {"w": w, "gain": np.ones(filters), "shift": np.zeros(filters)}


def norm_weights():
    return {"gain": np.ones(WIDTH), "shift": np.zeros(WIDTH)}


# ---- Layers ----


def dense(p, x):
    return x @ p["w"] + p["b"]


def convolve(x, w, padding, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def normalised_convolution(p, x, stride=1):
    edge = p["w"].shape[0] // 2
    y = convolve(x, p["w"], [(edge, edge)] * 2, stride)
    mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
    return p["gain"] * (y - mean) * lax.rsqrt(variance + 1e-5) + p["shift"]


def layer_norm(p, x):
    centred = x - x.mean(-1, keepdims=True)
    return p["gain"] * centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) + p["shift"]


# ---- Models: weights and function ----


def perceptron_weights(inputs, units):
    return lambda keys: [dense_weights(keys, inputs, units), dense_weights(keys, units, CLASSES)]


def perceptron(p, x):
    return dense(p[1], jax.nn.relu(dense(p[0], x.reshape(len(x), -1))))


def lenet_weights(keys):
    return [
        dense_weights(keys, 1, 6, 25), dense_weights(keys, 6, 16, 25),
        dense_weights(keys, 400, 120), dense_weights(keys, 120, 84), dense_weights(keys, 84, CLASSES),
    ]


def lenet(p, x):
    for layer, padding in zip(p[:2], ("SAME", "VALID")):
        x = pooled(jax.nn.relu(convolve(x, layer["w"], padding) + layer["b"]))
    x = x.reshape(len(x), -1)
    for layer in p[2:4]:
        x = jax.nn.relu(dense(layer, x))
    return dense(p[4], x)


def cnn_weights(keys):
    return [
        dense_weights(keys, 1, 32, 9), dense_weights(keys, 32, 64, 9),
        dense_weights(keys, 1600, 128), dense_weights(keys, 128, CLASSES),
    ]


def cnn(p, x):
    for layer in p[:2]:
        x = pooled(jax.nn.relu(convolve(x, layer["w"], "VALID") + layer["b"]))
    return dense(p[3], jax.nn.relu(dense(p[2], x.reshape(len(x), -1))))


RESNET_WIDTHS = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]


def block_weights(keys, inputs, filters):
    short = {} if inputs == filters else {"short": normalised_weights(keys, inputs, filters, 1)}
    return {"first": normalised_weights(keys, inputs, filters, 3), "second": normalised_weights(keys, filters, filters, 3)} | short


def resnet_weights(keys):
    blocks = [block_weights(keys, a, b) for a, b in zip(RESNET_WIDTHS, RESNET_WIDTHS[1:])]
    return {"first": normalised_weights(keys, 3, 16, 3), "blocks": blocks, "head": dense_weights(keys, 64, CLASSES)}


def resnet_block(p, x):
    stride = 2 if "short" in p else 1
    y = jax.nn.relu(normalised_convolution(p["first"], x, stride))
    short = normalised_convolution(p["short"], x, stride) if "short" in p else x
    return jax.nn.relu(normalised_convolution(p["second"], y) + short)


def resnet(p, x):
    x = jax.nn.relu(normalised_convolution(p["first"], x))
    for block in p["blocks"]:
        x = resnet_block(block, x)
    return dense(p["head"], x.mean((1, 2)))


def transformer_weights(keys):
    return {
        "before attention": norm_weights(), "attention": dense_weights(keys, WIDTH, 3 * WIDTH),
        "merged": dense_weights(keys, WIDTH, WIDTH), "before units": norm_weights(),
        "units": dense_weights(keys, WIDTH, 4 * WIDTH), "result": dense_weights(keys, 4 * WIDTH, WIDTH),
    }


def gpt_weights(keys):
    normal = lambda rows: 0.02 * jax.random.normal(keys.next(), (rows, WIDTH))
    return {
        "embedding": normal(VOCABULARY), "position": normal(CONTEXT),
        "blocks": [transformer_weights(keys) for _ in range(LAYERS)],
        "before head": norm_weights(), "head": dense_weights(keys, WIDTH, VOCABULARY),
    }


def transformer_block(p, x):
    heads = dense(p["attention"], layer_norm(p["before attention"], x)).reshape(*x.shape[:2], 3, HEADS, WIDTH // HEADS)
    seen = jax.nn.dot_product_attention(heads[:, :, 0], heads[:, :, 1], heads[:, :, 2], is_causal=True)
    x = x + dense(p["merged"], seen.reshape(x.shape))
    units = jax.nn.gelu(dense(p["units"], layer_norm(p["before units"], x)), approximate=False)
    return x + dense(p["result"], units)


def gpt(p, ids):
    x = p["embedding"][ids] + p["position"]
    for block in p["blocks"]:
        x = transformer_block(block, x)
    return dense(p["head"], layer_norm(p["before head"], x))


MODELS = {
    "mlp": (perceptron_weights(784, 128), perceptron),
    "tiny": (perceptron_weights(100, 64), perceptron),
    "lenet": (lenet_weights, lenet),
    "cnn": (cnn_weights, cnn),
    "resnet20": (resnet_weights, resnet),
    "gpt": (gpt_weights, gpt),
}


def pixels(x):
    return x.astype(np.float32) / 255


def normalised(x):
    return (pixels(x) - np.array(CIFAR_MEAN)) / np.array(CIFAR_DEVIATION)


PREPARED = {"mlp": pixels, "lenet": pixels, "cnn": pixels, "resnet20": normalised}


# ---- Optimizers: weights, gradients and state to new weights and state ----

each = jax.tree.map


def sgd(weights, gradients, state, rate):
    return each(lambda w, g: w - rate * g, weights, gradients), state


def momentum(weights, gradients, state, rate):
    m = each(lambda m, g: 0.9 * m + g, state["m"], gradients)
    return each(lambda w, m: w - rate * m, weights, m), state | {"m": m}


def adam(weights, gradients, state, rate, decay=0.0):
    time = state["time"] + 1
    m = each(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    v = each(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], gradients)
    rate_now, scale = rate / (1 - 0.9**time), 1 / (1 - 0.999**time)
    new = each(lambda w, m, v: w * (1 - rate * decay) - rate_now * m / (np.sqrt(v * scale) + 1e-8), weights, m, v)
    return new, {"time": time, "m": m, "v": v}


def adamw(weights, gradients, state, rate):
    return adam(weights, gradients, state, rate, decay=0.01)


OPTIMIZERS = {"sgd": sgd, "momentum": momentum, "adam": adam, "adamw": adamw}


# ---- The process ----


def start(_setting):
    pass


def new_step(task, model):
    prepared = PREPARED.get(task["model"], lambda x: x)
    update = OPTIMIZERS[task["optimizer"]]

    def loss_of(weights, x, y):
        scores = jax.nn.log_softmax(model(weights, prepared(x)))
        return -np.take_along_axis(scores, y[..., None], -1).mean()

    def step(trained, x, y):
        weights, state = trained
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        return update(weights, gradients, state, task["rate"]), loss

    return step


class Training:
    def __init__(self, task, setting, data, seed):
        self.task, keys = task, Keys(seed)
        weights, self.model = MODELS[task["model"]]
        weights = weights(keys)
        zeros = lambda: each(np.zeros_like, weights)
        self.trained = (weights, {"time": np.zeros(()), "m": zeros(), "v": zeros()})
        self.key, self.data = keys.next(), data
        self.x, self.y = np.asarray(data.x), np.asarray(data.y.astype("int32"))
        step = new_step(task, self.model)
        self.step = jax.jit(step, donate_argnums=0)
        self.whole = jax.jit(lambda trained, x, y, order: lax.scan(lambda t, i: step(t, x[i], y[i]), trained, order), donate_argnums=0)
        self.epoch = {"epoch": self.whole_epoch, "step": self.epoch_of_steps}[setting["form"]]

    def order(self):
        self.key, key = jax.random.split(self.key)
        count = len(self.x) // self.task["batch"]
        return jax.random.permutation(key, len(self.x))[: count * self.task["batch"]].reshape(count, -1)

    def whole_epoch(self):
        self.trained, losses = self.whole(self.trained, self.x, self.y, self.order())
        return losses.block_until_ready()

    def epoch_of_steps(self):
        losses = []
        for index in self.order():
            self.trained, loss = self.step(self.trained, self.x[index], self.y[index])
            losses.append(loss)
        return np.stack(losses).block_until_ready()

    def mean_loss(self):
        return float(self.epoch().mean())

    def evaluate(self):
        """Mean loss (not counted here) and accuracy of the test data."""
        correct = 0
        for first in range(0, len(self.data.test_x), 1000):
            x, y = (part[first : first + 1000] for part in (self.data.test_x, self.data.test_y))
            correct += int((self.model(self.trained[0], PREPARED[self.task["model"]](np.asarray(x))).argmax(-1) == y).sum())
        return None, correct / len(self.data.test_x)
