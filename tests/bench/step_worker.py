"""A process of a peer that measures training steps: one request a line on standard input (JSON), one answer a line
on standard output. Argument: the module of the framework, what holds for the whole process, and where made data lies."""

import importlib
import json
import os
import sys
import time
import traceback


def timed_rate(training, epoch_samples, seconds):
    """Samples a second over whole epochs."""
    epochs, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        training.epoch()
        epochs += 1
    return epochs * epoch_samples / (time.perf_counter() - begin)


def answer(framework, tasks, scratch, request):
    task = request["task"]
    data = tasks.data_of(task, scratch)
    training = framework.Training(task, request["setting"], data, request["seed"])
    epoch_samples = len(data.x) // task["batch"] * task["batch"]
    if not request["check"]:
        training.epoch()
        return {"rate": timed_rate(training, epoch_samples, request["seconds"])}
    loss = [training.mean_loss() for _ in range(tasks.warm_epochs(task))][-1]
    found = {"rate": timed_rate(training, epoch_samples, request["seconds"]), "loss": loss}
    return found if data.test_x is None else found | {"accuracy": training.evaluate()[1]}


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr  # so that nothing else is taken for an answer
    begin = json.loads(sys.argv[1])
    if begin["setting"].get("cores"):
        os.sched_setaffinity(0, range(begin["setting"]["cores"]))  # before the framework counts them
    framework, tasks = importlib.import_module(begin["module"]), importlib.import_module("tasks")
    framework.start(begin["setting"])
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        try:
            reply = answer(framework, tasks, begin["scratch"], json.loads(line))
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
