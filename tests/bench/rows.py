"""The rows of the benchmark. README.md says how to add one."""

import flowc_program
import input_rows
import torch_peer
from row import Row

IMAGES = 60000
TEST_IMAGES = 10000
EPOCHS = 3
MULTIPLY_ADDS = 784 * 128 + 128 * 10  # of one image forward
FORWARD_FLOPS = 2 * MULTIPLY_ADDS
# Forward, weight gradients and input gradients cost the same each; images need no gradient.
STEP_FLOPS = 3 * FORWARD_FLOPS - 2 * 784 * 128

# Between medians of five seeds: one seed's loss varies by 1 % with SGD, by 3.6 % with Adam.
LOSS_TOLERANCES = {"sgd": 0.05, "adam": 0.08}


def peak(calibration):
    return calibration["fma_gflops_all"] * 1e9


def step_limit(calibration, _medians):
    return peak(calibration) / STEP_FLOPS


def run_limit(calibration, _medians):
    evaluation = FORWARD_FLOPS * TEST_IMAGES / IMAGES
    return peak(calibration) / (STEP_FLOPS + evaluation)


def digits_step(batch, optimizer, rate):
    task = {"batch": batch, "optimizer": optimizer, "rate": rate}
    return Row(
        name=f"digits-step-b{batch}-{optimizer}",
        unit="samples/s",
        what=f"training step of 784-128-10 from u8 images in memory, batch {batch}, {optimizer}",
        flowc=flowc_program.StepRate(f"digits-{optimizer}.flow", batch, IMAGES),
        peers=torch_peer.step_peers(task),
        limit=step_limit,
        loss_tolerance=LOSS_TOLERANCES[optimizer],
        limit_is="calibrated fp32 peak of all cores / (3·2·(784·128 + 128·10) - 2·784·128) flops",
    )


def digits_run(batch):
    return Row(
        name=f"digits-run-b{batch}",
        unit="samples/s",
        what=f"784-128-10 from the gzip files, batch {batch}: {EPOCHS} epochs, Adam, evaluated and saved "
        "after each; training samples over the whole process's time",
        flowc=flowc_program.WholeRun("digits-run.flow", EPOCHS * IMAGES),
        peers=torch_peer.run_peers({"batch": batch, "optimizer": "adam", "rate": 1e-3}, EPOCHS),
        limit=run_limit,
        loss_tolerance=LOSS_TOLERANCES["adam"],
        limit_is="the arithmetic of steps and evaluations alone; decompression and start-up come on top",
    )


ROWS = [
    digits_step(32, "sgd", 0.1),
    digits_step(64, "sgd", 0.1),
    digits_step(32, "adam", 1e-3),
    digits_step(64, "adam", 1e-3),
    digits_run(64),
    *input_rows.ROWS,
]
