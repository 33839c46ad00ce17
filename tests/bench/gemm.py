"""C11: products of matrices by flowc's generated kernels and by libraries."""

import dataclasses
import json
import math
import os
import subprocess
import sys
import sysconfig

import numpy

import kernels
from measurement import Contender, Measurement
from peer import CORES
from row import Row

CHECKED_ROWS = 64
ERROR = 1e-5  # of sqrt(K): results beside those in double precision


@dataclasses.dataclass(frozen=True)
class Shape:
    m: int
    k: int
    n: int
    transposed: str = "-"

    def name(self):
        return f"m{self.m}_{self.k}_{self.n}" + {"-": "", "a": "_at", "b": "_bt"}[self.transposed]

    def flops(self):
        return 2 * self.m * self.k * self.n

    def stored(self):
        """Shapes of both operands."""
        a, b = (self.m, self.k), (self.k, self.n)
        return (a[::-1] if self.transposed == "a" else a), (b[::-1] if self.transposed == "b" else b)

    def export(self):
        (a0, a1), (b0, b1) = self.stored()
        a, b = ("transpose(a)" if self.transposed == "a" else "a"), ("transpose(b)" if self.transposed == "b" else "b")
        return f"export {self.name()}(a: f32[{a0}, {a1}], b: f32[{b0}, {b1}]) -> f32[{self.m}, {self.n}] {{ return matmul({a}, {b}) }}\n"


CUBES = [Shape(n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096)]
SHAPES = CUBES + [
    Shape(32, 784, 128), Shape(64, 784, 128), Shape(256, 784, 128), Shape(784, 64, 128, "a"), Shape(784, 32, 128, "a"),
    Shape(64, 128, 10), Shape(64, 10, 128, "b"), Shape(128, 64, 10, "a"), Shape(32, 100, 64), Shape(128, 100, 64),
    Shape(2048, 384, 1536), Shape(4096, 384, 1536), Shape(4096, 1536, 384), Shape(2048, 384, 1152),
    Shape(384, 2048, 1536, "a"), Shape(256, 768, 3072), Shape(8192, 64, 64), Shape(256, 64, 256, "b"), Shape(256, 256, 64),
]

LIBRARIES = {
    "oneDNN": ("libdnnl.so.3", "dnnl_sgemm"),
    "OpenBLAS": ("libscipy_openblas.so", "scipy_cblas_sgemm"),
    "MKL": ("libmkl_rt.so.3", "cblas_sgemm"),
}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def measurement(seconds):
    rates = {shape.name(): shape.flops() / seconds[shape.name()] / 1e9 for shape in SHAPES}
    return Measurement(geometric_mean(rates.values()), {}, parts=rates)


def largest_error(library, shape):
    """Of the first rows of one product, as a part of the square root of K."""
    random = numpy.random.default_rng(shape.k)
    a, b = (random.random(size, dtype=numpy.float32) - 0.5 for size in shape.stored())
    found = numpy.empty((shape.m, shape.n), numpy.float32)
    library.call(shape.name(), a, b, found)
    rows = (a.T if shape.transposed == "a" else a)[:CHECKED_ROWS].astype(float)
    true = rows @ (b.T if shape.transposed == "b" else b)
    return float(abs(found[:CHECKED_ROWS] - true).max()) / shape.k**0.5


class Generated(Contender):
    def __init__(self, threads):
        self.threads, self.program = threads, None

    def prepare(self, session):
        source = session.scratch / "gemm.flow"
        source.write_text("".join(shape.export() for shape in SHAPES))
        self.program = kernels.timing_program(session, source)
        library = kernels.library_of(session, source)
        errors = {shape.name(): largest_error(library, shape) for shape in SHAPES}
        wrong = [f"{name} by {error:.1e}" for name, error in errors.items() if error > ERROR]
        if wrong:
            raise RuntimeError(f"products are wrong: {', '.join(wrong)}")

    def measure(self, session):
        return measurement(kernels.seconds_of_exports(self.program, self.threads))

    def settings(self):
        return {"threads": self.threads}


class LibraryProducts(Contender):
    def __init__(self, name, threads):
        (self.file, self.function), self.threads = LIBRARIES[name], threads

    def path(self):
        """Wheels put libraries into the environment's lib, or into the package."""
        inside = sysconfig.get_path("purelib") + "/scipy_openblas32/lib"
        folders = [sys.prefix + "/lib", inside]
        return next(path for folder in folders if os.path.exists(path := f"{folder}/{self.file}"))

    def prepare(self, session):
        self.program = session.scratch / "gemm_timing"
        flags = ["-O2", "-std=gnu11", f"-I{kernels.REPOSITORY}"]
        subprocess.run(["gcc", *flags, kernels.HERE / "gemm_timing.c", "-o", self.program, "-ldl", "-lm"], check=True)

    def environment(self):
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        return os.environ | {name: str(self.threads) for name in names} | {"LD_LIBRARY_PATH": sys.prefix + "/lib"}

    def measure(self, session):
        shapes = [str(word) for s in SHAPES for word in (s.name(), s.m, s.k, s.n, s.transposed)]
        done = subprocess.run(
            [self.program, self.path(), self.function, *shapes], check=True, capture_output=True, text=True,
            env=self.environment(), preexec_fn=lambda: kernels.keep_to(self.threads),
        )
        return measurement(json.loads(done.stdout))

    def settings(self):
        return {"threads": self.threads, "function": self.function}


def gemm_row(threads):
    cores = "one" if threads == 1 else "all"
    return Row(
        name=f"C11-{threads}",
        unit="GFLOP/s",
        what=f"{len(SHAPES)} products of f32 matrices, {threads} threads: the geometric mean",
        flowc=Generated(threads),
        peers={name: LibraryProducts(name, threads) for name in LIBRARIES},
        limit=lambda calibration, _medians: calibration[f"fma_gflops_{cores}"],
        limit_is=f"calibrated fp32 peak of {cores}",
    )


ROWS = [gemm_row(threads) for threads in sorted({1, CORES})]
