"""What is fitted to the data before the first step beside numpy in float64, there and back.

    python fitted.py FLOWC
"""

import sys
import tempfile
from pathlib import Path

import numpy
import torch

from library import flowc, write_idx

ROWS, FEATURES, LOW, HIGH = 211, 5, -1, 3
TOLERANCE = 1e-6  # of the largest of a feature

PROGRAM = """
pipeline rows() -> (x: f32[5]) { return idx(x: "x.idx") }
model both(x: f32[B, 5]) -> f32[B, 20] {
  let unit  = new standardise()
  let range = new min_max()
  let inner = range(x, low = -1, high = 3)
  return concat([unit(x), inner, unit(unit(x), inverse = true), range(inner, low = -1, high = 3, inverse = true)],
                axis = -1)
}
train fit {
  data      = rows() |> batch(16)
  loss      = mean(both(data.x) |> dense(1))
  optimizer = sgd(0)
  steps     = 1
  every 1 step { save "fitted.safetensors" }
}
pipeline fitted {
  let both = load(both, "fitted.safetensors")
  return rows() |> batch(16) |> map(y: both(x)) |> unbatch() |> csv(stdout)
}
"""


def data():
    """Features of other middles and deviations; one is the same in all records."""
    x = numpy.random.default_rng(1).standard_normal((ROWS, FEATURES)) * [1, 100, 1e-3, 5, 0] + [0, 3, 1, 1000, 7]
    return x.astype(numpy.float32)


def found(program):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_idx(folder / "x.idx", torch.tensor(data()))
        (folder / "fitted.flow").write_text(PROGRAM)
        flowc(program, "run", "fitted.flow", "fit", "--progress=off", folder=folder)
        text = flowc(program, "run", "fitted.flow", "fitted", "--progress=off", folder=folder, output=True)
    return numpy.array([line.split(",") for line in text.splitlines()[1:]], float).reshape(ROWS, 4, FEATURES)


def wanted():
    x = data().astype(float)
    deviation, range = x.std(0), x.max(0) - x.min(0)
    unit = (x - x.mean(0)) / numpy.where(deviation > 0, deviation, 1)
    inner = (x - x.min(0)) / numpy.where(range > 0, range, 1) * (HIGH - LOW) + LOW
    return numpy.stack([unit, inner, x, x], axis=1)


def main(program):
    failed, truth = 0, wanted()
    error = abs(found(str(Path(program).resolve())) - truth).max(0) / numpy.maximum(abs(truth).max(0), 1)
    for name, off in zip(("standardise", "min_max", "standardise, inverse", "min_max, inverse"), error.max(1)):
        print(f"{name}: off by {off:.2g}{'' if off <= TOLERANCE else '  FAILED'}")
        failed += not off <= TOLERANCE
    print(f"{len(error) - failed} of {len(error)} agree within {TOLERANCE}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
