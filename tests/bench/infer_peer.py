"""The model of digits-infer.flow, one digit a call, by a peer. Arguments: which, whether at its best, weights and digits.
Prints percentiles in microseconds, by how many threads, and the logits of the first digits, as JSON."""

import json
import os
import sys
import time

import numpy

WARM, TIMED = 2000, 20000


def read_weights(path):
    """Of a safetensors file: a header in JSON, then the numbers."""
    content = open(path, "rb").read()
    size = int.from_bytes(content[:8], "little")
    found = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = numpy.frombuffer(content[8 + size + first : 8 + size + last], "<f4").reshape(entry["shape"])
    return [found[f"classifier/dense.{layer}/{part}"] for layer in (1, 2) for part in "wb"]


def torch_call(weights, compiled, threads):
    import torch

    torch.set_num_threads(threads)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()
    for layer, (w, b) in zip((model[0], model[2]), (weights[:2], weights[2:])):
        layer.weight.data, layer.bias.data = torch.tensor(w.T.copy()), torch.tensor(b)
    torch.set_grad_enabled(False)
    if compiled:
        import torch._inductor.config

        torch._inductor.config.freezing = True
        model = torch.compile(model)
    return lambda x: model(x), lambda x: torch.tensor(x), lambda y: y.numpy()


def onnx_model(weights):
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
    ]
    values = [numpy_helper.from_array(w, name) for w, name in zip(weights, ("w1", "b1", "w2", "b2"))]
    described = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
    graph = helper.make_graph(nodes, "digits", [described("x", 784)], [described("y", 10)], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10).SerializeToString()


def onnx_call(weights, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not threads:
        session = onnxruntime.InferenceSession(onnx_model(weights))
        return lambda x: session.run(None, {"x": x})[0], lambda x: x, lambda y: y
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(onnx_model(weights), options)
    binding, out = session.io_binding(), numpy.empty((1, 10), numpy.float32)
    kept = numpy.empty((1, 784), numpy.float32)
    binding.bind_cpu_input("x", kept)
    binding.bind_output("y", "cpu", 0, numpy.float32, out.shape, out.ctypes.data)

    def call(x):
        kept[:] = x
        session.run_with_iobinding(binding)
        return out

    return call, lambda x: x, lambda y: y.copy()


PEERS = {
    "PyTorch eager": lambda weights, threads: torch_call(weights, False, threads),
    "PyTorch compile": lambda weights, threads: torch_call(weights, True, threads),
    "ONNX Runtime": onnx_call,
}


def measure(peer, threads, weights, digits):
    """threads: 0: as installed."""
    call, given, taken = PEERS[peer](weights, threads)
    inputs = [given(x[None]) for x in digits]
    logits = [taken(call(x))[0].tolist() for x in inputs]
    times = []
    for number in range(-WARM, TIMED):
        begin = time.perf_counter_ns()
        call(inputs[0])
        times.append(time.perf_counter_ns() - begin)
    times = sorted(times[WARM:])
    percentiles = {"p50": times[TIMED // 2] / 1e3, "p99": times[TIMED * 99 // 100] / 1e3}
    return percentiles | {"threads": threads, "logits": logits}


def main(peer, best, weights, digits):
    counts = sorted({1, len(os.sched_getaffinity(0))}) if best == "best" else [0]
    measured = [measure(peer, threads, read_weights(weights), numpy.load(digits)) for threads in counts]
    print(json.dumps(min(measured, key=lambda found: found["p50"])))


main(*sys.argv[1:])
