"""The rows that measure training steps, C1 to C4 and C6 to C10, and the whole run of one."""

import flowc_program
import tasks
import torch_peer
from flowc_program import Program
from graph_peers import JAX, KERAS
from peer import step_peers
from row import Row
from torch_peer import COMPILE, EAGER

DIGITS = 60000
TEST_DIGITS = 10000
EPOCHS = 3


def training_flops(first, others):
    """Of one record, from the multiply-adds of its way forward: weights' gradients and inputs' gradients cost the
    same each, and the first layer's input needs none."""
    return 2 * (3 * (first + others) - first)


RESNET_STAGES = [9 * 16 * 16 * 32**2 * 6, 9 * (16 * 32 + 5 * 32**2) * 16**2, 9 * (32 * 64 + 5 * 64**2) * 8**2]
RESNET_SHORT = 16 * 32 * 16**2 + 32 * 64 * 8**2

# What causal attention does not look at does not count.
GPT_TOKEN = (
    tasks.LAYERS * (12 * tasks.WIDTH**2 + 2 * tasks.WIDTH * tasks.CONTEXT // 2) + tasks.WIDTH * tasks.VOCABULARY
)

# Floating-point operations of a step for each record; of gpt for each token.
FLOPS = {
    "mlp": training_flops(784 * 128, 128 * 10),
    "tiny": training_flops(100 * 64, 64 * 10),
    "lenet": training_flops(25 * 6 * 28**2, 150 * 16 * 10**2 + 400 * 120 + 120 * 84 + 84 * 10),
    "cnn": training_flops(9 * 32 * 26**2, 288 * 64 * 11**2 + 1600 * 128 + 128 * 10),
    "resnet20": training_flops(27 * 16 * 32**2, sum(RESNET_STAGES) + RESNET_SHORT + 64 * 10),
    "gpt": training_flops(0, GPT_TOKEN),
}

ACCURACY_NEEDED = 0.97  # of 10,000 digits after three epochs of 60,000

# Between medians of five seeds: one seed's loss varies by 1 % with SGD, by 3.6 % with Adam.
LOSS_TOLERANCES = {"sgd": 0.05, "adam": 0.08, "momentum": 0.08, "adamw": 0.05}
# LeNet's, after 600 steps, has a standard deviation of 5.3 % (12 seeds, 0.136 to 0.163), and so one of 5 % has the
# difference of two medians of three seeds, which are enough to be judged.
LOSS_TOLERANCES_OF_MODELS = {"lenet": 0.13}


def same(rate):
    return rate


def tokens(rate):
    return rate * tasks.CONTEXT


def microseconds_per_step(batch):
    return lambda rate: 1e6 * batch / rate


def step_limit(task, in_unit, cores):
    """The record's arithmetic at the calibrated peak."""
    peak = "bf16_gflops" if task.get("precision") == "bf16" else "fma_gflops"
    records = tasks.CONTEXT if task["model"] == "gpt" else 1
    return lambda calibration, _medians: in_unit(calibration[f"{peak}_{cores}"] * 1e9 / FLOPS[task["model"]] / records)


def step_row(name, what, task, program, frameworks, unit="samples/s", in_unit=same, cores="all"):
    """in_unit: from records a second to the unit."""
    return Row(
        name=name,
        unit=unit,
        what=f"training step of {what}, batch {task['batch']}, {task['optimizer']}",
        flowc=flowc_program.StepRate(program, task, in_unit),
        peers=step_peers(frameworks, task, in_unit),
        limit=step_limit(task, in_unit, cores),
        limit_is=f"calibrated peak of {'all cores' if cores == 'all' else 'one core'} / {FLOPS[task['model']]} flops of a "
        + ("token" if task["model"] == "gpt" else "record"),
        loss_tolerance=LOSS_TOLERANCES_OF_MODELS.get(task["model"], LOSS_TOLERANCES[task["optimizer"]]),
        accuracy_needed=ACCURACY_NEEDED if task["model"] == "mlp" else 0,
        higher_is_better=unit.endswith("/s"),
    )


def mlp(name, batch, optimizer):
    # So that few steps of many records learn as much: Goyal et al., Accurate, Large Minibatch SGD, 2017.
    rate = {"sgd": 0.1 * batch / 32, "adam": 1e-3}[optimizer]
    task = {"model": "mlp", "batch": batch, "optimizer": optimizer, "rate": rate, "records": DIGITS}
    program = Program(f"digits-{optimizer}.flow", shaped=["batch", "rate"], evaluates=True)
    return step_row(name, "784-128-10 from u8 images in memory", task, program, [EAGER, COMPILE, JAX, KERAS])


def tiny():
    task = {"model": "tiny", "batch": 32, "optimizer": "sgd", "rate": 0.1, "records": tasks.POINTS}
    program = Program("tiny.flow", shaped=["batch", "rate"], files={"x": "tiny-x.npy", "y": "tiny-y.npy"})
    return step_row("C4", "100-64-10 from f32 in memory", task, program, [EAGER, COMPILE, JAX],
                    unit="us/step", in_unit=microseconds_per_step(32), cores="one")


def images(name, model, what, records, rate=0.05, optimizer="sgd", files=None):
    task = {"model": model, "batch": 64, "optimizer": optimizer, "rate": rate, "records": records}
    program = Program(f"{model}.flow", shaped=["batch", "rate", "records"], files=files)
    return step_row(name, what, task, program, [EAGER, COMPILE, JAX, KERAS])


def gpt(name, precision, block, frameworks):
    # An epoch is two steps: the first of them differ from seed to seed by more than losses may.
    task = {"model": "gpt", "batch": 8, "optimizer": "adamw", "rate": 1e-3, "records": 16, "precision": precision, "warm epochs": 12}
    program = Program("gpt.flow", block=block, shaped=["batch", "rate", "records"])
    what = f"a GPT of 6 layers, 6 heads, 384 features on 256 bytes, {precision}"
    return step_row(name, what, task, program, frameworks, unit="tokens/s", in_unit=tokens)


def run_limit(calibration, _medians):
    evaluation = 2 * (784 * 128 + 128 * 10) * TEST_DIGITS / DIGITS
    return calibration["fma_gflops_all"] * 1e9 / (FLOPS["mlp"] + evaluation)


def digits_run(batch):
    task = {"model": "mlp", "batch": batch, "optimizer": "adam", "rate": 1e-3, "records": DIGITS}
    return Row(
        name=f"digits-run-b{batch}",
        unit="samples/s",
        what=f"784-128-10 from the gzip files, batch {batch}: {EPOCHS} epochs, Adam, evaluated and saved "
        "after each; training samples over the whole process's time",
        flowc=flowc_program.WholeRun("digits-run.flow", EPOCHS * DIGITS),
        peers=torch_peer.run_peers(task, EPOCHS),
        limit=run_limit,
        loss_tolerance=LOSS_TOLERANCES["adam"],
        accuracy_needed=ACCURACY_NEEDED,
        limit_is="the arithmetic of steps and evaluations alone; decompression and start-up come on top",
    )


ROWS = [
    mlp("C1", 32, "sgd"),
    mlp("C2-b64", 64, "sgd"),
    mlp("C2-b256", 256, "sgd"),
    mlp("C3-b32", 32, "adam"),
    mlp("C3-b64", 64, "adam"),
    tiny(),
    images("C6", "lenet", "LeNet-5", 12800),
    images("C7", "cnn", "a network of two convolutions (32, 64) and 128 units", 6400),
    images("C8", "resnet20", "ResNet-20 on CIFAR-10", 640, rate=0.1, optimizer="momentum", files={"images": "cifar10.bin"}),
    gpt("C9", "f32", "single", [EAGER, COMPILE, JAX]),
    gpt("C10", "bf16", "half", [EAGER, COMPILE]),
    digits_run(64),
]
