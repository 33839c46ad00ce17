"""How busy the machine's cores were with other work than ours while something was measured, how far
apart they were, and measuring again when either was much."""

import dataclasses
import os
import pathlib
import resource
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
LIMIT = 0.05  # others with more than this part of the cores' time make a measurement doubtful,
FAR = 3  # and so do cores that are so many times farther apart than they once were
TRIES = 4
LOOK_SECONDS, WAIT_SECONDS = 0.5, 10


def busy_seconds():
    """Of all cores since boot; what the host took from us counts."""
    line = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0]
    user, nice, system, _, _, interrupt, softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + interrupt + softirq + steal) / TICKS


def process_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def own_seconds(processes):
    """Of this process, its ended children and those that still run."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return ended + sum(process_seconds(process) for process in processes)


class Watch:
    """From its making on. The processes that run then must still run when it is read, and none
    may have been added that runs on."""

    def __init__(self, processes):
        self.processes = processes
        self.begin, self.busy, self.own = time.perf_counter(), busy_seconds(), own_seconds(processes)

    def share(self):
        """0 … 1: the part of all cores' time that went to others."""
        others = (busy_seconds() - self.busy) - (own_seconds(self.processes) - self.own)
        return max(0.0, others / (time.perf_counter() - self.begin) / CORES)


@dataclasses.dataclass(frozen=True)
class Disturbance:
    others: float = 0.0  # the part of the cores' time that others took
    distance: float = 0.0  # nanoseconds from core to core and back (distance.c), before or after: the longer


class Quiet:
    """Measures in a quiet machine, as far as its patience (in seconds) lasts. program: of distance.c; the shortest distance
    of all runs is kept beside it."""

    def __init__(self, processes, program):
        self.processes, self.program, self.patience = processes, program, 0.0
        self.kept = program.with_suffix(".nearest")
        self.nearest = float(self.kept.read_text()) if self.kept.exists() else float("inf")

    def distance(self):
        found = float(subprocess.run([self.program], check=True, capture_output=True, timeout=60).stdout)
        if found < self.nearest:
            self.nearest = found
            self.kept.write_text(f"{found}\n")
        return found

    def is_far(self, disturbance):
        return disturbance.distance > FAR * self.nearest

    def is_doubtful(self, disturbance):
        return disturbance.others > LIMIT or self.is_far(disturbance)

    def severity(self, disturbance):
        far = disturbance.distance / (FAR * self.nearest) if self.is_far(disturbance) else 0
        return max(disturbance.others / LIMIT, far)

    def remark(self, disturbance):
        others = f"  (others took {disturbance.others:.0%})" if disturbance.others > LIMIT else ""
        far = f"  (cores were {disturbance.distance:.0f} ns apart)" if self.is_far(disturbance) else ""
        return others + far

    def wait(self):
        end = max(self.patience - WAIT_SECONDS, 0)
        while self.patience > end:
            watch, before = Watch(self.processes()), self.distance()
            time.sleep(LOOK_SECONDS)
            if not self.is_doubtful(Disturbance(watch.share(), max(before, self.distance()))):
                return
            self.patience -= LOOK_SECONDS

    def measure_once(self, measure):
        before, watch = self.distance(), Watch(self.processes())
        result = measure()
        share = watch.share()
        return Disturbance(share, max(before, self.distance())), result

    def measure(self, measure):
        """The disturbance and the result of the least disturbed try, whatever the results are."""
        tries = [self.measure_once(measure)]
        while self.is_doubtful(tries[-1][0]) and len(tries) < TRIES and self.patience > 0:
            self.wait()
            begin = time.perf_counter()
            tries.append(self.measure_once(measure))
            self.patience -= time.perf_counter() - begin
        return min(tries, key=lambda one: self.severity(one[0]))
