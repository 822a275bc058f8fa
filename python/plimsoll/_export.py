"""A module's graph by PyTorch's exporter, without its weights and with what exporters lose."""
from __future__ import annotations

import contextlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any
from unittest import mock

from ._command import Diagnostic, InputError, PlimsollWarning
from ._construction import built, on_a_card
from ._marks import Checkpoints, mark, split
from ._record import Dims, arguments_of, names_of_inputs

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

# Below it a constant keeps its values: shapes, axes and scales are worked out from them.
_KEPT_BYTES = 1024


def exported(module_or_factory: torch.nn.Module | Callable[[], torch.nn.Module], inputs: Any,
             dynamic: Mapping[str | int, Dims] | None) -> tuple[ir.Model, dict[str, Any]]:
    """The module's graph without its weights, and the settings that it is asked with: what its code does around its operators.

    Needs torch 2.6 or later, onnx and onnxscript. A warning names sizes that the module fixes; an InputError (E291) says what PyTorch
    does not export.
    """
    import torch

    args, kwargs = arguments_of(inputs)
    if isinstance(module_or_factory, torch.nn.Module):
        module, mode = module_or_factory, None
    else:
        module, mode = built(module_or_factory)
    settings: dict[str, Any] = {}
    if isinstance(module, torch._dynamo.OptimizedModule):
        module, settings["compile"] = module._orig_mod, True
    order = list(inspect.signature(module.forward).parameters)
    kwargs = dict(sorted(kwargs.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))
    axes = _axes_of_inputs(module, args, kwargs, dynamic)
    several = _names_of_several_sizes((args, kwargs), axes)
    if several:
        warnings.warn(f"{', '.join(sorted(several))} stands for several sizes, but a graph has one size for each name: the sizes of the "
                      "inputs are kept; dynamic= can give them different names", PlimsollWarning, stacklevel=6)
        axes = _without(axes[0], several), _without(axes[1], several) or {}
    args, kwargs = _without_ones((args, kwargs), axes)
    bind = inspect.signature(module.forward).bind
    named = dict(bind(*axes[0], **axes[1]).arguments)
    _know_caches()
    sizes = list(_axes_by_tensor((args, kwargs), axes))
    traced = _traced_on_a_card(module, mode, args, kwargs, named, sizes)
    if traced is None:
        if mode:
            args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
        traced = _traced(module, args, kwargs, named, sizes)
    program, model, fixed, again = traced
    if fixed:
        warnings.warn(f"the module fixes {', '.join(sorted(fixed))}: the model keeps the size that the inputs have", PlimsollWarning, stacklevel=6)
    if again:
        settings["checkpoint"] = again
    elif again is not None:
        warnings.warn("the module recomputes parts that are not a list of its modules: they are counted as kept",
                      PlimsollWarning, stacklevel=6)
    _name_caches(model.graph, program)
    _write_state(model.graph, module)
    _clean(model.graph)
    return model, settings


def _axes_of_inputs(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any],
                    dynamic: Mapping[str | int, Dims] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """For each argument of forward(), in its structure, the names of axes that may change."""
    import torch

    names = names_of_inputs(module, args, kwargs, dynamic)
    asked = dict(dynamic or {})

    def axes_of(value: Any, key: str | int) -> Any:
        if isinstance(value, torch.Tensor):
            axes = {0: "batch"} if dynamic is None else dict(asked.get(key, {}))
            return axes if axes and value.dim() else None
        if isinstance(value, Mapping):
            return {name: axes_of(one, key) for name, one in value.items()}
        axes = [axes_of(one, key) for one in value] if isinstance(value, (list, tuple)) else None
        return tuple(axes) if isinstance(value, tuple) and axes is not None else axes

    by_order = tuple(axes_of(value, at if at in asked else names[min(at, len(names) - 1)]) for at, value in enumerate(args))
    return by_order, {name: axes_of(value, name) for name, value in kwargs.items()}


def _without_ones(value: Any, axes: Any) -> Any:
    """Sizes of 1 that may change become 2: torch.export takes a 1 for a size that never changes."""
    import torch

    if axes is None:
        return value
    if isinstance(value, torch.Tensor):
        for axis in axes:
            value = value.repeat_interleave(2, axis) if value.shape[axis] == 1 else value
        return value
    if isinstance(value, Mapping):
        return {name: _without_ones(one, axes[name]) for name, one in value.items()}
    parts = [_without_ones(one, of) for one, of in zip(value, axes)]
    return tuple(parts) if isinstance(value, tuple) else parts


# A program, its graph, names of sizes that the module fixes, what it computes again (Checkpoints.path()).
_Traced = tuple["torch.export.ExportedProgram", "ir.Model", "set[str]", "str | None"]


def _traced(module: torch.nn.Module, args: Any, kwargs: Any, named: Any, sizes: Sequence[Dims]) -> _Traced:
    import torch

    checkpoints = Checkpoints(module)
    with _masks_as_eager(), checkpoints.listening():
        program = _exported(module, args, kwargs, named)
    fixed = _fixed_sizes(program, sizes)
    if fixed:
        named = _without(named, fixed)
    mark(program)
    try:
        model = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False, dynamic_shapes=named).model
    except Exception as fault:
        raise _not_exported("torch.onnx.export", fault) from fault
    return program, model, fixed, checkpoints.path()


def _traced_on_a_card(module: torch.nn.Module, mode: FakeTensorMode | None, args: Any, kwargs: Any, named: Any, sizes: Sequence[Dims]) -> _Traced | None:
    """There the program says what it computes on the card though no data goes into it. None where it does not run there without numbers."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with contextlib.suppress(Exception), on_a_card(module, mode or FakeTensorMode(allow_non_fake_inputs=True)) as there:
        return _traced(module, *there((args, kwargs)), named, sizes)
    return None


def _exported(module: torch.nn.Module, args: Any, kwargs: Any, named: Any) -> torch.export.ExportedProgram:
    import torch

    def export(hint: Any) -> torch.export.ExportedProgram:
        return torch.export.export(module, args, kwargs, dynamic_shapes=_with_dims(named, hint), strict=False)

    with contextlib.suppress(Exception):  # a size that the module fixes, or what the second try tells
        return export(torch.export.Dim.DYNAMIC)
    try:
        return export(torch.export.Dim.AUTO)
    except Exception as fault:
        raise _not_exported("torch.export", fault) from fault


def _not_exported(what: str, fault: Exception) -> InputError:
    lines = _plain(str(fault)).strip().splitlines() or [""]
    return InputError([Diagnostic("E291", "error", f"{what} cannot export this module: {type(fault).__name__}: {lines[0]}",
                                  help="its own words are the cause of this exception; export to ONNX with dynamo=False, or write a config")])


def _plain(text: str) -> str:
    """Without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _with_dims(named: Any, hint: Any) -> Any:
    """The same for torch.export, which finds out within which limits a dimension may change."""
    if isinstance(named, str):
        return hint
    if isinstance(named, dict):
        return {key: _with_dims(one, hint) for key, one in named.items()}
    return type(named)(_with_dims(one, hint) for one in named) if isinstance(named, (list, tuple)) else named


def _axes_by_tensor(value: Any, axes: Any) -> Iterator[Dims]:
    """The named axes of each tensor, in the order in which torch.export takes inputs."""
    import torch

    if isinstance(value, torch.Tensor):
        yield axes or {}
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _axes_by_tensor(one, axes[name])
    elif isinstance(value, (list, tuple)):
        for one, of in zip(value, axes):
            yield from _axes_by_tensor(one, of)


def _names_of_several_sizes(value: Any, axes: Any) -> set[str]:
    """Of edges and nodes of graphs, of which both are a batch's first axis."""
    import torch

    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    sizes: dict[str, set[int]] = {}
    for tensor, named in zip(tensors, _axes_by_tensor(value, axes)):
        for axis, name in named.items():
            sizes.setdefault(name, set()).add(tensor.shape[axis])
    return {name for name, found in sizes.items() if len(found) > 1}


def _fixed_sizes(program: torch.export.ExportedProgram, axes: Sequence[Dims]) -> set[str]:
    """Names of sizes that were to change and that the module fixes."""
    import torch
    from torch.fx.experimental.symbolic_shapes import is_concrete_int

    asked = program.graph_signature.user_inputs
    inputs = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in asked]
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    return {name for value, named in zip(tensors, axes) for axis, name in named.items() if is_concrete_int(value.shape[axis])}


def _without(named: Any, names: Set[str]) -> Any:
    if isinstance(named, (list, tuple)):
        return type(named)(_without(one, names) for one in named)
    if not isinstance(named, dict):
        return named
    return {key: _without(one, names) for key, one in named.items() if not isinstance(one, str) or one not in names} or None


def _masks_as_eager() -> contextlib.AbstractContextManager[Any]:
    """Hugging Face leaves out masks that hide nothing, but where it sees an exporter, whose file others may pad for."""
    masking = sys.modules.get("transformers.masking_utils")
    if not hasattr(masking, "is_torchdynamo_exporting"):
        return contextlib.nullcontext()
    return mock.patch.object(masking, "is_torchdynamo_exporting", lambda: False)


def _know_caches() -> None:
    """PyTorch's exporter is told what a cache of keys and values holds, which Hugging Face's models return."""
    if "transformers" not in sys.modules:
        return
    with contextlib.suppress(ImportError, ValueError):  # an older transformers; a type that is known already
        from transformers.integrations.executorch import register_dynamic_cache_export_support

        register_dynamic_cache_export_support()


def _name_caches(graph: ir.Graph, program: torch.export.ExportedProgram) -> None:
    """Keys and values that are returned beside the prediction are called so: no loss is taken of them."""
    import onnx_ir as ir

    whole = program.call_spec.out_spec
    if whole is None or whole.num_leaves != len(graph.outputs):
        return
    for number, at in enumerate(_leaves_of_caches(whole, 0)):
        value = graph.outputs[at]
        name = f"past_key_values.{number}"
        node = ir.node("Identity", [value], outputs=[ir.Value(name=name, type=value.type, shape=value.shape)])
        graph.append(node)
        graph.outputs[at] = node.outputs[0]


def _leaves_of_caches(spec: Any, first: int) -> Iterator[int]:
    if str(getattr(spec.type, "__name__", "")).endswith("Cache"):
        yield from range(first, first + spec.num_leaves)
        return
    for child in spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs:
        yield from _leaves_of_caches(child, first)
        first += child.num_leaves


_TRACE = "pkg.torch.onnx.stack_trace"
# What the exporter puts before operators that mix types, which PyTorch's kernels do by themselves (torch/onnx/_internal/fx/passes/type_promotion.py).
_INSERTED = re.compile(r"target=torch\.ops\.(prims\.convert_element_type|aten\.scalar_tensor)\.")


def _clean(graph: ir.Graph) -> None:
    """Nodes keep what Plimsoll reads: modules, source lines without this machine's folders, marks."""
    for node in graph.all_nodes():
        properties = node.metadata_props
        trace, marks = split(properties.pop(_TRACE, ""))
        if trace:
            properties[_TRACE] = re.sub(r'File "[^"]*/', 'File "', trace)
        inserted = _INSERTED.search(properties.pop("pkg.torch.onnx.fx_node", ""))
        # The last of the nodes that a call became has its name, those before it are numbered values.
        numbered = str(node.outputs[0].name).startswith("val_")
        properties.update({f"plimsoll.{mark}": "1" for mark in marks if mark == "no_grad" or not (numbered or inserted)})


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
    for node in graph.all_nodes():  # a value of a parameter's name: t of x.t()
        for value in node.outputs:
            if value.name in graph.initializers:
                value.name += "_value"
    for superseded in [key for key in graph.metadata_props if key.startswith("pkg.torch.export.")]:
        del graph.metadata_props[superseded]
    graph.metadata_props["plimsoll.state"] = json.dumps(state, separators=(",", ":"))
    for name, value in graph.initializers.items():
        constant = value.const_value
        if name not in first.values() and constant is not None and constant.nbytes > _KEPT_BYTES:
            value.const_value = ir.ExternalTensor("weights", 0, constant.nbytes, constant.dtype, shape=constant.shape, name=name)
