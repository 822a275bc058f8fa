"""What a sharded step allocates, stream by stream: streams that are names alone, a trace of storages that are resized too, and the figures of
its last step.
"""
import contextlib
import itertools
import weakref

import torch
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._sharding_prop import ShardingPropagator

import caching_allocator
from storage_trace import StorageTrace, peak, rounded


class Stream:
    """The order of work of one name; no device."""
    device_index, device_type = 0, 1
    numbers = itertools.count()

    def __init__(self, *_, **__):
        self.stream_id = next(Stream.numbers)

    def record_event(self, *_):
        return Event()

    def wait_stream(self, *_):
        pass

    wait_event = synchronize = wait_stream

    def __enter__(self):
        self.before, Stream.current = Stream.current, self
        return self

    def __exit__(self, *_):
        Stream.current = self.before


class Event:
    def __init__(self, *_, **__):
        pass

    def record(self, *_):
        pass

    wait = synchronize = record


def pretend_streams(ranks):
    """What torch.distributed asks of torch.cuda."""
    Stream.current = Stream()
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.current_device = lambda: 0
    cuda.device_count = lambda: ranks
    for name in ("set_device", "synchronize", "_lazy_init"):   # a function each: they are told apart by it
        setattr(cuda, name, lambda *_: None)
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.Stream, cuda.Event = Stream, Event
    cuda.current_stream = lambda *_: Stream.current
    cuda.stream = lambda stream: stream or contextlib.nullcontext()
    for check in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):
        setattr(torch.optim.Optimizer, check, lambda *_: None)


class ShardedTrace(StorageTrace):
    """Of storages that are resized too, which is how weights are let go of: each size is a storage of its own here."""

    def __init__(self):
        super().__init__()
        self.streams = {}   # number -> stream
        self.asks_shapes = False   # DTensor runs operators on whole fake tensors to learn shapes: there they are no memory

    def __enter__(self):
        self.resize, self.shapes = torch.UntypedStorage.resize_, ShardingPropagator._propagate_tensor_meta_non_cached

        def propagate(*args):
            self.asks_shapes = True
            try:
                return self.shapes(*args)
            finally:
                self.asks_shapes = False
        ShardingPropagator._propagate_tensor_meta_non_cached = propagate

        def resize_(storage, size):
            result = self.resize(storage, size)
            self.end(storage._cdata)
            self.begin(storage)
            return result
        torch.UntypedStorage.resize_ = resize_
        return super().__enter__()

    def __exit__(self, *error):
        torch.UntypedStorage.resize_, ShardingPropagator._propagate_tensor_meta_non_cached = self.resize, self.shapes
        return super().__exit__(*error)

    def end(self, address):
        if address in self.watched:
            number, _ = self.watched.pop(address)
            self.events.append(("free", number, rounded(self.exact[number])))

    def begin(self, storage):
        size, address = storage.nbytes(), storage._cdata
        if not size:
            return None
        if address not in self.watched:
            number = len(self.exact)
            self.exact[number], self.streams[number] = size, Stream.current.stream_id
            self.events.append(("alloc", number, rounded(size)))
            self.watched[address] = number, weakref.ref(storage, lambda _: self.end(address))
        return self.watched[address][0]

    def number(self, tensor):
        nothing = self.asks_shapes or isinstance(tensor, DTensor) or tensor.device.type != self.DEVICE
        return None if nothing else self.begin(tensor.untyped_storage())

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented   # its local tensor comes here next
        if operator is torch.ops._c10d_functional.wait_tensor.default:
            return args[0]   # as on a card: its kernel for fake tensors alone makes another
        return super().__torch_dispatch__(operator, types, args, kwargs)


def reserved_by_stream(events, streams):
    of = {}
    for event in events:
        of.setdefault(streams[event[1]], []).append(event)
    return [caching_allocator.replay(each)["reserved"] for each in of.values()]


def figures(streams, events, phases, inputs):
    """Of the last step, from what lives before it."""
    before = [at for at, name in phases if name == "between"][-2]
    living = {n: s for k, n, s in events[:before] if k == "alloc"}
    for kind, number, _ in events[:before]:
        if kind == "free":
            living.pop(number, None)
    steady = [("alloc", number, size) for number, size in living.items()] + events[before:]
    offset = len(living)
    names = [(0, "start")] + [(at - before + offset, name) for at, name in phases if at >= before]
    highest, phase, _ = peak(steady, names)
    stays = sum(size for number, size in living.items() if number not in inputs)
    return {"stays": stays, "peak": highest, "phase": phase, "reserved_by_stream": reserved_by_stream(steady, streams)}
