"""What steps are measured on: the data of each model as arrays, for peers of any framework. A task is {"model",
"batch", "optimizer", "rate", "records", "precision", "warm epochs"}; those that may be left out: the last two."""

import dataclasses
import gzip
import io
import itertools
import pathlib

import numpy

import input_data

SHIPPED = input_data.SHIPPED
CLASSES = 10
CONTEXT, VOCABULARY, WIDTH, HEADS, LAYERS = 256, 128, 384, 6, 6  # of gpt
CIFAR_MEAN, CIFAR_DEVIATION = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.262)
POINTS = 60000


def warm_epochs(task):
    """The mean loss of the last of them is compared; behind it begins what is timed."""
    return task.get("warm epochs", 3)


@dataclasses.dataclass(frozen=True)
class Data:
    x: numpy.ndarray
    y: numpy.ndarray
    test_x: numpy.ndarray = None
    test_y: numpy.ndarray = None


def read_idx(name, header):
    content = gzip.decompress((SHIPPED / name).read_bytes())
    return numpy.frombuffer(bytearray(content), numpy.uint8, offset=header)


def digits(_scratch):
    """u8[n, 28, 28, 1]."""
    read = lambda name: (read_idx(f"{name}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1),
                         read_idx(f"{name}-labels-idx1-ubyte.gz", 8).astype(numpy.int64))
    return Data(*read("train"), *read("t10k"))


def points(scratch):
    """Made, f32[n, 100]: the class is the largest of ten random sums."""
    x, y = (scratch / f"tiny-{name}.npy" for name in "xy")
    if not y.exists():
        random = numpy.random.default_rng(1)
        features = random.standard_normal((POINTS, 100), dtype=numpy.float32)
        numpy.save(x, features)
        numpy.save(y, (features @ random.standard_normal((100, CLASSES))).argmax(1).astype(numpy.uint8))
    return Data(numpy.load(x), numpy.load(y).astype(numpy.int64))


RECORD_BYTES = 1 + 32 * 32 * 3  # its class, its pixels


def decoded(images):
    """A byte of the class and the pixels of each."""
    from PIL import Image

    for image in images.values():
        yield bytes([int(image["cls"])]) + Image.open(io.BytesIO(image["jpg"])).tobytes()


def photos_file(scratch):
    """Ten thousand images of CIFAR-10, decoded; or those of the examples, again and again."""
    path, count = scratch / "cifar10.bin", input_data.SHARD_IMAGES
    if not path.exists() or path.stat().st_size != count * RECORD_BYTES:
        shards = sorted((input_data.REAL / "cifar10").glob("cifar10-train-*.tar"))
        images = {}
        for (name, kind), content in input_data.members((shards or [SHIPPED / "cifar10-sample.tar"])[0]):
            images.setdefault(name, {})[kind] = content
        again = itertools.cycle(list(decoded(images)))
        path.write_bytes(b"".join(itertools.islice(again, count)))
    return path


def photos(scratch):
    """u8[n, 32, 32, 3]."""
    records = numpy.fromfile(photos_file(scratch), numpy.uint8).reshape(-1, RECORD_BYTES)
    return Data(records[:, 1:].reshape(-1, 32, 32, 3).copy(), records[:, 0].astype(numpy.int64))


def windows(_scratch):
    """Bytes and those that follow them, i64[n, 256]."""
    text = numpy.frombuffer(gzip.decompress((SHIPPED / "tinyshakespeare.txt.gz").read_bytes()), numpy.uint8)
    count = (len(text) - 1) // CONTEXT
    cut = lambda first: text[first : first + count * CONTEXT].reshape(count, CONTEXT).astype(numpy.int64)
    return Data(cut(0), cut(1))


DATA = {"mlp": digits, "lenet": digits, "cnn": digits, "tiny": points, "resnet20": photos, "gpt": windows}


def data_of(task, scratch):
    whole = DATA[task["model"]](pathlib.Path(scratch))
    records = task.get("records", len(whole.x))
    return dataclasses.replace(whole, x=whole.x[:records], y=whole.y[:records])
