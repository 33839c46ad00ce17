"""The pipelines of input-*.flow as PyTorch's DataLoader makes their batches. Argument: see
input_timing.run."""

import csv
import glob
import io
import tarfile
import warnings

import numpy
import pandas
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2

import input_timing
import tasks

warnings.filterwarnings("ignore")
PLACES = ["<1H OCEAN", "INLAND", "NEAR OCEAN", "NEAR BAY", "ISLAND"]
NUMBERS = ["longitude", "latitude", "housing_median_age", "total_rooms", "total_bedrooms", "population", "households", "median_income"]


class EndlessBatches(torch.utils.data.Sampler):
    """Batches of indices, epoch after epoch; no tensors where they go to other processes, which is slow."""

    def __init__(self, records, batch, shuffled, travel):
        self.records, self.batch, self.shuffled, self.travel = records, batch, shuffled, travel

    def __iter__(self):
        while True:
            order = torch.randperm(self.records) if self.shuffled else torch.arange(self.records)
            for numbers in order.split(self.batch):
                yield numbers.numpy() if self.travel else numbers


def normalised(images, mean, deviation):
    """u8[B, C, H, W] to f32."""
    mean, deviation = (torch.tensor(numbers).view(1, 3, 1, 1) * 255 for numbers in (mean, deviation))
    return (images.float() - mean).div_(deviation)


# ---- Photos ----

PHOTO_COLOURS = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Photos(torch.utils.data.Dataset):
    def __init__(self, request):
        self.files = sorted(glob.glob(request["path"] + "/*"), key=lambda name: name.encode())
        self.decoder = request["setting"].get("decoder")
        self.usual = v2.Compose([v2.Resize((224, 224)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*PHOTO_COLOURS)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        """As tutorials write it."""
        return self.usual(Image.open(self.files[index]).convert("RGB")), 0

    def pixels(self, index):
        if self.decoder == "PIL":
            image = Image.open(self.files[index]).convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
            return torch.from_numpy(numpy.array(image)).permute(2, 0, 1)
        image = torchvision.io.decode_jpeg(torchvision.io.read_file(self.files[index]), mode=torchvision.io.ImageReadMode.RGB)
        return v2.functional.resize(image, [224, 224], antialias=True)


class PhotoBatches(Photos):
    """Resized one by one, normalised together."""

    def __getitem__(self, indices):
        return normalised(torch.stack([self.pixels(i) for i in indices]), *PHOTO_COLOURS), 0


# ---- Images in tar shards ----

CIFAR_COLOURS = [0.4914, 0.4822, 0.4465], [0.247, 0.243, 0.262]


def augmentation():
    return v2.Compose([v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*CIFAR_COLOURS)])


def samples(shard):
    with tarfile.open(shard) as tar:
        parts = {}
        for member in tar:
            parts[member.name.split(".", 1)[1]] = tar.extractfile(member).read()
            if len(parts) == 2:
                yield parts["jpg"], int(parts["cls"])
                parts = {}


class Shards(torch.utils.data.IterableDataset):
    """As WebDataset does it: each worker its shards one after the other, a window that is shuffled."""

    def __init__(self, request):
        self.files, self.augment = sorted(glob.glob(request["path"])), augmentation()

    def mine(self):
        worker = torch.utils.data.get_worker_info()
        return self.files[worker.id :: worker.num_workers] if worker else self.files

    def __iter__(self):
        window = []
        while True:
            for shard in self.mine():
                for sample in samples(shard):
                    window.append(sample)
                    if len(window) < 1000:
                        continue
                    chosen = torch.randint(len(window), ()).item()
                    window[chosen], window[-1] = window[-1], window[chosen]
                    content, label = window.pop()
                    yield self.augment(Image.open(io.BytesIO(content)).convert("RGB")), label


def varied(images):
    """A batch u8[B, 3, 32, 32], normalised, each image cut out at a place of its own and mirrored or
    not."""
    count = len(images)
    wide = torch.nn.functional.pad(normalised(images, *CIFAR_COLOURS), (4, 4, 4, 4))
    rows = torch.arange(32) + torch.randint(9, (count, 1))
    columns = torch.arange(32) + torch.randint(9, (count, 1))
    columns = torch.where(torch.rand(count, 1) < 0.5, columns.flip(1), columns)
    return wide[torch.arange(count)[:, None, None], :, rows[:, :, None], columns[:, None, :]]


class IndexedShards(torch.utils.data.Dataset):
    """Knows where each image lies in the shards, which are mapped into memory."""

    def __init__(self, request):
        self.maps = [numpy.memmap(file, mode="r") for file in sorted(glob.glob(request["path"]))]
        self.places = [place for number, file in enumerate(sorted(glob.glob(request["path"]))) for place in self.index(number, file)]

    @staticmethod
    def index(number, file):
        with tarfile.open(file) as tar:
            found = {}
            for member in tar:
                name, kind = member.name.split(".", 1)
                found.setdefault(name, {})[kind] = (number, member.offset_data, member.size)
        return [(parts["jpg"], parts["cls"]) for parts in found.values()]

    def content(self, place):
        number, offset, size = place
        return self.maps[number][offset : offset + size]

    def __getitem__(self, indices):
        places = [self.places[i] for i in indices]
        images = [torchvision.io.decode_jpeg(torch.from_numpy(self.content(jpg).copy())) for jpg, _ in places]
        labels = torch.tensor([int(self.content(cls).tobytes()) for _, cls in places])
        return varied(torch.stack(images)), labels

    def __len__(self):
        return len(self.places)


# ---- Tables ----


class Table(torch.utils.data.IterableDataset):
    """Each worker its files, in chunks of rows."""

    def __init__(self, request):
        self.files, self.batch, self.setting = sorted(glob.glob(request["path"])), request["batch"], request["setting"]

    def mine(self):
        worker = torch.utils.data.get_worker_info()
        return self.files[worker.id :: worker.num_workers] if worker else self.files

    def chunks(self):
        types = {name: "float32" for name in NUMBERS + ["median_house_value"]}
        place = pandas.CategoricalDtype(PLACES)
        while True:
            for file in self.mine():
                yield from pandas.read_csv(file, dtype=types | {"ocean_proximity": place}, chunksize=self.setting["rows"])

    def __iter__(self):
        for chunk in self.chunks():
            x = torch.from_numpy(chunk[NUMBERS].fillna({"total_bedrooms": 435}).to_numpy("float32", copy=True))
            place = torch.from_numpy(chunk["ocean_proximity"].cat.codes.to_numpy("int32", copy=True))
            y = torch.from_numpy(chunk["median_house_value"].to_numpy(copy=True))
            yield from zip(x.split(self.batch), place.split(self.batch), y.split(self.batch))


class Rows(Table):
    """As tutorials write it, by the standard library."""

    def __iter__(self):
        codes = {name: code for code, name in enumerate(PLACES)}
        while True:
            for file in self.mine():
                with open(file, newline="") as lines:
                    for row in csv.DictReader(lines):
                        x = [float(row[name] or 435) for name in NUMBERS]
                        yield torch.tensor(x), codes[row["ocean_proximity"]], float(row["median_house_value"])


# ---- Digits ----


class Digits(torch.utils.data.Dataset):
    def __init__(self, request):
        digits = tasks.digits(None)
        self.images, self.labels = torch.from_numpy(digits.x.reshape(-1, 784)), torch.from_numpy(digits.y)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, indices):
        """Of one record, as tutorials write it, or of a batch."""
        return self.images[indices].float() / 255, self.labels[indices]


# ---- Loaders ----

USUAL = {"photos": Photos, "cifar": Shards, "csv": Rows, "idx": Digits}
BEST = {"photos": PhotoBatches, "cifar": IndexedShards, "csv": Table, "idx": Digits}


def task_of(request):
    return "cifar" if request["task"] == "overlap" else request["task"]


def epochs(loader):
    while True:
        yield from loader


def as_installed(request):
    data = USUAL[task_of(request)](request)
    shuffle = None if isinstance(data, torch.utils.data.IterableDataset) else True
    return torch.utils.data.DataLoader(data, batch_size=request["batch"], shuffle=shuffle)


def at_best(request, shuffled):
    setting, data = request["setting"], BEST[task_of(request)](request)
    options = {"num_workers": setting["workers"], "batch_size": None}
    if not isinstance(data, torch.utils.data.IterableDataset):
        options["sampler"] = EndlessBatches(len(data), request["batch"], shuffled, setting["workers"] > 0)
    if setting["workers"]:
        options |= {"persistent_workers": True, "prefetch_factor": setting.get("ahead", 2)}
    return torch.utils.data.DataLoader(data, **options)


def endless(request, shuffled):
    setting = request["setting"]
    if setting.get("threads"):
        torch.set_num_threads(setting["threads"])
    return epochs(as_installed(request) if setting["usual"] else at_best(request, shuffled))


# ---- A step ----


def new_step(setting):
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch):
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()

    return step


input_timing.run(endless, new_step)
