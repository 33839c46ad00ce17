"""The data of the rows that measure pipelines: real where there is some, else made of what the project
has; `what` says which."""

import dataclasses
import gzip
import io
import os
import pathlib
import tarfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = REPOSITORY / "examples" / "data"
REAL = pathlib.Path(os.environ.get("BENCH_DATA", REPOSITORY / "../shared/data")).resolve()

PHOTOS = 100
SHARDS, SHARD_IMAGES = 5, 10000
TABLES, TABLE_COPIES = 8, 9  # files, and how often each holds the 20,640 districts


@dataclasses.dataclass(frozen=True)
class Data:
    path: str  # a folder, or a pattern
    records: int
    size: int  # bytes of all files
    what: str


def sizes(files):
    return sum(file.stat().st_size for file in files)


def made_photo(number):
    """As large as usual photos, and about as hard to decode: waves with some noise."""
    import numpy
    from PIL import Image

    random = numpy.random.default_rng(number)
    y, x = numpy.mgrid[0:375, 0:500]
    waves = sum(
        numpy.sin(x[..., None] * random.normal(0, 0.05, 3) + y[..., None] * random.normal(0, 0.05, 3)) for _ in range(9)
    )
    pixels = 128 + 25 * waves + random.normal(0, 12, (375, 500, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def photos(scratch):
    folder, what = REAL / "photos", "photos of {}"
    if not folder.is_dir():
        folder, what = scratch / "photos", "made photos in {}: there are no real ones in " + str(REAL / "photos")
        folder.mkdir(exist_ok=True)
        for number in range(PHOTOS):
            path = folder / f"{number:03}.jpg"
            if not path.exists():
                made_photo(number).save(path, quality=93)
    files = sorted(folder.iterdir())
    return Data(str(folder), len(files), sizes(files), f"{len(files)} {what.format(folder)}")


def members(path):
    with tarfile.open(path) as tar:
        return [(member.name.split(".", 1), tar.extractfile(member).read()) for member in tar]


def make_shard(path, images):
    """The images again and again, under new names."""
    with tarfile.open(path, "w") as tar:
        for number in range(SHARD_IMAGES):
            for kind, content in images[number % len(images)].items():
                member = tarfile.TarInfo(f"{number:06}.{kind}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def cifar(scratch):
    files, what = sorted((REAL / "cifar10").glob("cifar10-train-*.tar")), "real"
    if not files:
        what = f"the 300 of the examples again and again: there are no real ones in {REAL / 'cifar10'}"
        images = {}
        for (name, kind), content in members(SHIPPED / "cifar10-sample.tar"):
            images.setdefault(name, {})[kind] = content
        files = [scratch / f"cifar10-train-{number:03}.tar" for number in range(SHARDS)]
        for file in files:
            if not file.exists():
                make_shard(file, list(images.values()))
    pattern = str(files[0].parent / "cifar10-train-*.tar")
    return Data(pattern, SHARDS * SHARD_IMAGES, sizes(files), f"{SHARDS * SHARD_IMAGES} images in {SHARDS} shards, {what}")


def table(scratch):
    header, *lines = gzip.decompress((SHIPPED / "housing.csv.gz").read_bytes()).splitlines(keepends=True)
    files = [scratch / f"housing-{number}.csv" for number in range(TABLES)]
    content = header + b"".join(lines) * TABLE_COPIES
    for file in files:
        if not file.exists() or file.stat().st_size != len(content):
            file.write_bytes(content)
    records = TABLES * TABLE_COPIES * len(lines)
    size = sizes(files)
    return Data(str(scratch / "housing-*.csv"), records, size,
                f"the {len(lines)} districts of the examples {TABLES * TABLE_COPIES} times, {size >> 20} MB in {TABLES} files")


def digits(_scratch):
    images = SHIPPED / "train-images-idx3-ubyte.gz"
    return Data(str(SHIPPED / "train-"), 60000, sizes([images]), "the 60000 digits of the examples")


KINDS = {"photos": photos, "cifar": cifar, "csv": table, "idx": digits}


def find(kind, scratch):
    return KINDS[kind](scratch)
