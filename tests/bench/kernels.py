"""flowc's kernels by themselves: the exports of a program, called by one thread or by a team."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parents[1]
LLVM = "/usr/lib/llvm-19/lib"
OPENMP = [f"{LLVM}/libomp.so", f"-Wl,-rpath,{LLVM}"]
KEPT = re.compile(r"the generated files are in (\S+)")


def timing_program(session, source):
    """An executable that times each export of the program."""
    name = pathlib.Path(source).stem
    library, program = session.scratch / f"{name}-library", session.scratch / f"{name}-kernels"
    done = subprocess.run(
        [session.build / "flowc", "export", source, "--target=native", "--keep", "-o", library],
        check=True, capture_output=True, text=True,
    )
    folder = pathlib.Path(KEPT.search(done.stderr)[1])
    objects = [path for path in folder.glob("*.o") if path.name not in (f"{name}.o", "interface.o")]
    runtime = session.build / "lib" / "flowc" / "libflowrt.a"
    subprocess.run(
        ["gcc", "-O2", "-march=native", "-std=gnu11", f"-I{REPOSITORY}", HERE / "kernel_timing.c", *objects, runtime,
         *OPENMP, "-l:libz.a", "-lm", "-lpthread", "-o", program], check=True,
    )
    shutil.rmtree(folder)
    return program


def seconds_of_exports(program, threads):
    done = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True, preexec_fn=lambda: keep_to(threads))
    return json.loads(done.stdout)


def keep_to(cores):
    """Of this process and what it starts."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


class Library:
    """What `flowc export` made, called from Python."""

    def __init__(self, path, weights=None):
        self.name = path.stem.removeprefix("lib").replace("-", "_")
        self.functions = ctypes.CDLL(str(path.resolve()))
        create = getattr(self.functions, f"{self.name}_create")
        create.restype = ctypes.c_void_p
        self.instance = ctypes.c_void_p(create(weights and bytes(weights), None, ctypes.c_size_t(0)))

    def call(self, export, *arrays):
        """The last array is the result."""
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        return getattr(self.functions, f"{self.name}_{export}")(self.instance, *pointers)


def library_of(session, source):
    """The library that timing_program left."""
    return Library(next((session.scratch / f"{pathlib.Path(source).stem}-library").glob("lib*.so")))
