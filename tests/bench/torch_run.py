"""digits-run.flow written in PyTorch. Argument: task, setting, epochs, seed and where to save, as JSON."""

import json
import sys
import time

import torch

import torch_digits


class Digits(torch.utils.data.Dataset):
    """A data set as tutorials write it: one record at a time."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index].float() / 255, self.labels[index]


def training_batches(setting, images, labels, batch):
    if setting["input"] != "DataLoader":
        return torch_digits.input_batches(setting["input"], images, labels, batch)
    loader = torch.utils.data.DataLoader(Digits(images, labels), batch_size=batch, shuffle=True)
    return lambda: loader


def main():
    begin = time.perf_counter()
    request = json.loads(sys.argv[1])
    task, setting = request["task"], request["setting"]
    torch.manual_seed(request["seed"])
    torch_digits.set_denormals(setting["denormals"])
    torch_digits.set_threads(setting["threads"])
    batches = training_batches(setting, *torch_digits.read_set("train"), task["batch"])
    test = torch_digits.read_set("t10k")
    model = torch_digits.new_model()
    step = torch_digits.new_step(model, task, setting)
    for _ in range(request["epochs"]):
        for x, y in batches():
            step(x, y)
        loss, accuracy = torch_digits.evaluate(model, *test)
        torch.save(model.state_dict(), request["save"])
    seconds = time.perf_counter() - begin
    print(json.dumps({"test loss": loss, "accuracy": accuracy, "seconds without import": seconds}))


main()
