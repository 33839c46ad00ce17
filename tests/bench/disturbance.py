"""How busy the machine's cores were with other work than ours while something was measured, and
measuring again when that was much."""

import os
import pathlib
import resource
import time

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
LIMIT = 0.05  # others with more than this part of the cores' time make a measurement doubtful
TRIES = 4
LOOK_SECONDS = 0.5


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


class Quiet:
    """Measures in a quiet machine, as far as its patience (in seconds) lasts."""

    def __init__(self, processes):
        self.processes, self.patience = processes, 0.0

    def wait(self):
        while self.patience > 0:
            watch = Watch(self.processes())
            time.sleep(LOOK_SECONDS)
            if watch.share() <= LIMIT:
                return
            self.patience -= LOOK_SECONDS

    def measure_once(self, measure):
        watch = Watch(self.processes())
        result = measure()
        return watch.share(), result

    def measure(self, measure):
        """The share of others and the result of the least disturbed try, whatever the results are."""
        tries = [self.measure_once(measure)]
        while tries[-1][0] > LIMIT and len(tries) < TRIES and self.patience > 0:
            self.wait()
            begin = time.perf_counter()
            tries.append(self.measure_once(measure))
            self.patience -= time.perf_counter() - begin
        return min(tries, key=lambda one: one[0])
