"""A GPU that is not there: PyTorch takes its CUDA path and computes shapes only.

`enter()` must run before torch is imported. `on_gpu(work)` then moves a workload to the pretended device, and inside
`gpu()` its training step runs as it would on a real one.
"""
import os
import sys
from contextlib import contextmanager
from pathlib import Path


def enter():
    """Starts this program again with the shim preloaded, unless it already is."""
    folder = Path(os.environ.get("ORACLE_BUILD", Path(__file__).resolve().parent / "build")).resolve()
    shim = str(folder / "shim.so")
    if shim in os.environ.get("LD_PRELOAD", "").split(":"):
        return
    if not os.path.exists(shim):
        sys.exit(f"{shim} is missing: run build_shim.sh")
    libraries = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    os.execve(sys.executable, [sys.executable, *sys.argv],
              {**os.environ, "LD_PRELOAD": shim, "LD_LIBRARY_PATH": libraries})


@contextmanager
def gpu():
    import torch
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    torch.cuda.is_available = lambda: False   # so that nobody initialises CUDA's Python side
    # Adam's step counters live on the CPU and are read as numbers, which a fake tensor has not.
    sys.modules["torch.optim.adam"]._get_value = lambda x: 1.0 if isinstance(x, torch.Tensor) else x
    # Adafactor and LAMB read norms.
    FakeTensor.item = lambda tensor: 1.0
    # Whether all numbers are finite (DETR) is a question without an answer: let it be yes.
    FakeTensor.__bool__ = lambda tensor: True
    with FakeTensorMode(allow_non_fake_inputs=True), recurrent_layers_replaced(torch):
        yield


def on_gpu(work, attributes=True):
    """Replaces all tensors of a workload by fake ones on the GPU, shared ones by shared ones. The model is built for
    real before, since some models look at values while they are built (rates of stochastic depth). Without `attributes`
    those alone that Module.to() moves: parameters and buffers."""
    import torch
    moved = {}   # id -> (original, kept so that its id is not used again; its stand-in)

    def move(tensor):
        if id(tensor) not in moved:
            copy = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cuda")
            if isinstance(tensor, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, tensor.requires_grad)
            moved[id(tensor)] = tensor, copy
        return moved[id(tensor)][1]

    def move_all(table):
        return {name: move(value) for name, value in table.items() if isinstance(value, torch.Tensor)}

    for module in work.model.modules():
        for name, parameter in move_all(module._parameters).items():
            setattr(module, name, parameter)   # recurrent layers keep a second list, which this updates
        module._buffers.update(move_all(module._buffers))
        if attributes:
            vars(module).update(move_all(vars(module)))
    work.inputs = move_all(work.inputs)
    return work


@contextmanager
def recurrent_layers_replaced(torch):
    """aten::_cudnn_rnn wants a living cuDNN handle even for fake tensors. Inside, nn.LSTM, nn.GRU and nn.RNN call a
    function that allocates and saves what _cudnn_rnn does. The size of cuDNN's reserve is not public; it is estimated
    as one value per gate and one for the cell, for every step, sample, layer, direction and unit."""

    class CudnnRecurrence(torch.autograd.Function):
        @staticmethod
        def forward(ctx, gates, layers, train, directions, x, hx, cx, *weights):
            width = hx.size(-1)
            rows = x.size(0) * x.size(1)
            y = x.new_empty(x.size(0), x.size(1), directions * width)
            hy = torch.empty_like(hx)
            cy = None if cx is None else torch.empty_like(cx)
            values = rows * layers * directions * width * (gates + 1) if train else 0
            reserve = torch.empty(values * x.element_size(), dtype=torch.uint8, device=x.device)
            if x.dtype != weights[0].dtype:   # autocast: _cudnn_rnn_cast_reflatten casts all weights into one buffer
                flat = x.new_zeros(sum(weight.numel() for weight in weights))
                ctx.save_for_backward(x, hx, cx, y, reserve, flat)
            else:
                ctx.save_for_backward(x, hx, cx, y, reserve, *weights)
            ctx.weights = [(weight.shape, weight.dtype) for weight in weights]
            return y, hy, cy

        @staticmethod
        def backward(ctx, *_):
            x, hx, cx, *_ = ctx.saved_tensors
            sizes = [shape.numel() for shape, _ in ctx.weights]
            joined = x.new_zeros(sum(sizes))   # cuDNN writes all weight gradients into one buffer
            gradients = [part.view(shape).to(dtype) for part, (shape, dtype) in zip(joined.split(sizes), ctx.weights)]
            dx, dhx = torch.empty_like(x), torch.empty_like(hx)
            return None, None, None, None, dx, dhx, None if cx is None else torch.empty_like(cx), *gradients

    def stand_in(gates):
        def call(x, state, weights, bias, layers, dropout, train, bidirectional, batch_first):
            hx, cx = state if gates == 4 else (state, None)
            if torch.is_autocast_enabled("cuda"):
                x, hx, cx = (t if t is None else t.to(torch.get_autocast_dtype("cuda")) for t in (x, hx, cx))
            y, hy, cy = CudnnRecurrence.apply(gates, layers, train, 2 if bidirectional else 1, x, hx, cx, *weights)
            return (y, hy, cy) if gates == 4 else (y, hy)
        return call

    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
    for name, number in gates.items():
        setattr(torch._VF, name, stand_in(number))
    try:
        yield
    finally:
        for name in gates:
            delattr(torch._VF, name)
