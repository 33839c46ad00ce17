"""The weights of MODELS are alike on all targets: mlp.TARGET.1 and so on.

    python3 alike.py FIRST TARGET…

Each tensor's difference to that of the first target, beside the largest of its numbers."""

import array
import json
import sys

MODELS, TOLERANCE = ("mlp", "smooth_cnn", "gpt"), 1e-4


def tensors(path):
    content = open(path, "rb").read()
    size = int.from_bytes(content[:8], "little")
    for name, tensor in json.loads(content[8 : 8 + size]).items():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            yield name, array.array("f", content[8 + size + begin : 8 + size + end])


def alike(model, first, target):
    """How many tensors are so. What is all zeros is of another model."""
    expected, compared = dict(tensors(f"{model}.{first}.1")), 0
    for name, values in tensors(f"{model}.{target}.1"):
        difference = max(abs(a - b) for a, b in zip(values, expected[name], strict=True))
        largest = max(map(abs, expected[name]))
        assert difference <= TOLERANCE * largest, f"{model}, {target}: {name} differs by {difference:.2g} of {largest:.2g}"
        compared += largest > 0
    return compared


first, *others = sys.argv[1:]
compared = sum(alike(model, first, target) for model in MODELS for target in others)
print(f"{compared} tensors alike on {len(others) + 1} targets")
assert compared or not others, "nothing is compared"
