"""Training steps in Keras on TensorFlow: `fit`, or functions over whole epochs, with and without XLA."""

import keras
import numpy
import tensorflow as tf

from tasks import CIFAR_DEVIATION, CIFAR_MEAN, CLASSES

layers = keras.layers


def mlp():
    return [layers.Rescaling(1 / 255), layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(CLASSES)]


def tiny():
    return [layers.Dense(64, activation="relu"), layers.Dense(CLASSES)]


def lenet():
    return [
        layers.Rescaling(1 / 255),
        layers.Conv2D(6, 5, padding="same", activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(16, 5, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(120, activation="relu"), layers.Dense(84, activation="relu"), layers.Dense(CLASSES),
    ]


def cnn():
    return [
        layers.Rescaling(1 / 255),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(128, activation="relu"), layers.Dense(CLASSES),
    ]


def normalised_convolution(x, filters, kernel, stride):
    x = layers.Conv2D(filters, kernel, stride, "same", use_bias=False, kernel_initializer="he_normal")(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def block(x, filters, stride):
    y = layers.ReLU()(normalised_convolution(x, filters, 3, stride))
    short = x if stride == 1 else normalised_convolution(x, filters, 1, stride)
    return layers.ReLU()(normalised_convolution(y, filters, 3, 1) + short)


def resnet20():
    first = keras.Input((32, 32, 3))
    x = layers.Rescaling(1 / 255)(first)
    x = layers.Normalization(mean=CIFAR_MEAN, variance=numpy.square(CIFAR_DEVIATION))(x)
    x = layers.ReLU()(normalised_convolution(x, 16, 3, 1))
    for filters in (16, 32, 64):
        for number in range(3):
            x = block(x, filters, 2 if filters > 16 and number == 0 else 1)
    return [keras.Model(first, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))]


MODELS = {"mlp": mlp, "tiny": tiny, "lenet": lenet, "cnn": cnn, "resnet20": resnet20}
OPTIMIZERS = {
    "sgd": keras.optimizers.SGD,
    "momentum": lambda rate: keras.optimizers.SGD(rate, momentum=0.9),
    "adam": lambda rate: keras.optimizers.Adam(rate, epsilon=1e-8),
}


def start(_setting):
    keras.utils.disable_interactive_logging()


class Training:
    def __init__(self, task, setting, data, seed):
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        self.task, self.data = task, data
        self.model = keras.Sequential(MODELS[task["model"]]())
        self.model.build((None, *data.x.shape[1:]))
        self.optimizer = OPTIMIZERS[task["optimizer"]](task["rate"])
        self.optimizer.build(self.model.trainable_variables)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.x, self.y = tf.constant(data.x), tf.constant(data.y)
        self.epoch = {"fit": self.fitted, "epoch": self.whole_epoch}[setting["form"]]
        if setting["form"] == "fit":
            self.model.compile(self.optimizer, self.loss)
        self.compiled = tf.function(self.steps, jit_compile=setting["XLA"], reduce_retracing=True)

    def fitted(self):
        """As tutorials write it."""
        history = self.model.fit(self.data.x, self.data.y, batch_size=self.task["batch"], verbose=0)
        return history.history["loss"][0]

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, self.model(x, training=True))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def steps(self, order):
        total = tf.constant(0.0)
        for number in tf.range(tf.shape(order)[0]):
            total += self.step(tf.gather(self.x, order[number]), tf.gather(self.y, order[number]))
        return total / tf.cast(tf.shape(order)[0], tf.float32)

    def whole_epoch(self):
        count = len(self.data.x) // self.task["batch"]
        order = numpy.random.permutation(len(self.data.x))[: count * self.task["batch"]]
        return self.compiled(tf.constant(order.reshape(count, -1))).numpy()

    def mean_loss(self):
        return float(self.epoch())

    def evaluate(self):
        """Mean loss (not counted here) and accuracy of the test data."""
        guess = numpy.concatenate([self.model(x).numpy().argmax(1) for x in numpy.array_split(self.data.test_x, 10)])
        return None, float((guess == self.data.test_y).mean())
