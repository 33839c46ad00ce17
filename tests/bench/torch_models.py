"""The models of the rows in PyTorch, initialised as flowc's layers are. Images come as [B, H, W, C]."""

import torch
import torch.nn.functional as F
from torch import nn

from tasks import CIFAR_DEVIATION, CIFAR_MEAN, CLASSES, CONTEXT, HEADS, LAYERS, VOCABULARY, WIDTH


class Planes(nn.Module):
    """Of images as PyTorch has them. In the layout channels_last that is another view of the same bytes."""

    def __init__(self, layout):
        super().__init__()
        self.layout = layout

    def forward(self, x):
        return x.permute(0, 3, 1, 2).contiguous(memory_format=self.layout)


def mlp(_layout):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, CLASSES))


def tiny(_layout):
    return nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def lenet(layout):
    return nn.Sequential(
        Planes(layout),
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, CLASSES),
    )


def cnn(layout):
    return nn.Sequential(
        Planes(layout),
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, CLASSES),
    )


def normalised_convolution(inputs, filters, kernel, stride):
    convolution = nn.Conv2d(inputs, filters, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(filters))


class Block(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.first = normalised_convolution(inputs, filters, 3, stride)
        self.second = normalised_convolution(filters, filters, 3, 1)
        self.short = nn.Identity() if stride == 1 else normalised_convolution(inputs, filters, 1, stride)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.short(x))


def resnet20(layout):
    widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
    blocks = [Block(a, b, 1 if a == b else 2) for a, b in zip(widths, widths[1:])]
    return nn.Sequential(
        Planes(layout), normalised_convolution(3, 16, 3, 1), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES),
    )


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_units = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.merged = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.units, self.result = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        batch, length, _ = x.shape
        heads = self.attention(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*heads, is_causal=True)
        return self.merged(seen.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.before_attention(x))
        return x + self.result(F.gelu(self.units(self.before_units(x))))


class Gpt(nn.Module):
    def __init__(self, _layout):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.empty(CONTEXT, WIDTH))
        self.blocks = nn.Sequential(*(TransformerBlock() for _ in range(LAYERS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY))

    def forward(self, ids):
        return self.head(self.blocks(self.embedding(ids) + self.position))


MODELS = {"mlp": mlp, "tiny": tiny, "lenet": lenet, "cnn": cnn, "resnet20": resnet20, "gpt": Gpt}
LAYOUTS = {"channels_first": torch.contiguous_format, "channels_last": torch.channels_last}


def initialise(module):
    if isinstance(module, Gpt):
        nn.init.normal_(module.position, std=0.02)
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        if module.bias is None:
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        else:
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


def new_model(task, setting):
    layout = LAYOUTS[setting["layout"]]
    model = MODELS[task["model"]](layout)
    model.apply(initialise)
    return model.to(memory_format=layout)


def normalised(x):
    return (x.float() / 255 - torch.tensor(CIFAR_MEAN)) / torch.tensor(CIFAR_DEVIATION)


def pixels(x):
    return x.float().mul_(1 / 255)


def unchanged(x):
    return x


# From the data to what the model takes.
PREPARED = {"mlp": pixels, "lenet": pixels, "cnn": pixels, "tiny": unchanged, "resnet20": normalised, "gpt": unchanged}
