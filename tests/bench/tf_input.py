"""The pipelines of input-*.flow as tf.data makes their batches. Argument: see input_timing.run."""

import glob
import gzip
import os
import pathlib
import tarfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy
import tensorflow as tf

import input_timing

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
AUTOTUNE = tf.data.AUTOTUNE
WINDOW = 1000  # of shuffles over what can't be counted
PLACES = ["<1H OCEAN", "INLAND", "NEAR OCEAN", "NEAR BAY", "ISLAND"]


def normalised(images, mean, deviation):
    return (images - tf.constant(mean) * 255) / (tf.constant(deviation) * 255)


# ---- Photos ----

PHOTO_COLOURS = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def photo(path, usual):
    """As tutorials write it; or with Pillow's pixels."""
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="" if usual else "INTEGER_ACCURATE")
    image = tf.image.resize(image, (224, 224), antialias=not usual)
    return normalised(image, *PHOTO_COLOURS), 0


def photos(request, shuffled):
    files = sorted(glob.glob(request["path"] + "/*"), key=lambda name: name.encode())
    paths = tf.data.Dataset.from_tensor_slices(files)
    if shuffled:
        paths = paths.shuffle(len(files))
    return paths.repeat().map(lambda path: photo(path, request["setting"]["usual"]), AUTOTUNE).batch(request["batch"])


# ---- Images in tar shards ----

CIFAR_COLOURS = [0.4914, 0.4822, 0.4465], [0.247, 0.243, 0.262]


def index(file, base):
    """Where in all shards, put together, an image and its label lie: begin and size of each."""
    with tarfile.open(file) as tar:
        found = {}
        for member in tar:
            name, kind = member.name.split(".", 1)
            found.setdefault(name, {})[kind] = (base + member.offset_data, member.size)
    return [(*parts["jpg"], *parts["cls"]) for parts in found.values()]


def samples(file):
    """As it is usually done: Python reads the archive."""
    with tarfile.open(file) as tar:
        parts = {}
        for member in tar:
            parts[member.name.split(".", 1)[1]] = tar.extractfile(member).read()
            if len(parts) == 2:
                yield parts["jpg"], int(parts["cls"])
                parts = {}


def generated(files):
    kinds = (tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int32))

    def shard(file):
        return tf.data.Dataset.from_generator(lambda name: samples(name.decode()), args=(file,), output_signature=kinds)

    names = tf.data.Dataset.from_tensor_slices(files).repeat()
    return names.interleave(shard, cycle_length=len(files), num_parallel_calls=AUTOTUNE).shuffle(WINDOW)


def indexed(files):
    """It knows where each image lies in the shards, which are held in memory."""
    content, places = b"", []
    for file in files:
        places += index(file, len(content))
        content += pathlib.Path(file).read_bytes()
    content, places = tf.constant(content), tf.constant(places)

    def cut(number):
        at, size, label_at, label_size = tf.unstack(places[number], 4)
        label = tf.strings.to_number(tf.strings.substr(content, label_at, label_size), tf.int32)
        return tf.strings.substr(content, at, size), label

    count = len(places)
    return tf.data.Dataset.range(count).shuffle(count).repeat(), cut


def pixels(content):
    image = tf.io.decode_jpeg(content, channels=3)
    image.set_shape((32, 32, 3))
    return image


def varied_one(image):
    image = tf.pad(normalised(tf.cast(image, tf.float32), *CIFAR_COLOURS), ((4, 4), (4, 4), (0, 0)))
    return tf.image.random_flip_left_right(tf.image.random_crop(image, (32, 32, 3)))


def varied(images):
    """A batch, each image cut out at a place of its own and mirrored or not."""
    count = tf.shape(images)[0]
    wide = tf.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)), constant_values=0)
    inside = tf.pad(tf.ones_like(images[..., :1], tf.float32), ((0, 0), (4, 4), (4, 4), (0, 0)))
    wide = normalised(tf.cast(wide, tf.float32), *CIFAR_COLOURS) * inside
    rows = tf.range(32) + tf.random.uniform((count, 1), 0, 9, tf.int32)
    columns = tf.range(32) + tf.random.uniform((count, 1), 0, 9, tf.int32)
    columns = tf.where(tf.random.uniform((count, 1)) < 0.5, columns[:, ::-1], columns)
    return tf.gather(tf.gather(wide, rows, axis=1, batch_dims=1), columns, axis=2, batch_dims=1)


def cifar(request, _shuffled):
    files, setting = sorted(glob.glob(request["path"])), request["setting"]
    if setting["usual"]:
        return generated(files).map(lambda x, y: (varied_one(pixels(x)), y), AUTOTUNE).batch(request["batch"])
    numbers, cut = indexed(files)

    def record(number):
        content, label = cut(number)
        return (pixels(content), label) if setting["augments"] == "batches" else (varied_one(pixels(content)), label)

    batches = numbers.map(record, AUTOTUNE, deterministic=False).batch(request["batch"])
    if setting["augments"] == "batches":
        batches = batches.map(lambda x, y: (varied(x), y), AUTOTUNE, deterministic=False)
    return batches


# ---- Tables ----


def filled(numbers):
    return [tf.where(tf.math.is_nan(n), 435.0, n) for n in numbers]


def fields(cells, places, axis):
    *numbers, value, place = cells
    numbers = filled(numbers)
    return tf.stack(numbers, axis), places.lookup(place), value


def table(request, _shuffled):
    files, setting = sorted(glob.glob(request["path"])), request["setting"]
    codes = tf.lookup.KeyValueTensorInitializer(tf.constant(PLACES), tf.range(5))
    places = tf.lookup.StaticHashTable(codes, -1)
    defaults = [[float("nan")]] * 9 + [[""]]
    names = tf.data.Dataset.from_tensor_slices(files).repeat()
    if setting["usual"]:
        rows = names.interleave(lambda file: tf.data.experimental.CsvDataset(file, defaults, header=True), num_parallel_calls=AUTOTUNE)
        return rows.map(lambda *cells: fields(cells, places, 0), AUTOTUNE).batch(request["batch"])

    def lines_of(file):
        return tf.data.TextLineDataset(file, buffer_size=1 << 20).skip(1).batch(setting["rows"])

    def parsed(lines):
        return fields(tf.io.decode_csv(lines, defaults), places, 1)

    chunks = names.interleave(lines_of, cycle_length=setting["files"], num_parallel_calls=AUTOTUNE, deterministic=False)
    batches = chunks.map(parsed, AUTOTUNE, deterministic=False)
    return batches if setting["rows"] == request["batch"] else batches.rebatch(request["batch"])


# ---- Digits ----


def read_idx(name, header):
    content = gzip.decompress((DIGITS / f"train-{name}-ubyte.gz").read_bytes())
    return numpy.frombuffer(content, numpy.uint8, offset=header)


def as_floats(images, labels):
    return tf.cast(images, tf.float32) / 255, labels


def orders(count, batch):
    """The numbers of each batch's records: an order of all for each epoch, cut into batches."""
    whole = count // batch * batch

    def order(_epoch):
        numbers = tf.random.shuffle(tf.range(count))[:whole]
        return tf.data.Dataset.from_tensor_slices(tf.reshape(numbers, (-1, batch)))

    return tf.data.Dataset.counter().flat_map(order)


def digits(request, _shuffled):
    images, labels = read_idx("images-idx3", 16).reshape(-1, 784), read_idx("labels-idx1", 8)
    count, batch, setting = len(labels), request["batch"], request["setting"]
    if setting["usual"] or setting["shuffles"] == "records":
        records = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(count).repeat()
        if setting["usual"]:
            return records.map(as_floats, AUTOTUNE).batch(batch)
        return records.batch(batch).map(as_floats, AUTOTUNE, deterministic=False)
    images, labels = tf.constant(images), tf.constant(labels)
    if setting["shuffles"] == "orders":
        numbers = orders(count, batch)
    else:
        numbers = tf.data.Dataset.range(count).shuffle(count).repeat().batch(batch)
    return numbers.map(lambda n: as_floats(tf.gather(images, n), tf.gather(labels, n)), AUTOTUNE, deterministic=False)


# ---- Data sets ----

TASKS = {"photos": photos, "cifar": cifar, "overlap": cifar, "csv": table, "idx": digits}


def endless(request, shuffled):
    setting = request["setting"]
    data = TASKS[request["task"]](request, shuffled)
    options = tf.data.Options()
    if setting.get("threads"):
        options.threading.private_threadpool_size = setting["threads"]
    options.deterministic = not shuffled or setting["usual"]
    return iter(data.with_options(options).prefetch(AUTOTUNE))


# ---- A step ----


def new_step(setting):
    model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Flatten(), keras.layers.Dense(256, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if setting["step"] == "Keras":
        model.compile(keras.optimizers.SGD(0.01), loss)
        return lambda batch: model.train_on_batch(*batch)
    rate = 0.01

    @tf.function(jit_compile=setting["step"] == "XLA")
    def step(x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x)))
        weights = model.trainable_weights
        for weight, gradient in zip(weights, tape.gradient(value, weights)):
            weight.assign_sub(rate * gradient)

    return lambda batch: step(*batch)


input_timing.run(endless, new_step)
