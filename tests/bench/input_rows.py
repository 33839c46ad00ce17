"""The rows that measure pipelines, alone and beside a step."""

import flowc_input
import input_peer
from row import Row

PIXELS = 28 * 28


def bare_loop(_calibration, medians):
    return medians["bare loop"]["median"]


def read_digits(calibration, _medians):
    """Each pixel is read from memory as a byte; what is written stays in the caches."""
    return calibration["copy_gbs_all"] * 1e9 / PIXELS


def ideal(_calibration, medians):
    return medians["flowc"]["checks"]["ideal"]


def no_limit(_calibration, _medians):
    return None


def input_row(task, what, limit=no_limit, limit_is="none is known", flowc=None, unit="records/s", limits=None):
    return Row(
        name=task,
        unit=unit,
        what=f"{what}; batches of {input_peer.batch_of(task)}",
        flowc=flowc or flowc_input.InputRate(task),
        peers=input_peer.peers(task),
        limits=limits or {},
        limit=limit,
        limit_is=limit_is,
    )


ROWS = [
    input_row(
        "photos", "JPEG photos of any size, resized to 224 x 224, normalised, f32, in random order",
        flowc=flowc_input.Photos("photos"), limits={"bare loop": input_peer.BareLoop()}, limit=bare_loop,
        limit_is="libjpeg-turbo on all cores, and the same resize, to u8 and no further",
    ),
    input_row("cifar", "32 x 32 JPEG images and classes from tar shards, cut out, mirrored, normalised, f32, in random order"),
    input_row("csv", "a table of ten columns, with empty cells and a text, parsed in each epoch, in order"),
    input_row(
        "idx", "28 x 28 digits as f32, in random order", limit=read_digits,
        limit_is="calibrated copy bandwidth of all cores / 784 bytes; what is written stays in the caches",
    ),
    input_row(
        "overlap", "batches as in cifar, and a training step of 3072-256-10, SGD, with them on the same cores",
        flowc=flowc_input.Overlap(), limit=ideal,
        limit_is="1 / (1 / flowc's pipeline alone + 1 / flowc's step alone)",
    ),
]
