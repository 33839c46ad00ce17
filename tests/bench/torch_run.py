"""digits-run.flow written in PyTorch. Argument: task, setting, epochs, seed, where to save and where made data lies, as JSON."""

import json
import sys
import time

import torch

import tasks
import torch_steps


class Digits(torch.utils.data.Dataset):
    """A data set as tutorials write it: one record at a time."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index].float() / 255, self.labels[index]


class Loaded(torch_steps.Training):
    """Batches of a DataLoader."""

    def batches(self):
        return torch.utils.data.DataLoader(Digits(self.x, self.y), batch_size=self.work.task["batch"], shuffle=True)


def new_training(request):
    task, setting = request["task"], request["setting"]
    data = tasks.data_of(task, request["scratch"])
    if setting["input"] != "DataLoader":
        return torch_steps.Training(task, setting, data, request["seed"])
    training = Loaded(task, setting, data, request["seed"])
    training.work.keeps_prepared = True  # by the data set
    return training


def main():
    begin = time.perf_counter()
    request = json.loads(sys.argv[1])
    torch_steps.start(request["setting"])
    training = new_training(request)
    for _ in range(request["epochs"]):
        training.epoch()
        loss, accuracy = training.evaluate()
        torch.save(training.work.model.state_dict(), request["save"])
    seconds = time.perf_counter() - begin
    print(json.dumps({"test loss": loss, "accuracy": accuracy, "seconds without import": seconds}))


main()
