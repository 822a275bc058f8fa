"""plimsoll.from_torch(): a module of PyTorch as a model, without its weights and with what exporters lose."""
from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from ._answers import Estimate, MaxBatch
from ._verbs import estimate, max_batch

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch
    from typing_extensions import Unpack

    from ._flags import Flags

Dims = Mapping[int, str]

# Below it a constant keeps its values: shapes, axes and scales are worked out from them.
_KEPT_BYTES = 1024


class TorchModel:
    """A module's structure, in a file that goes when this does, unless it is saved."""

    def __init__(self, model: ir.Model) -> None:
        import onnx_ir as ir

        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.path = Path(self._folder.name) / "model.onnx"
        ir.save(model, self.path)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As an ONNX file without weights."""
        Path(path).write_bytes(self.path.read_bytes())

    def estimate(self, **flags: Unpack[Flags]) -> Estimate:
        return estimate(self, **flags)

    def max_batch(self, **flags: Any) -> MaxBatch:
        return max_batch(self, **flags)


def from_torch(module_or_factory: torch.nn.Module | Callable[[], torch.nn.Module],
               inputs: torch.Tensor | Sequence[Any] | Mapping[str, Any],
               dynamic: Mapping[str | int, Dims] | None = None) -> TorchModel:
    """The module as it trains now: its mode, what is frozen, its dropout and batch norms are taken as they are.

        model = plimsoll.from_torch(net, (images,))
        model = plimsoll.from_torch(lambda: LlamaForCausalLM(config), {"input_ids": ids},
                                    dynamic={"input_ids": {0: "batch", 1: "sequence"}})

    A factory is called where tensors have no data, so that the largest network fits. `inputs` are those of forward(),
    by order or by name. `dynamic` names sizes that may change, by input and axis; without it the first axis of every
    input is the batch. Needs torch 2.6 or later, onnx and onnxscript; weights are neither read nor written.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    args, kwargs = _arguments(inputs)
    if isinstance(module_or_factory, torch.nn.Module):
        module, mode = module_or_factory, None
    else:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            module = module_or_factory()
    named = _named_axes(module, args, kwargs, dynamic)
    if mode:
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
    with _masks_as_eager():
        program = torch.export.export(module, args, kwargs, dynamic_shapes=_with_dims(named), strict=False)
    _mark_in_place(program)
    model = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False, dynamic_shapes=named).model
    _write_state(model.graph, module)
    _clean(model.graph)
    return TorchModel(model)


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    return ((), dict(inputs)) if isinstance(inputs, Mapping) else (tuple(inputs), {})


def _named_axes(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any],
                dynamic: Mapping[str | int, Dims] | None) -> dict[str, Any]:
    """For each argument of forward(), in its structure, the names of axes that may change."""
    import inspect

    import torch

    bind = inspect.signature(module.forward).bind
    names = list(bind(*args, **kwargs).arguments)
    asked = dict(dynamic or {})
    unknown = [str(key) for key in asked if key not in names and key not in range(len(args))]
    if unknown:
        raise ValueError(f"dynamic names {', '.join(unknown)}; inputs are {', '.join(names)}")

    def axes_of(value: Any, key: str | int) -> Any:
        if isinstance(value, torch.Tensor):
            axes = {0: "batch"} if dynamic is None else dict(asked.get(key, {}))
            return axes if axes and value.dim() else None
        if isinstance(value, Mapping):
            return {name: axes_of(one, key) for name, one in value.items()}
        return tuple(axes_of(one, key) for one in value) if isinstance(value, (list, tuple)) else None

    by_order = [axes_of(value, at if at in asked else names[min(at, len(names) - 1)]) for at, value in enumerate(args)]
    return dict(bind(*by_order, **{name: axes_of(value, name) for name, value in kwargs.items()}).arguments)


def _with_dims(named: Any) -> Any:
    """The same for torch.export, which finds out within which limits a dimension may change."""
    import torch

    if isinstance(named, str):
        return torch.export.Dim.DYNAMIC
    if isinstance(named, dict):
        return {key: _with_dims(one) for key, one in named.items()}
    return tuple(_with_dims(one) for one in named) if isinstance(named, tuple) else named


def _masks_as_eager() -> contextlib.AbstractContextManager[Any]:
    """Hugging Face leaves out masks that hide nothing, but where it sees an exporter, whose file others may pad for."""
    masking = sys.modules.get("transformers.masking_utils")
    if not hasattr(masking, "is_torchdynamo_exporting"):
        return contextlib.nullcontext()
    return mock.patch.object(masking, "is_torchdynamo_exporting", lambda: False)


# What runs in place is told to the file through what an exporter passes on of each call.
_IN_PLACE = "\nplimsoll: in place"
_TRACE = "pkg.torch.onnx.stack_trace"


def _mark_in_place(program: torch.export.ExportedProgram) -> None:
    import torch

    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        value = node.meta.get("val")
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        if floats and node.target._schema.name.endswith("_") and node.args[0].op != "placeholder":
            node.meta["stack_trace"] = node.meta.get("stack_trace", "") + _IN_PLACE


def _clean(graph: ir.Graph) -> None:
    """Nodes keep what Plimsoll reads: modules, source lines without this machine's folders, what runs in place."""
    import re

    for node in graph.all_nodes():
        properties = node.metadata_props
        trace, mark, _ = properties.pop(_TRACE, "").partition(_IN_PLACE)
        if trace:
            properties[_TRACE] = re.sub(r'File "[^"]*/', 'File "', trace)
        # The last of the nodes that a call became has its name, those before it are numbered values.
        if mark and not str(node.outputs[0].name).startswith("val_"):
            properties["plimsoll.in_place"] = "1"
        properties.pop("pkg.torch.onnx.fx_node", None)


def _write_state(graph: ir.Graph, module: torch.nn.Module) -> None:
    """All that the module holds, each tensor once: exporters leave out what nothing reads."""
    import json

    import onnx_ir as ir
    import torch
    from torch.onnx._internal.exporter._core import torch_dtype_to_onnx_dtype

    first: dict[int, str] = {}
    state: dict[str, list[str]] = {"parameters": [], "frozen": [], "buffers": []}
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    for name, tensor in named:
        held = graph.initializers.get(name)
        if id(tensor) in first:  # tied
            if held is not None:
                ir.convenience.replace_all_uses_with(held, graph.initializers[first[id(tensor)]])
                del graph.initializers[name]
            continue
        first[id(tensor)] = name
        parameter = isinstance(tensor, torch.nn.Parameter)
        state["parameters" if parameter else "buffers"].append(name)
        if parameter and not tensor.requires_grad:
            state["frozen"].append(name)
        if held is None:
            held = ir.Value(name=name, type=ir.TensorType(torch_dtype_to_onnx_dtype(tensor.dtype)))
        shape = ir.Shape(tensor.shape)
        size = tensor.numel() * tensor.element_size()
        held.shape = shape
        held.const_value = ir.ExternalTensor("weights", 0, size, held.dtype, shape=shape, name=name)
        graph.initializers[name] = held
    for superseded in [key for key in graph.metadata_props if key.startswith("pkg.torch.export.")]:
        del graph.metadata_props[superseded]
    graph.metadata_props["plimsoll.state"] = json.dumps(state, separators=(",", ":"))
    for name, value in graph.initializers.items():
        constant = value.const_value
        if name not in first.values() and constant is not None and constant.nbytes > _KEPT_BYTES:
            value.const_value = ir.ExternalTensor("weights", 0, constant.nbytes, constant.dtype, shape=constant.shape, name=name)
