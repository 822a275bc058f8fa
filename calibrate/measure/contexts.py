"""What a process takes of a card beside its tensors: the CUDA context, the libraries' code and
handles, with modules loaded lazily and eagerly. Each case is a process of its own.

    python3 contexts.py > contexts.jsonl
"""

import json
import os
import subprocess
import sys

CASE = r"""
import ctypes, json, sys, time
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
def used():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return total.value - free.value
marks = {}
def mark(name):
    cached = torch.cuda.memory_reserved() if "torch" in globals() else 0
    marks[name] = used() - cached
device, context = ctypes.c_int(), ctypes.c_void_p()
driver.cuDeviceGet(ctypes.byref(device), 0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
driver.cuCtxSetCurrent(context)
begin = time.monotonic()
mark("driver context")
import torch
torch.cuda.init(); torch.cuda.synchronize(); mark("torch.cuda.init")
x = torch.randn(512, 512, device="cuda"); torch.cuda.synchronize(); mark("a tensor")
(x @ x); torch.cuda.synchronize(); mark("a matrix product")
(x.half() @ x.half()); torch.cuda.synchronize(); mark("a product in 16 bits")
x.relu().sum(); torch.cuda.synchronize(); mark("element-wise")
conv = torch.nn.Conv2d(64, 64, 3, padding=1).cuda()
y = torch.randn(8, 64, 56, 56, device="cuda", requires_grad=True)
z = conv(y); torch.cuda.synchronize(); mark("a convolution")
z.sum().backward(); torch.cuda.synchronize(); mark("its gradients")
torch.nn.functional.batch_norm(z, None, None, training=True); torch.cuda.synchronize(); mark("batch norm")
import torchvision
for name in ("resnet50", "densenet121", "vit_b_16"):
    net = torchvision.models.get_model(name, weights=None).cuda()
    net(torch.randn(4, 3, 224, 224, device="cuda")).sum().backward()
    torch.cuda.synchronize(); mark(name)
lstm = torch.nn.LSTM(256, 256).cuda()
lstm(torch.randn(20, 8, 256, device="cuda"))[0].sum().backward()
torch.cuda.synchronize(); mark("lstm")
import pynvml
try:
    pynvml.nvmlInit(); card = pynvml.nvmlDeviceGetHandleByIndex(0)
    marks["nvml used"] = pynvml.nvmlDeviceGetMemoryInfo(card).used
    marks["nvml process"] = sum(p.usedGpuMemory or 0 for p in pynvml.nvmlDeviceGetComputeRunningProcesses(card))
    marks["driver"] = str(pynvml.nvmlSystemGetDriverVersion())
    marks["reserved by torch"] = torch.cuda.memory_reserved()
    marks["used now"] = used()
except Exception as e:
    marks["nvml"] = str(e)
print(json.dumps({"seconds": time.monotonic() - begin, "marks": marks, "torch": torch.__version__,
                  "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name()}))
"""


def main():
    for loading in ("LAZY", "EAGER"):
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", CASE], capture_output=True, text=True,
                                  env={**os.environ, "CUDA_MODULE_LOADING": loading})
            if done.returncode:
                print(json.dumps({"kind": "failed", "module_loading": loading, "error": done.stderr[-500:]}))
                continue
            print(json.dumps({"kind": "context", "module_loading": loading.lower(),
                              **json.loads(done.stdout.splitlines()[-1])}), flush=True)


if __name__ == "__main__":
    main()
