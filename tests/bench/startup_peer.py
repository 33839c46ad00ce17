"""One step from nothing by a peer. Argument: module of the framework, task, setting and a file with one batch, as JSON."""

import importlib
import json
import sys

import numpy

import tasks

request = json.loads(sys.argv[1])
framework = importlib.import_module(request["module"])
framework.start(request["setting"])
batch = numpy.load(request["batch"])
training = framework.Training(request["task"], request["setting"], tasks.Data(batch["x"], batch["y"]), seed=1)
training.epoch()
