#!/usr/bin/env python3
"""Asks cuDNN which plans it would choose for convolutions on a GPU that is only described.

    ask_cudnn.py LAYERS.json --capability 6.1 [--dtype fp32] [--layout nchw] [--batches 1,4,8] > ANSWERS.txt

LAYERS.json is that of pack_workspaces.py, as is the form of the answers. Needs no GPU, but cuDNN
9.10, the last that knows Maxwell to Volta: pip install nvidia-cudnn-cu12==9.10.2.21
nvidia-cuda-runtime-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cublas-cu12, in the environment that runs this.
Heuristics of mode "instant" are asked, as PyTorch does. A problem takes about a millisecond.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import sys

from pack_workspaces import read_layers

PLANS = 64
HALF, FLOAT, DOUBLE = "CUDNN_DATA_HALF", "CUDNN_DATA_FLOAT", "CUDNN_DATA_DOUBLE"
TYPES = {"fp32": FLOAT, "fp16": HALF, "bf16": "CUDNN_DATA_BFLOAT16", "fp64": DOUBLE}
# Pass: the operation, the stem of its attributes, and what x, w and y are called there.
PASSES = {"FORWARD": ("FORWARD", "X", "W", "Y"), "BACKWARD_DATA": ("BWD_DATA", "DX", "W", "DY"),
          "BACKWARD_FILTER": ("BWD_FILTER", "X", "DW", "DY")}
# CUDA's programming guide, technical specifications by compute capability: shared memory a block may
# opt in to, blocks and threads of a multiprocessor. Of all that a device says only the capability
# changes the answers, on Hopper the clocks too: those of the H100 SXM's data sheet.
LIMITS = {"5.2": (49152, 32, 2048), "6.0": (49152, 32, 2048), "6.1": (49152, 32, 2048), "7.0": (98304, 32, 2048),
          "7.5": (65536, 16, 1024), "8.0": (166912, 32, 2048), "8.6": (101376, 16, 1536), "8.9": (101376, 24, 1536),
          "9.0": (232448, 32, 2048)}


def described(capability):
    """The properties as cuDNN reads them; what changes no answer is a card's of the time."""
    optin, blocks, threads = LIMITS[capability]
    major, minor = map(int, capability.split("."))
    return {"deviceName": "described", "deviceVer": 100 * major + 10 * minor, "driverVer": 12080, "multiProcessorCount": 132,
            "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "totalGlobalMem": 85899345920,
            "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": optin,
            "reservedSharedMemoryPerBlock": 1024 if major >= 8 else 0, "maxCtasPerSM": blocks, "maxThreadsPerSM": threads,
            "maxThreadsPerBlock": 1024, "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "warpSize": 32,
            "maxGridSize": [2**31 - 1, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
            "supportCoopLaunch": int(major >= 6), "isTccDriver": 0, "cudaDeviceId": 0, "pciDeviceId": 0}


class Cudnn:
    """The backend interface: descriptors with typed attributes, named as in the header."""

    def __init__(self):
        folder = next(path for base in sys.path for path in glob.glob(os.path.join(base, "nvidia", "cudnn")))
        for name in ("cuda_runtime/lib/libcudart.so.12", "cuda_nvrtc/lib/libnvrtc.so.12", "cublas/lib/libcublasLt.so.12"):
            ctypes.CDLL(os.path.join(os.path.dirname(folder), name), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(os.path.join(folder, "lib", "libcudnn.so.9"), mode=ctypes.RTLD_GLOBAL)
        self.names = {}
        for header in ("cudnn_graph.h", "cudnn_ops.h"):
            for body in re.findall(r"enum\s*\w*\s*{(.*?)}", open(os.path.join(folder, "include", header)).read(), re.S):
                value = -1
                for name, given in re.findall(r"(?:^|,)\s*(CUDNN_\w+)\s*(?:=\s*(\w+))?", body, re.M):
                    value = value + 1 if not given else int(given.rstrip("U"), 0) if given[0].isdigit() else self.names.get(given, 0)
                    self.names[name] = value

    def check(self, status):
        if status:
            text = ctypes.create_string_buffer(512)
            self.library.cudnnGetLastErrorString(text, ctypes.c_size_t(512))
            raise RuntimeError(f"cuDNN: status {status} {text.value.decode()}")


class Descriptor:
    C_TYPES = {"CUDNN_TYPE_INT64": ctypes.c_int64, "CUDNN_TYPE_DOUBLE": ctypes.c_double, "CUDNN_TYPE_CHAR": ctypes.c_char,
               "CUDNN_TYPE_BACKEND_DESCRIPTOR": ctypes.c_void_p}

    def __init__(self, cudnn, kind, attributes=None):
        self.cudnn, self.raw = cudnn, ctypes.c_void_p()
        cudnn.check(cudnn.library.cudnnBackendCreateDescriptor(cudnn.names[f"CUDNN_BACKEND_{kind}_DESCRIPTOR"], ctypes.byref(self.raw)))
        for name, (kind, values) in (attributes or {}).items():
            array = self.room(f"CUDNN_TYPE_{kind}", len(values))
            for i, value in enumerate(values):
                array[i] = value.raw if isinstance(value, Descriptor) else cudnn.names.get(value, value) if isinstance(value, str) else value
            cudnn.check(cudnn.library.cudnnBackendSetAttribute(self.raw, cudnn.names[f"CUDNN_ATTR_{name}"],
                        cudnn.names[f"CUDNN_TYPE_{kind}"], ctypes.c_int64(len(values)), array))
        if attributes:
            cudnn.check(cudnn.library.cudnnBackendFinalize(self.raw))

    def __del__(self):
        self.cudnn.library.cudnnBackendDestroyDescriptor(self.raw)

    def room(self, kind, count):
        return (self.C_TYPES.get(kind, ctypes.c_int) * count)()

    def get(self, name, kind, most=1, into=None):
        """Values of an attribute; descriptors are filled into those given."""
        kind = f"CUDNN_TYPE_{kind}"
        array, count = self.room(kind, most), ctypes.c_int64()
        for i, descriptor in enumerate(into or []):
            array[i] = descriptor.raw
        self.cudnn.check(self.cudnn.library.cudnnBackendGetAttribute(self.raw, self.cudnn.names[f"CUDNN_ATTR_{name}"],
                         self.cudnn.names[kind], ctypes.c_int64(most), ctypes.byref(count), array))
        return (into or array)[:min(count.value, most)]


class Asker:
    def __init__(self, capability, dtype, layout):
        self.cudnn, self.dtype, self.layout = Cudnn(), dtype, layout
        text = json.dumps(described(capability)).encode()
        self.device = self.make("DEVICEPROP", {"DEVICEPROP_JSON_REPRESENTATION": ("CHAR", list(text))})

    def make(self, kind, attributes=None):
        return Descriptor(self.cudnn, kind, attributes)

    def tensor(self, key, n, c, h, w):
        strides = (c * h * w, h * w, w, 1) if self.layout == "nchw" else (c * h * w, 1, w * c, c)
        return self.make("TENSOR", {
            "TENSOR_UNIQUE_ID": ("INT64", [key]), "TENSOR_BYTE_ALIGNMENT": ("INT64", [16]),
            "TENSOR_DATA_TYPE": ("DATA_TYPE", [TYPES[self.dtype]]), "TENSOR_DIMENSIONS": ("INT64", [n, c, h, w]),
            "TENSOR_STRIDES": ("INT64", strides)})

    def plans(self, layer, n, direction):
        c, h, w, k, r, s, ph, pw, sh, sw, dh, dw, g = layer
        p, q = (h + 2 * ph - dh * (r - 1) - 1) // sh + 1, (w + 2 * pw - dw * (s - 1) - 1) // sw + 1
        stem, *roles = PASSES[direction]
        conv = self.make("CONVOLUTION", {
            "CONVOLUTION_COMP_TYPE": ("DATA_TYPE", [DOUBLE if self.dtype == "fp64" else FLOAT]),
            "CONVOLUTION_CONV_MODE": ("CONVOLUTION_MODE", ["CUDNN_CROSS_CORRELATION"]), "CONVOLUTION_SPATIAL_DIMS": ("INT64", [2]),
            "CONVOLUTION_FILTER_STRIDES": ("INT64", [sh, sw]), "CONVOLUTION_DILATIONS": ("INT64", [dh, dw]),
            "CONVOLUTION_PRE_PADDINGS": ("INT64", [ph, pw]), "CONVOLUTION_POST_PADDINGS": ("INT64", [ph, pw])})
        tensors = self.tensor(1, n, c, h, w), self.tensor(2, k, c // g, r, s), self.tensor(3, n, k, p, q)
        at = f"OPERATION_CONVOLUTION_{stem}"
        operation = self.make(f"OPERATION_CONVOLUTION_{direction}", {
            **{f"{at}_{role}": ("BACKEND_DESCRIPTOR", [tensor]) for role, tensor in zip(roles, tensors)},
            f"{at}_CONV_DESC": ("BACKEND_DESCRIPTOR", [conv]), f"{at}_ALPHA": ("DOUBLE", [1.0]), f"{at}_BETA": ("DOUBLE", [0.0])})
        graph = self.make("OPERATIONGRAPH", {"OPERATIONGRAPH_OPS": ("BACKEND_DESCRIPTOR", [operation])})
        heuristic = self.make("ENGINEHEUR", {
            "ENGINEHEUR_OPERATION_GRAPH": ("BACKEND_DESCRIPTOR", [graph]), "ENGINEHEUR_MODE": ("HEUR_MODE", ["CUDNN_HEUR_MODE_INSTANT"]),
            "ENGINEHEUR_DEVICEPROP": ("BACKEND_DESCRIPTOR", [self.device])})
        return heuristic.get("ENGINEHEUR_RESULTS", "BACKEND_DESCRIPTOR", PLANS, [self.make("ENGINECFG") for _ in range(PLANS)])

    def told(self, config):
        """`engine[flags]:bytes:tile` of one plan; nothing where cuDNN refuses it."""
        engine, = config.get("ENGINECFG_ENGINE", "BACKEND_DESCRIPTOR", 1, [self.make("ENGINE")])
        names = self.cudnn.names
        notes = set(engine.get("ENGINE_NUMERICAL_NOTE", "NUMERICAL_NOTE", 32))
        flags = ("t" if names["CUDNN_NUMERICAL_NOTE_TENSOR_CORE"] in notes else "") + (
            "d" if names["CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS"] in notes else "")
        try:
            plan = self.make("EXECUTION_PLAN", {"EXECUTION_PLAN_ENGINE_CONFIG": ("BACKEND_DESCRIPTOR", [config]),
                                                "EXECUTION_PLAN_DEVICEPROP": ("BACKEND_DESCRIPTOR", [self.device])})
        except RuntimeError:
            return None
        text = plan.get("EXECUTION_PLAN_JSON_REPRESENTATION", "CHAR", 1 << 14)
        tile = re.search(rb'KNOB_TYPE_TILE_SIZE":\s*(\d+)', text)
        scratch, = plan.get("EXECUTION_PLAN_WORKSPACE_SIZE", "INT64")
        number, = engine.get("ENGINE_GLOBAL_INDEX", "INT64")
        return f"{number}{flags}:{scratch}:{tile.group(1).decode() if tile else '-'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers")
    parser.add_argument("--capability", required=True, choices=sorted(LIMITS))
    parser.add_argument("--dtype", choices=sorted(TYPES), default="fp32")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--batches", default="1,4,8,16,32,64,128,256")
    options = parser.parse_args()
    asker = Asker(options.capability, options.dtype, options.layout)
    for layer in read_layers(options.layers):
        for n in map(int, options.batches.split(",")):
            for direction in PASSES:
                print(" ".join(filter(None, map(asker.told, asker.plans(layer, n, direction)))))


if __name__ == "__main__":
    main()
