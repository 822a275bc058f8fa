"""Recurrent layers, by cuDNN's own interface, with each algorithm it has: a multiplication per time
step (standard), or one kernel that keeps the recurrent weights on the multiprocessors (persistent).

    python3 recurrent.py --seconds 200 > recurrent.jsonl
"""

import argparse
import ctypes
import glob
import os
import pathlib

import torch

from timing import Clock, Deadline, environment, kernels_of, say, transcription

MEASURED = pathlib.Path(__file__).resolve().parents[2] / "hwdb/calibrations/measured"

# cudnn_graph.h and cudnn_adv.h, cuDNN 9
FLOAT, HALF = 0, 2
ALGORITHMS = {"standard": 0, "persistent": 1, "persistent_small": 3}
CELLS = {"rnn-relu": 0, "rnn-tanh": 1, "lstm": 2, "gru": 3}
GATES = {"rnn-relu": 1, "rnn-tanh": 1, "lstm": 4, "gru": 3}
DOUBLE_BIAS, UNIDIRECTIONAL, SKIP_INPUT, LINEAR_INPUT = 2, 0, 1, 0
MATH = {"f32": 3, "tf32_tensor": 0, "f16_tensor": 1}  # FMA; default; tensor ops
SEQUENCE_MAJOR, TRAINING, ADD = 0, 1, 0
PADDED_IO = 1


class Refused(Exception):
    pass


class Cudnn:
    def __init__(self):
        import nvidia.cudnn
        found = glob.glob(os.path.join(list(nvidia.cudnn.__path__)[0], "lib", "libcudnn.so.*"))
        self.library = ctypes.CDLL(found[0], mode=ctypes.RTLD_GLOBAL)
        self.handle = self.made("cudnnCreate")

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise Refused(f"{name}: {status}")

    def made(self, name):
        out = ctypes.c_void_p()
        self(name, ctypes.byref(out))
        return out


def space(nbytes):
    return torch.zeros(max(nbytes, 16), dtype=torch.uint8, device="cuda")


def at(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class Layer:
    """One unidirectional layer; `linear` multiplies its input, else it is added as it comes."""

    def __init__(self, cudnn, cell, algorithm, arithmetic, hidden, batch, steps, linear, layers=1):
        self.cudnn = cudnn
        kind = HALF if arithmetic == "f16_tensor" else FLOAT
        dtype = torch.float16 if kind == HALF else torch.float32
        size = ctypes.c_size_t
        dropout = cudnn.made("cudnnCreateDropoutDescriptor")
        cudnn("cudnnSetDropoutDescriptor", dropout, cudnn.handle, ctypes.c_float(0), None, size(0),
              ctypes.c_ulonglong(0))
        self.rnn = cudnn.made("cudnnCreateRNNDescriptor")
        cudnn("cudnnSetRNNDescriptor_v8", self.rnn, ALGORITHMS[algorithm], CELLS[cell], DOUBLE_BIAS,
              UNIDIRECTIONAL, LINEAR_INPUT if linear else SKIP_INPUT, kind, FLOAT, MATH[arithmetic],
              hidden, hidden, hidden, layers, dropout, PADDED_IO)
        self.data = cudnn.made("cudnnCreateRNNDataDescriptor")
        lengths = (ctypes.c_int * batch)(*([steps] * batch))
        fill = (ctypes.c_float * 1)(0)
        cudnn("cudnnSetRNNDataDescriptor", self.data, kind, SEQUENCE_MAJOR, steps, batch, hidden, lengths, fill)
        self.device_lengths = torch.full((batch,), steps, dtype=torch.int32, device="cuda")
        self.state = cudnn.made("cudnnCreateTensorDescriptor")
        cudnn("cudnnSetTensorNdDescriptor", self.state, kind, 3, (ctypes.c_int * 3)(layers, batch, hidden),
              (ctypes.c_int * 3)(batch * hidden, hidden, 1))
        weight_bytes, work_bytes, reserve_bytes = size(), size(), size()
        cudnn("cudnnGetRNNWeightSpaceSize", cudnn.handle, self.rnn, ctypes.byref(weight_bytes))
        cudnn("cudnnGetRNNTempSpaceSizes", cudnn.handle, self.rnn, TRAINING, self.data,
              ctypes.byref(work_bytes), ctypes.byref(reserve_bytes))
        self.sizes = weight_bytes, work_bytes, reserve_bytes
        self.weights = (torch.randn(weight_bytes.value // dtype.itemsize, device="cuda") * .02).to(dtype)
        self.weight_gradients = torch.zeros_like(self.weights)
        self.work, self.reserve = space(work_bytes.value), space(reserve_bytes.value)
        sequence = (steps, batch, hidden)
        self.x, self.y, self.dx, self.dy = (
            (torch.randn(sequence, device="cuda") * .1).to(dtype) for _ in range(4))
        self.states = [(torch.randn(layers, batch, hidden, device="cuda") * .1).to(dtype) for _ in range(8)]

    def stream(self):
        self.cudnn("cudnnSetStream", self.cudnn.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def forward(self):
        self.stream()
        hx, hy, cx, cy = (at(s) for s in self.states[:4])
        weight_bytes, work_bytes, reserve_bytes = self.sizes
        self.cudnn("cudnnRNNForward", self.cudnn.handle, self.rnn, TRAINING, at(self.device_lengths), self.data,
                   at(self.x), self.data, at(self.y), self.state, hx, hy, self.state, cx, cy, weight_bytes,
                   at(self.weights), work_bytes, at(self.work), reserve_bytes, at(self.reserve))

    def backward_data(self):
        self.stream()
        hx, _, cx, _, dhy, dhx, dcy, dcx = (at(s) for s in self.states)
        weight_bytes, work_bytes, reserve_bytes = self.sizes
        self.cudnn("cudnnRNNBackwardData_v8", self.cudnn.handle, self.rnn, at(self.device_lengths), self.data,
                   at(self.y), at(self.dy), self.data, at(self.dx), self.state, hx, dhy, dhx, self.state, cx, dcy,
                   dcx, weight_bytes, at(self.weights), work_bytes, at(self.work), reserve_bytes, at(self.reserve))

    def backward_weights(self):
        self.stream()
        weight_bytes, work_bytes, reserve_bytes = self.sizes
        self.cudnn("cudnnRNNBackwardWeights_v8", self.cudnn.handle, self.rnn, ADD, at(self.device_lengths),
                   self.data, at(self.x), self.state, at(self.states[0]), self.data, at(self.y), weight_bytes,
                   at(self.weight_gradients), work_bytes, at(self.work), reserve_bytes, at(self.reserve))


def problems():
    known = {(r["cell"], int(r["hidden"]), int(r["batch"]), int(r["timesteps"]))
             for r in transcription(MEASURED / "recurrent.csv") if r["source"] == "deepbench"}
    grid = {(cell, hidden, batch, 100) for cell in ("lstm", "gru", "rnn-relu")
            for hidden in (128, 256, 512, 768, 1024, 1536, 2048) for batch in (8, 32, 64, 128, 256)}
    return sorted(known) + sorted(grid)


def passes(layer):
    return (("forward", layer.forward), ("backward_data", layer.backward_data),
            ("backward_weights", layer.backward_weights))


def as_pytorch(clock, deadline):
    """nn.LSTM and nn.GRU as PyTorch runs them, with the names of their kernels."""
    for dtype in (torch.float16, torch.float32):
        for cell in ("LSTM", "GRU"):
            for hidden, batch, layers in ((128, 32, 1), (256, 64, 1), (512, 64, 1), (1024, 64, 1), (1024, 128, 2),
                                          (1536, 64, 1), (512, 16, 1), (512, 24, 1), (640, 20, 2)):
                if deadline.passed():
                    return
                net = getattr(torch.nn, cell)(hidden, hidden, layers).to("cuda", dtype)
                x = torch.randn(100, batch, hidden, device="cuda", dtype=dtype, requires_grad=True)

                def step():
                    net(x)[0].sum().backward()

                for _ in range(3):
                    step()
                torch.cuda.synchronize()
                say("recurrent_pytorch", cell=cell, dtype=str(dtype)[6:], hidden=hidden, batch=batch, layers=layers,
                    timesteps=100, **kernels_of(step, 5))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=200)
    arguments = parser.parse_args()
    environment()
    clock, deadline, cudnn = Clock(repeats=5), Deadline(arguments.seconds), Cudnn()
    as_pytorch(clock, deadline)
    for arithmetic in ("f16_tensor", "f32", "tf32_tensor"):
        for cell, hidden, batch, steps in problems():
            if steps > 400:
                continue
            for algorithm in ALGORITHMS:
                if deadline.passed():
                    return say("stopped", at="recurrent " + arithmetic)
                times = {}
                try:
                    layer = Layer(cudnn, cell, algorithm, arithmetic, hidden, batch, steps, linear=False)
                    for name, call in passes(layer):
                        times[name] = clock.eager_seconds(call) * 1e3
                except Refused as refused:
                    torch.cuda.synchronize()
                    times["refused"] = str(refused)
                say("recurrent", arithmetic=arithmetic, algorithm=algorithm, cell=cell, hidden=hidden, batch=batch,
                    timesteps=steps, **times)


if __name__ == "__main__":
    main()
