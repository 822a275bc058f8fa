"""What exporters lose of a module's code, told to the file through what they pass on of each call: its stack trace."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    import torch

_MARK = "\nplimsoll: "


def mark(program: torch.export.ExportedProgram) -> None:
    """What runs without gradients, in place, and on the card though it is made of no data."""
    _inline_regions(program)
    _write_views(program)
    _write_numbers(program)
    _mark_in_place(program)
    _mark_on_device(program)


def split(trace: str) -> tuple[str, list[str]]:
    """A stack trace, and the marks behind it."""
    trace, *marks = trace.split(_MARK)
    return trace, marks


def _add(node: torch.fx.Node, name: str) -> None:
    node.meta["stack_trace"] = node.meta.get("stack_trace", "") + _MARK + name


def _children(above: str, paths: list[str]) -> set[str]:
    return {path for path in paths if path and path.rpartition(".")[0] == above}


class Checkpoints:
    """Hears what torch.utils.checkpoint computes again in the backward pass: for each call, the modules that it calls."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._paths = {id(vars(one)): path for path, one in module.named_modules()}  # a tracer's stand-ins share these
        self._depth = 0
        self._open = 0
        self.regions: list[set[str]] = []

    def path(self) -> str | None:
        """The list of modules, or the module, that is; "" where it is something else, None where nothing is."""
        if not self.regions:
            return None
        paths = list(self._paths.values())
        parts = {self._whole(region, paths) for region in self.regions}
        if "" in parts:
            return ""
        for above in {path.rpartition(".")[0] for path in parts if path.rpartition(".")[2].isdigit()}:
            if parts == _children(above, paths):
                return above or "blocks"
        alone = parts.pop() if len(parts) == 1 else ""
        numbered = [path for path in paths if path.startswith(alone + ".") and path.rpartition(".")[2].isdigit()]
        return "" if numbered else alone

    @staticmethod
    def _whole(called: set[str], paths: list[str]) -> str:
        """The module that a region runs: the one that it calls, or the one all of whose parts it calls."""
        if len(called) == 1:
            return next(iter(called))
        above = {path.rpartition(".")[0] for path in called}
        return above.pop() if len(above) == 1 and called == _children(next(iter(above)), paths) else ""

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        import torch
        from torch.utils import checkpoint

        def enter() -> None:
            self._open += 1
            if self._open == 1:
                self._depth = 0
                self.regions.append(set())

        def leave() -> None:
            self._open -= 1

        class Hook(checkpoint._checkpoint_hook):  # type: ignore[misc]
            def __enter__(self) -> Any:
                enter()
                return super().__enter__()

            def __exit__(self, *fault: object) -> Any:
                leave()
                return super().__exit__(*fault)

        def reentrant(function: Any, preserve: bool, *args: Any) -> Any:
            enter()
            try:
                return function(*args)
            finally:
                leave()

        def before(module: torch.nn.Module, _: Any) -> None:
            if self._open and self._depth == 0:
                self.regions[-1].add(self._paths.get(id(vars(module)), ""))
            self._depth += 1

        def after(module: torch.nn.Module, _: Any, __: Any) -> None:
            self._depth -= 1

        hooks = [torch.nn.modules.module.register_module_forward_pre_hook(before),
                 torch.nn.modules.module.register_module_forward_hook(after, always_call=True)]
        try:
            with mock.patch.object(checkpoint, "_checkpoint_hook", Hook), \
                    mock.patch.object(checkpoint.CheckpointFunction, "apply", reentrant):
                yield
        finally:
            for hook in hooks:
                hook.remove()


def _inline_regions(program: torch.export.ExportedProgram) -> None:
    """Puts regions of torch.no_grad() back where they ran: from a region of its own an exporter passes on neither lines
    nor modules."""
    import torch

    graph = program.graph
    region = getattr(torch.ops.higher_order, "wrap_with_set_grad_enabled", None)
    while found := [node for node in graph.nodes if node.op == "call_function" and node.target is region]:
        for node in found:
            enabled, name, *given = node.args
            inner = getattr(program.graph_module, name.target).graph
            places = [one for one in inner.nodes if one.op == "placeholder"]
            made = dict(zip(places, given))
            with graph.inserting_before(node):
                outputs = graph.graph_copy(inner, made)
            for place, one in made.items():
                if place not in places and not enabled:
                    _add(one, "no_grad")
            for part in list(node.users):
                value = outputs[part.args[1]]
                part.replace_all_uses_with(value)
                program.graph_signature.replace_all_uses(part.name, value.name)
                graph.erase_node(part)
            graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()


def _mark_in_place(program: torch.export.ExportedProgram) -> None:
    import torch

    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        value = node.meta.get("val")
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        if floats and node.target._schema.name.endswith("_") and node.args[0].op != "placeholder":
            _add(node, "in_place")


def _write_views(program: torch.export.ExportedProgram) -> None:
    """x[:, :8] of eight columns is a view of x as others are where something is written into it, and no exporter keeps an alias."""
    import torch

    aten = torch.ops.aten
    for node in program.graph.nodes:
        if node.target is aten.alias.default and any(_name_of(user).endswith("_") and user.args[0] is node for user in node.users):
            sizes = node.meta["val"].shape
            axis = next((axis for axis, size in enumerate(sizes) if isinstance(size, int)), None)
            if axis is not None:
                node.target, node.args = aten.slice.Tensor, (node.args[0], axis, 0, sizes[axis])
    program.graph_module.recompile()


def _write_numbers(program: torch.export.ExportedProgram) -> None:
    """where() writes each number that it is given into a tensor of its own, and attention does so with a mask of true and false
    (where() of aten/src/ATen/native/TensorCompare.cpp, convert_boolean_attn_mask() of native/transformers/attention.cpp, PyTorch 2.6)."""
    import torch

    aten, graph = torch.ops.aten, program.graph

    def insert(target: Any, args: tuple[Any, ...], like: torch.fx.Node, **kwargs: Any) -> torch.fx.Node:
        made = graph.call_function(target, args, kwargs)
        made.meta = dict(like.meta)
        with like.meta["val"].fake_mode:
            made.meta["val"] = target(*(arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args), **kwargs)
        return made

    def number(value: Any, like: torch.fx.Node) -> torch.fx.Node:
        return insert(aten.full.default, ([], value), like, dtype=like.meta["val"].dtype, device=like.meta["val"].device)

    for node in list(graph.nodes):
        with graph.inserting_before(node):
            if node.target in (aten.where.Scalar, aten.where.ScalarSelf, aten.where.ScalarOther):
                condition, *sides = node.args
                node.target, node.args = aten.where.self, (condition, *(one if isinstance(one, torch.fx.Node) else number(one, node) for one in sides))
            elif node.target is aten.scaled_dot_product_attention.default:
                mask = node.args[3] if len(node.args) > 3 else node.kwargs.get("attn_mask")
                if mask is not None and mask.meta["val"].dtype is torch.bool:
                    added = insert(aten.where.self, (mask, number(0.0, node), number(float("-inf"), node)), node)
                    node.replace_input_with(mask, added)
    program.graph_module.recompile()


def _mark_on_device(program: torch.export.ExportedProgram) -> None:
    """Positions, masks and tables that forward() makes anew on the card: of no input, no weight and no buffer."""
    import torch
    from torch.utils._pytree import tree_leaves

    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    data: set[torch.fx.Node] = set()
    for node in program.graph.nodes:
        tensors = [leaf for leaf in tree_leaves(node.meta.get("val")) if isinstance(leaf, torch.Tensor)]
        fixed = node.name in constants if node.op == "placeholder" else _shaped_like(node) or data.isdisjoint(node.all_input_nodes)
        if tensors and not fixed:
            data.add(node)
        elif any(tensor.device.type == "cuda" for tensor in tensors) and _is_computed(node):
            _add(node, "on_device")


def _name_of(node: torch.fx.Node) -> str:
    return str(node.target._schema.name) if hasattr(node.target, "_schema") else ""


def _shaped_like(node: torch.fx.Node) -> bool:
    """Does it read no more than the size and type of its input: zeros_like(x), x.new_ones()?"""
    name = _name_of(node)
    return name.startswith("aten::new_") or (name.endswith("_like") and "rand" not in name)


def _is_computed(node: torch.fx.Node) -> bool:
    """Not of nothing, nor what x[2:] = 1 writes, which the file has as an assignment."""
    return node.op == "call_function" and "empty" not in _name_of(node) and _name_of(node) != "aten::fill_"
