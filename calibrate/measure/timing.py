"""Times of device work, free of the host: calls recorded once as a CUDA graph and replayed."""

import csv
import json
import statistics
import sys
import time

import torch

L2_FACTOR = 3  # operands rotate among so many times the cache, so that none is found there


def say(kind, **fields):
    """One measurement, as one JSON line."""
    print(json.dumps({"kind": kind, **fields}), flush=True)


def environment():
    properties = torch.cuda.get_device_properties(0)
    major, minor = torch._C._cuda_getCompiledVersion() // 1000, torch._C._cuda_getCompiledVersion() % 1000 // 10
    say("environment", device=properties.name, sms=properties.multi_processor_count,
        memory=properties.total_memory, torch=torch.__version__, cuda=f"{major}.{minor}",
        cudnn=torch.backends.cudnn.version(), python=sys.version.split()[0])


class Clock:
    """Replays `calls` (each on its own operands) and gives the seconds of one."""

    def __init__(self, least_seconds=0.004, repeats=5):
        self.least, self.repeats = least_seconds, repeats
        self.stream = torch.cuda.Stream()
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.pool = torch.cuda.graph_pool_handle()
        self.first = self.record([lambda: torch.empty(1, device="cuda")], 1)  # keeps the pool alive

    def record(self, calls, rounds):
        graph = torch.cuda.CUDAGraph()
        kept = [None] * len(calls)  # as many results live as operands
        with torch.cuda.stream(self.stream):
            graph.capture_begin(pool=self.pool)
            for i in range(rounds):
                kept[i % len(calls)] = None
                kept[i % len(calls)] = calls[i % len(calls)]()
            graph.capture_end()
        return graph

    def seconds(self, calls):
        torch.cuda.synchronize()  # operands are made on another stream
        with torch.cuda.stream(self.stream):
            for call in calls:  # plans, handles and workspaces are made outside the graph
                call()
            self.stream.synchronize()
            self.start.record(self.stream)
            calls[0]()
            self.end.record(self.stream)
            self.end.synchronize()
            once = max(self.start.elapsed_time(self.end) * 1e-3, 2e-6)
            rounds = max(1, min(200, round(self.least / once)))
            graph = self.record(calls, rounds)
            graph.replay()
            taken = []
            for _ in range(self.repeats):
                self.start.record(self.stream)
                graph.replay()
                self.end.record(self.stream)
                self.end.synchronize()
                taken.append(self.start.elapsed_time(self.end) * 1e-3 / rounds)
            graph.reset()
        return statistics.median(taken)


    def eager_seconds(self, call):
        """The same without a graph, for libraries that launch from several streams."""
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            call()
            self.stream.synchronize()
            taken = []
            for _ in range(self.repeats):
                self.start.record(self.stream)
                call()
                self.end.record(self.stream)
                self.end.synchronize()
                taken.append(self.start.elapsed_time(self.end) * 1e-3)
        return statistics.median(taken)


def copies(nbytes):
    """How many sets of operands of `nbytes` a measurement rotates among."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return int(max(1, min(8, -(-L2_FACTOR * cache // max(nbytes, 1)))))


def kernels_of(call, most=8):
    """The kernels of one call: how many, their time on the card, and which take most of it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    kernels = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    names = {}
    for e in kernels:
        count, total = names.get(e.name[:70], (0, 0))
        names[e.name[:70]] = count + 1, total + e.device_time
    top = sorted(names.items(), key=lambda name: -name[1][1])[:most]
    return {"launches": len(kernels), "gpu_ms": sum(e.device_time for e in kernels) / 1e3,
            "kernels": [[name, count, round(total)] for name, (count, total) in top]}


def workspace(call):
    """Bytes that PyTorch's allocator gives out during `call` beyond what it returns."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated() - before
    del result
    return torch.cuda.max_memory_allocated() - before - held


def transcription(path):
    """The rows of a transcription of measured kernels, comments left out."""
    with open(path) as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def passed(self):
        return time.monotonic() > self.end
