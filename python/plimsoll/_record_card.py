"""A card that is not there, for the process that records: what PyTorch asks of CUDA is answered, nothing is computed."""
from __future__ import annotations

import ctypes
import functools
import os
import sys
import types
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).with_name("_pretended_card.so")
MEMORY = 80 << 30   # of the pretended card, for programs that ask
PROCESSORS = 108    # of an A100
_held: list[Any] = []  # what goes with the last who holds it


class CardError(RuntimeError):
    """This PyTorch cannot take its CUDA path here."""


def pretend(capability: tuple[int, int]) -> None:
    """From here on this process has one card of that compute capability. Not to be taken back: for a child of its own."""
    import torch

    torch.set_num_threads(1)  # a forked child has no threads of its parent's
    _pretend_to_cpp(capability)
    _pretend_to_python(capability)
    if torch.version.cuda is None:
        from ._record_without_cuda import choose_as_for_a_card

        choose_as_for_a_card(capability)
    _choose_as_for_a_card()
    _tell_shapes()


def _pretend_to_cpp(capability: tuple[int, int]) -> None:
    import torch

    # Autograd starts its threads for devices once, at the first backward pass: where this one found none, those for the
    # pretended card are started below whatever the program did before.
    threads = _threads()
    try:
        torch.zeros((), requires_grad=True).backward()
    except RuntimeError as fault:  # its threads do not come along into a child
        raise CardError("a backward pass has run on a GPU in this process: call from_step before the first one") from fault
    started = _threads() > threads
    card = ctypes.CDLL(os.fspath(LIBRARY), mode=ctypes.RTLD_GLOBAL)
    card.plimsoll_pretend_card.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int]
    major = int(str(torch.version.cuda or 0).split(".")[0])
    if card.plimsoll_pretend_card(10 * capability[0] + capability[1], PROCESSORS, MEMORY, major) == 0:
        raise CardError(f"PyTorch {torch.__version__} calls CUDA in a way that is not supported")
    if torch.version.cuda is None:
        from ._record_without_cuda import register_guard

        card.plimsoll_nobody.restype = ctypes.c_void_p
        register_guard(card.plimsoll_nobody())
    if started:
        return
    core = ctypes.CDLL(os.fspath(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    engine = core._ZN5torch8autograd6Engine18get_default_engineEv
    engine.restype = ctypes.c_void_p
    core._ZN5torch8autograd6Engine20start_device_threadsEv(ctypes.c_void_p(engine()))


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


class Stream:
    """A pretended stream: order alone."""

    device_index, device_type, made = 0, 1, 0
    current: Stream

    def __init__(self, *_: Any, **__: Any) -> None:
        self.stream_id = self.cuda_stream = Stream.made
        Stream.made += 1
        self._before: list[Stream] = []

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def wait_stream(self, *_: Any) -> None:
        pass

    wait_event = synchronize = wait_stream

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        self._before.append(Stream.current)
        Stream.current = self
        return self

    def __exit__(self, *_: object) -> None:
        Stream.current = self._before.pop()


class Event:
    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, *_: Any) -> None:
        pass

    wait = synchronize = record

    def query(self) -> bool:
        return True

    def elapsed_time(self, _: Any) -> float:
        return 1.0


class _NoStream:
    """torch.cuda.stream(None) changes nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _pretend_to_python(capability: tuple[int, int]) -> None:
    import torch

    major, minor = capability
    Stream.current = Stream()
    properties = types.SimpleNamespace(name="pretended", major=major, minor=minor, total_memory=MEMORY, multi_processor_count=PROCESSORS,
                                       is_integrated=False, is_multi_gpu_board=False, warp_size=32, max_threads_per_multi_processor=2048,
                                       regs_per_multiprocessor=65536, shared_memory_per_block=49152, shared_memory_per_multiprocessor=167936)
    state = torch.zeros(16, dtype=torch.uint8)
    answers: dict[str, Any] = {
        "is_available": lambda: True, "is_initialized": lambda: True, "init": lambda: None, "_lazy_init": lambda: None,
        "device_count": lambda: 1, "current_device": lambda: 0, "set_device": lambda *_: None, "synchronize": lambda *_: None,
        "get_device_capability": lambda *_: capability, "get_device_name": lambda *_: properties.name,
        "get_device_properties": lambda *_: properties, "is_bf16_supported": lambda *_, **__: major >= 8,
        "memory_allocated": lambda *_: 0, "max_memory_allocated": lambda *_: 0, "memory_reserved": lambda *_: 0,
        "max_memory_reserved": lambda *_: 0, "mem_get_info": lambda *_: (MEMORY, MEMORY), "memory_stats": lambda *_: {},
        "reset_peak_memory_stats": lambda *_: None, "empty_cache": lambda: None, "ipc_collect": lambda: None,
        "manual_seed": lambda *_: None, "manual_seed_all": lambda *_: None, "seed": lambda: None, "initial_seed": lambda: 0,
        "get_rng_state": lambda *_: state, "set_rng_state": lambda *_: None, "get_rng_state_all": lambda: [state],
        "set_rng_state_all": lambda *_: None, "Stream": Stream, "Event": Event, "current_stream": lambda *_: Stream.current,
        "default_stream": lambda *_: Stream.current, "stream": lambda stream: stream or _NoStream(),
        "is_current_stream_capturing": lambda: False, "can_device_access_peer": lambda *_: False}
    for name, answer in answers.items():
        if hasattr(torch.cuda, name):
            setattr(torch.cuda, name, answer)
    torch.cuda.random.get_rng_state, torch.cuda.random.set_rng_state = answers["get_rng_state"], answers["set_rng_state"]
    torch.Tensor.record_stream = lambda *_: None
    torch.Tensor.pin_memory = lambda tensor, *_: tensor
    for check in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):
        if hasattr(torch.optim.Optimizer, check):
            setattr(torch.optim.Optimizer, check, lambda *_: None)


def _tell_shapes() -> None:
    """Of operators for which this PyTorch has none."""
    import torch

    library = torch.library.Library("aten", "IMPL")
    for name, shapes in _shapes().items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            library.impl(name, shapes, "Meta")
    _held.append(library)


def _shapes() -> dict[str, Any]:
    """cuDNN's sampler (GridSampler.cpp), and the cell of a GRU, which PyTorch has from 2.15 on (_meta_registrations.py)."""
    def cell(gates: Any, _: Any, hx: Any, *biases: Any) -> Any:
        return hx.new_empty(hx.shape), hx.new_empty((len(hx), 5 * hx.size(1)))

    def cell_backward(gradient: Any, workspace: Any, has_bias: bool) -> Any:
        gates = [workspace.new_empty((len(gradient), 3 * gradient.size(1))) for _ in range(2)]
        return (*gates, gradient.new_empty(gradient.shape), *(gate.sum(0) if has_bias else None for gate in gates))

    return {"cudnn_grid_sampler": lambda x, grid: x.new_empty((*x.shape[:2], *grid.shape[1:3])),
            "cudnn_grid_sampler_backward": lambda x, grid, _: (x.new_empty(x.shape), grid.new_empty(grid.shape)),
            "_thnn_fused_gru_cell": cell, "_thnn_fused_gru_cell_backward": cell_backward}


def _choose_as_for_a_card() -> None:
    """Optimizers and clipping work on lists of tensors where these are on a card, and ask for the very type."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    for name in ("torch.optim.optimizer", "torch.utils._foreach_utils"):
        known = getattr(sys.modules.get(name), "_foreach_supported_types", None)
        if known is not None and FakeTensor not in known:
            known.append(FakeTensor)
    _autocast_on_the_card()
    for name in ("PartialState", "AcceleratorState"):  # accelerate asks once, and keeps the answer
        state = getattr(getattr(sys.modules.get("accelerate.state"), name, None), "_shared_state", {})
        if "device" in state:
            state["device"] = torch.device("cuda", 0)
    # transformers reads no number where it sees a tensor without values, and keeps masks that a run leaves out.
    libraries: Any = sys.modules.get("transformers.utils.import_utils")
    if hasattr(libraries, "is_fake_tensor"):
        libraries.is_fake_tensor = lambda _: False
    FakeTensorMode.avoid_device_init = True  # a constant that goes to the card would be copied there
    FakeTensorMode.__deepcopy__ = lambda mode, memo: mode  # a copied module stays in the mode of its original


@functools.cache
def means_the_host(file: str) -> bool:
    """PyTorch's own code says "cpu" where it means that: optimizers count steps there."""
    return any(f"/torch/{part}/" in file for part in ("optim", "amp", "utils", "distributed"))


def _autocast_on_the_card() -> None:
    """`torch.autocast(device)` of a program that found no card."""
    import torch

    enter = torch.amp.autocast_mode.autocast.__enter__

    def on_card(context: Any) -> Any:
        file = sys._getframe(1).f_code.co_filename
        if context.device == "cpu" and (file == torch.amp.autocast_mode.__file__ or not means_the_host(file)):
            context.device = "cuda"
        return enter(context)

    torch.amp.autocast_mode.autocast.__enter__ = on_card


def stand_in_for_recurrent_layers(note: Any) -> None:
    """cuDNN's recurrent layers want a living handle even where nothing is computed: what they allocate and keep is allocated
    and kept here. `note` hears of each call. The size of cuDNN's reserve is not public; it is taken as a value for each gate and
    one for the cell, for every step, sample, layer, direction and unit."""
    import torch

    for cell, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        setattr(torch._VF, cell, _recurrent_call(cell, gates, note))


def _recurrent_call(cell: str, gates: int, note: Any) -> Any:
    import torch

    class Recurrence(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, layers: int, train: bool, directions: int, batch_first: bool, steps: int, x: Any, hx: Any, cx: Any, *weights: Any) -> Any:
            width = hx.size(-1)
            y = x.new_empty(*x.shape[:-1], directions * width)
            hy = torch.empty_like(hx)
            cy = None if cx is None else torch.empty_like(cx)
            values = x.shape[:-1].numel() * layers * directions * width * (gates + 1) if train else 0
            reserve = torch.empty(values * x.element_size(), dtype=torch.uint8, device=x.device)
            if x.dtype != weights[0].dtype:  # autocast casts all weights into one buffer
                weights_kept: tuple[Any, ...] = (x.new_zeros(sum(weight.numel() for weight in weights)),)
            else:
                weights_kept = weights
            ctx.save_for_backward(x, hx, cx, y, reserve, *weights_kept)
            ctx.weights = [(weight.shape, weight.dtype) for weight in weights]
            ctx.facts = {"gates": gates, "layers": layers, "directions": directions, "batch_first": batch_first}
            ctx.steps = steps
            note("recurrent", [_in_steps(x, steps), hx, *weights], [_in_steps(y, steps)], ctx.facts)
            return y, hy, cy

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            x, hx, cx, y, _, *weights = ctx.saved_tensors
            sizes = [shape.numel() for shape, _ in ctx.weights]
            joined = x.new_zeros(sum(sizes))  # cuDNN writes all weight gradients into one buffer
            parts = [part.view(shape).to(dtype) for part, (shape, dtype) in zip(joined.split(sizes), ctx.weights)]
            dx = torch.empty_like(x)
            note("recurrent_backward", [*(_in_steps(t, ctx.steps) for t in (x, hx, y)), *weights], [_in_steps(dx, ctx.steps), joined], ctx.facts)
            return None, None, None, None, None, dx, torch.empty_like(hx), None if cx is None else torch.empty_like(cx), *parts

    def call(x: Any, state: Any, weights: Any, bias: bool, layers: int, dropout: float, train: bool, bidirectional: bool,
             batch_first: bool | None = None, steps: int = 0) -> Any:
        hx, cx = state if gates == 4 else (state, None)
        if torch.is_autocast_enabled("cuda"):
            x, hx, cx = (t if t is None else t.to(torch.get_autocast_dtype("cuda")) for t in (x, hx, cx))
        y, hy, cy = Recurrence.apply(layers, train, 2 if bidirectional else 1, bool(batch_first), steps, x, hx, cx, *weights)
        return (y, hy, cy) if gates == 4 else (y, hy)

    def call_any(x: Any, second: Any, third: Any, *rest: Any) -> Any:
        """Of packed sequences the second is how many there are in each step."""
        if isinstance(third, torch.Tensor) or (isinstance(second, torch.Tensor) and second.dtype == torch.int64):
            weights, bias, layers, dropout, train, bidirectional = rest
            return call(x, third, weights, bias, layers, dropout, train, bidirectional, steps=len(second))
        return call(x, second, third, *rest)

    return call_any


def _in_steps(tensor: Any, steps: int) -> Any:
    """Rows of packed sequences, as if all were as long as their mean: what a call is told to have read."""
    if not steps or tensor.dim() != 2:
        return tensor
    return tensor.new_empty((steps, -(-len(tensor) // steps), tensor.size(1)), device="meta")
