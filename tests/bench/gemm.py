"""C11, C12: products of matrices of f32 and of bf16 by flowc's generated kernels and by libraries."""

import dataclasses
import json
import math
import os
import subprocess
import sys
import sysconfig
import typing

import numpy

import kernels
from measurement import Contender, Measurement
from peer import CORES
from row import Row

CHECKED_ROWS = 64  # of each product, far apart
LEAST_SIDE_OF_HALF = 256


@dataclasses.dataclass(frozen=True)
class Element:
    name: str
    error: float  # of results, beside those in double precision, as a part of sqrt(K)
    stored: typing.Callable  # of an array of f32
    floats: typing.Callable  # of one of these


def halves_of(floats):
    return (floats.view(numpy.uint32) >> 16).astype(numpy.uint16)


def floats_of(halves):
    return (halves.astype(numpy.uint32) << 16).view(numpy.float32)


F32 = Element("f32", 1e-5, lambda floats: floats, lambda floats: floats)
BF16 = Element("bf16", 2e-3, halves_of, floats_of)


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

    def export(self, element):
        (a0, a1), (b0, b1), e = *self.stored(), element.name
        a, b = ("transpose(a)" if self.transposed == "a" else "a"), ("transpose(b)" if self.transposed == "b" else "b")
        return f"export {self.name()}(a: {e}[{a0}, {a1}], b: {e}[{b0}, {b1}]) -> {e}[{self.m}, {self.n}] {{ return matmul({a}, {b}) }}\n"


CUBES = [Shape(n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096)]
SHAPES = CUBES + [
    Shape(32, 784, 128), Shape(64, 784, 128), Shape(256, 784, 128), Shape(784, 64, 128, "a"), Shape(784, 32, 128, "a"),
    Shape(64, 128, 10), Shape(64, 10, 128, "b"), Shape(128, 64, 10, "a"), Shape(32, 100, 64), Shape(128, 100, 64),
    Shape(2048, 384, 1536), Shape(4096, 384, 1536), Shape(4096, 1536, 384), Shape(2048, 384, 1152),
    Shape(384, 2048, 1536, "a"), Shape(256, 768, 3072), Shape(8192, 64, 64), Shape(256, 64, 256, "b"), Shape(256, 256, 64),
]
HALF_SHAPES = [shape for shape in SHAPES if min(shape.m, shape.k, shape.n) >= LEAST_SIDE_OF_HALF]

LIBRARIES = {
    "oneDNN": ("libdnnl.so.3", "dnnl_sgemm"),
    "OpenBLAS": ("libscipy_openblas.so", "scipy_cblas_sgemm"),
    "MKL": ("libmkl_rt.so.3", "cblas_sgemm"),
}
HALF_LIBRARIES = {"MKL": ("libmkl_rt.so.3", "cblas_gemm_bf16bf16f32")}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def measurement(shapes, seconds):
    rates = {shape.name(): shape.flops() / seconds[shape.name()] / 1e9 for shape in shapes}
    return Measurement(geometric_mean(rates.values()), {}, parts=rates)


def largest_error(library, shape, element):
    """Of some rows of one product, as a part of the square root of K."""
    random = numpy.random.default_rng(shape.k)
    stored = [element.stored(random.random(size, dtype=numpy.float32) - 0.5) for size in shape.stored()]
    found = numpy.empty((shape.m, shape.n), stored[0].dtype)
    library.call(shape.name(), *stored, found)
    a, b, found = map(element.floats, (*stored, found))
    checked = numpy.unique(numpy.linspace(0, shape.m - 1, CHECKED_ROWS, dtype=int))
    rows = (a.T if shape.transposed == "a" else a)[checked].astype(float)
    true = rows @ (b.T if shape.transposed == "b" else b)
    return float(abs(found[checked] - true).max()) / shape.k**0.5


class Generated(Contender):
    def __init__(self, shapes, element, threads):
        self.shapes, self.element, self.threads = shapes, element, threads

    def prepare(self, session):
        source = session.scratch / f"gemm-{self.element.name}.flow"
        source.write_text("".join(shape.export(self.element) for shape in self.shapes))
        self.program = kernels.timing_program(session, source)
        library = kernels.library_of(session, source)
        errors = {shape.name(): largest_error(library, shape, self.element) for shape in self.shapes}
        wrong = [f"{name} by {error:.1e}" for name, error in errors.items() if not error <= self.element.error]
        if wrong:
            raise RuntimeError(f"products are wrong: {', '.join(wrong)}")

    def measure(self, session):
        return measurement(self.shapes, kernels.seconds_of_exports(self.program, self.threads))

    def settings(self):
        return {"threads": self.threads}


class LibraryProducts(Contender):
    def __init__(self, library, shapes, threads):
        (self.file, self.function), self.shapes, self.threads = library, shapes, threads

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
        shapes = [str(word) for s in self.shapes for word in (s.name(), s.m, s.k, s.n, s.transposed)]
        done = subprocess.run(
            [self.program, self.path(), self.function, *shapes], check=True, capture_output=True, text=True,
            env=self.environment(), preexec_fn=lambda: kernels.keep_to(self.threads),
        )
        return measurement(self.shapes, json.loads(done.stdout))

    def settings(self):
        return {"threads": self.threads, "function": self.function}


class TorchProducts(Contender):
    """PyTorch's products of bf16 are oneDNN's."""

    def __init__(self, shapes, threads):
        self.shapes, self.threads = shapes, threads

    def measure(self, session):
        shapes = [f"{s.name()},{s.m},{s.k},{s.n},{s.transposed}" for s in self.shapes]
        done = subprocess.run(
            [sys.executable, kernels.HERE / "gemm_peer.py", str(self.threads), *shapes], check=True, capture_output=True, text=True,
            preexec_fn=lambda: kernels.keep_to(self.threads),
        )
        return measurement(self.shapes, json.loads(done.stdout))

    def settings(self):
        return {"threads": self.threads, "result": "where it was"}


def gemm_row(name, shapes, element, peers, peak, threads):
    cores = "one" if threads == 1 else "all"
    return Row(
        name=f"{name}-{threads}",
        unit="GFLOP/s",
        what=f"{len(shapes)} products of {element.name} matrices, {threads} threads: the geometric mean",
        flowc=Generated(shapes, element, threads),
        peers=peers,
        limit=lambda calibration, _medians: calibration[f"{peak}_{cores}"],
        limit_is=f"calibrated {element.name} peak of {cores}",
    )


def rows_of(threads):
    libraries = {name: LibraryProducts(library, SHAPES, threads) for name, library in LIBRARIES.items()}
    half = {name: LibraryProducts(library, HALF_SHAPES, threads) for name, library in HALF_LIBRARIES.items()}
    return [
        gemm_row("C11", SHAPES, F32, libraries, "fma_gflops", threads),
        gemm_row("C12", HALF_SHAPES, BF16, {"PyTorch": TorchProducts(HALF_SHAPES, threads), **half}, "bf16_gflops", threads),
    ]


ROWS = [row for threads in sorted({1, CORES}) for row in rows_of(threads)]
