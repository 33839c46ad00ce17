"""A .flow program of many exports, made a library once and called from here; arrays are torch's."""

import ctypes
import json
import struct
import subprocess
import sys
from pathlib import Path

import torch

ELEMENTS = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
}
SCALARS = {
    "f64": ctypes.c_double, "f32": ctypes.c_float, "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16,
    "i64": ctypes.c_int64, "i32": ctypes.c_int32, "i8": ctypes.c_int8, "u8": ctypes.c_uint8,
    "bool": ctypes.c_uint8,
}


def type_of(tensor):
    """As .flow writes it: f32[2, 3]."""
    shape = "[" + ", ".join(map(str, tensor.shape)) + "]" if tensor.dim() else ""
    return ELEMENTS[tensor.dtype] + shape


def write_tensors(path, tensors):
    """A safetensors file of f32 tensors."""
    header, values = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().float().contiguous().numpy().tobytes()
        entry = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(values), len(values) + len(raw)]}
        header[name] = entry
        values += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + values)


def read_tensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[8 + size + begin : 8 + size + end]), dtype=torch.float32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def write_idx(path, tensor):
    """A file of f32 or i32 records, as a pipeline reads them."""
    code, order = (0x0D, ">f4") if tensor.is_floating_point() else (0x0C, ">i4")
    header = struct.pack(">HBB", 0, code, tensor.dim()) + struct.pack(f">{tensor.dim()}I", *tensor.shape)
    path.write_bytes(header + tensor.numpy().astype(order).tobytes())


def flowc(program, *arguments, folder, output=False):
    """Its standard error, or its output; ends the test if it fails."""
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return done.stdout if output else done.stderr


class Library:
    def __init__(self, program, folder, text, weights=None):
        folder = Path(folder)
        (folder / "peer.flow").write_text(text)
        path = b""
        if weights:
            write_tensors(folder / "weights.safetensors", weights)
            path = str(folder / "weights.safetensors").encode()
        flowc(program, "export", "peer.flow", "--target=native", *(["--weights=weights.safetensors"] if weights else []), folder=folder)
        self.library = ctypes.CDLL(str(folder / "libpeer.so"))
        self.library.peer_create.restype = ctypes.c_void_p
        message = ctypes.create_string_buffer(1024)
        self.instance = ctypes.c_void_p(self.library.peer_create(path, message, ctypes.c_size_t(1024)))
        if not self.instance.value:
            sys.exit(message.value.decode())

    def call(self, name, inputs, wanted):
        """The results, of the types and shapes of `wanted`."""
        inputs = [tensor.contiguous() for tensor in inputs]
        found = [torch.zeros_like(tensor).contiguous() for tensor in wanted]
        arguments = [self.argument(tensor) for tensor in inputs]
        arguments += [ctypes.c_void_p(tensor.data_ptr()) for tensor in found]
        status = getattr(self.library, "peer_" + name)(self.instance, *arguments)
        if status:
            sys.exit(f"{name}: an argument is out of its range")
        return found

    @staticmethod
    def argument(tensor):
        """A pointer, or the number by itself: that of a half is its bits."""
        pointer = ctypes.c_void_p(tensor.data_ptr())
        if tensor.dim():
            return pointer
        return SCALARS[ELEMENTS[tensor.dtype]].from_address(tensor.data_ptr())
