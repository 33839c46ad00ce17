"""Whether batches of photos hold Pillow's pixels."""

import pathlib

import numpy

MEAN = numpy.array([0.485, 0.456, 0.406])
DEVIATION = numpy.array([0.229, 0.224, 0.225])


def reference(folder):
    """Of each file in order, as Pillow decodes and resizes it (bilinear, which smooths)."""
    from PIL import Image

    files = sorted(pathlib.Path(folder).iterdir(), key=lambda file: str(file).encode())
    return [Image.open(file).convert("RGB").resize((224, 224), Image.Resampling.BILINEAR) for file in files]


def largest_difference(folder, batches):
    """Of all values, in steps of 255; `batches`: f32[n, 224, 224, 3], normalised, in the order of the files."""
    largest = 0.0
    for x, image in zip(batches, reference(folder), strict=True):
        back = (numpy.asarray(x, dtype=numpy.float64) * DEVIATION + MEAN) * 255
        largest = max(largest, float(numpy.abs(back - numpy.asarray(image)).max()))
    return largest
