"""A PyTorch process that measures steps: one request a line on standard input (JSON), one answer a
line on standard output. Argument: what becomes of denormal numbers."""

import json
import sys
import time
import traceback

import torch

import torch_digits

WARM_EPOCHS = 3
WARM_STEPS = 100


def timed_rate(step, batches, seconds):
    """Samples a second over whole epochs."""
    samples, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for x, y in batches():
            step(x, y)
            samples += len(y)
    return samples / (time.perf_counter() - begin)


def warm_up(step, batches, check):
    """The mean loss of the last warm epoch where it is to be checked."""
    if check:
        return [torch_digits.mean_loss(step, batches()) for _ in range(WARM_EPOCHS)][-1]
    for _, (x, y) in zip(range(WARM_STEPS), batches()):
        step(x, y)
    return None


class Measurer:
    def __init__(self):
        self.train = torch_digits.read_set("train")
        self.test = torch_digits.read_set("t10k")

    def answer(self, request):
        torch.compiler.reset()
        torch.manual_seed(request["seed"])
        task, setting = request["task"], request["setting"]
        torch_digits.set_threads(setting["threads"])
        model = torch_digits.new_model()
        step = torch_digits.new_step(model, task, setting)
        batches = torch_digits.input_batches(setting["input"], *self.train, task["batch"])
        loss = warm_up(step, batches, request["check"])
        rate = timed_rate(step, batches, request["seconds"])
        if loss is None:
            return {"rate": rate}
        return {"rate": rate, "loss": loss, "accuracy": torch_digits.evaluate(model, *self.test)[1]}


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr  # so that nothing else is taken for an answer
    torch_digits.set_denormals(sys.argv[1])
    measurer = Measurer()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = measurer.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
