"""Whole processes, timed and weighed."""

import pathlib
import statistics
import subprocess
import time


def run(command, **options):
    """Seconds from start to end, and what was printed."""
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout[-500:]}")
    return seconds, done.stdout


def median_milliseconds(command, times, **options):
    return 1e3 * statistics.median(run(command, **options)[0] for _ in range(times))


def resident(session, command, **options):
    """The most MB that were resident, and what was printed."""
    program, result = session.scratch / "resident", session.scratch / "resident.txt"
    source = pathlib.Path(__file__).with_name("resident.c")
    subprocess.run(["gcc", "-O2", "-std=gnu11", source, "-o", program], check=True)
    _, printed = run([program.resolve(), result.resolve(), *command], **options)
    return int(result.read_text()) / 1024, printed
