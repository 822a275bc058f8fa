"""One step, three times over, on tensors without values: what the third one did, as plain data."""
from __future__ import annotations

import gc
import itertools
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from ._module_step import ModuleStep
from ._record_card import means_the_host, pretend, stand_in_for_recurrent_layers
from ._record_ctc import with_tensors
from ._record_in_place import added_in_place, in_order
from ._record_known import SHORT, Known
from ._record_packed import stand_in_for_packed_sequences
from ._record_tensors import Held, beside, empty, exchange, held, short_buffers
from ._record_trace import Kept, ModuleStack, Storages, Trace, parts_of, type_of
from ._record_values import Values

_TO_HOST = {torch.Tensor.cpu, torch.Tensor.numpy}
_CTC_LOSSES = {torch.ctc_loss, torch.nn.functional.ctc_loss}
_OF_NUMBERS = {torch.tensor, torch.as_tensor}
STEPS = 3  # the first makes the optimizer's states, the third is like all that follow; of a step of ours, which keeps nothing, the second


class OnCard(TorchFunctionMode):
    """The host stands for the card where the program names it: `device = "cuda" if torch.cuda.is_available() else "cpu"` said "cpu".
    `beside`: tensors that are moved there with no module; one that the program moves has lain on the host."""

    def __init__(self, storages: Storages, beside: Sequence[Any]) -> None:
        super().__init__()
        self.storages = storages
        self.beside = {storage._cdata: storage for storage in (tensor.untyped_storage() for tensor in beside)}

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in _TO_HOST or means_the_host(sys._getframe(1).f_code.co_filename):
            return function(*args, **kwargs)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _card_for(kwargs["device"])}
        if function is torch.Tensor.to:
            args = tuple(_card_for(one) for one in args)
            if self.beside and any(map(_names_card, (*args[1:], kwargs.get("device")))) and args[0].untyped_storage()._cdata in self.beside:
                kwargs = {**kwargs, "copy": True}
                self.storages.lies_on_host(args[0].untyped_storage())
        if function in _CTC_LOSSES:
            args, kwargs = with_tensors(args, kwargs)
        if function in _OF_NUMBERS and _is_card(kwargs.get("device")):  # made of the host's numbers, as it is on a card
            return function(*args, **{name: value for name, value in kwargs.items() if name != "device"}).to(kwargs["device"])
        return function(*args, **kwargs)


def _card_for(device: Any) -> Any:
    if isinstance(device, str) and device.partition(":")[0] in ("cpu", "meta"):
        return "cuda"
    return torch.device("cuda", 0) if isinstance(device, torch.device) and device.type in ("cpu", "meta") else device


def _names_card(given: Any) -> bool:
    return isinstance(given, (str, torch.device)) and _is_card(given)


def _is_card(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


def run(step: Callable[..., Any], inputs: tuple[tuple[Any, ...], dict[str, Any]], sizes: Mapping[tuple[Any, ...], int],
        capability: tuple[int, int], world: tuple[int, int] | None = None) -> dict[str, Any]:
    """`sizes`: of (argument, axis) that differ from the sample's. `world`: ranks and which of them this is; then `step` makes the step.
    A ModuleStep is set up here. For a process of its own."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    if world:
        from . import _record_world

        _record_world.enter(*world)
    pretend(capability)
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # faults are raised
    gc.disable()  # what cycles hold goes at times that are the collector's own
    # Where PyTorch has no shapes for an operator it would run it on the card: an error that names the operator is better.
    mode = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    everything, values = held(), Values()
    leaves = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    numbers = {id(leaf): leaf.detach().clone() for leaf in leaves if leaf.device.type == "cpu" and leaf.numel() <= SHORT}
    stays, buffers = beside(everything.modules), short_buffers(everything.modules, SHORT)
    empty(everything, mode, leaves)
    for buffer, its_numbers in buffers:
        values.known.learn(buffer, its_numbers)
    torch.utils.swap_tensors = exchange  # Module.to(): PyTorch's own refuses tensors that somebody watches
    with mode:
        inputs = _resized(inputs, sizes, numbers, values.known)
    names = module_names(everything.modules)
    storages = Storages()
    storages.follow_resizes()
    trace = Trace(storages, ModuleStack(names), values, _record_world.Collectives(storages) if world else None)
    stand_in_for_recurrent_layers(trace.note_call)
    stand_in_for_packed_sequences(values)
    leave_uncompiled(everything.modules, values)
    if any(not scaler.is_enabled() for scaler in everything.scalers):
        values.state("a GradScaler that is disabled does nothing: without a GPU it disables itself when it is created, so create it inside the step")
    with mode, trace, OnCard(storages, stays):
        ours = step if isinstance(step, ModuleStep) else None
        if ours is not None:
            step = ours.set_up()
            everything = Held([], list(ours.module.modules()), list(ours.optimizers))
            names.clear()
            names.update((id(module), path) for path, module in ours.module.named_modules())
            storages.forget()
        elif world:
            with torch.device("cuda"):  # programs that move what they build would have it there as well
                step = step()
            _record_world.follow_schedules(trace.modules)
            _record_world.hear_no_shapes(trace)
            everything = held()
            everything.tensors.clear()
            names.update(module_names(everything.modules))
        recording = Recording(trace, inputs, everything, names, ours)
        recording.adopt()
        steps = STEPS if ours is None else 2
        for number in range(steps):
            recording.run(step, last=number == steps - 1)
    return recording.result()


def leave_uncompiled(modules: list[Any], values: Values) -> None:
    """What torch.compile makes of them runs on a card alone."""
    compiled = [one for one in modules if type(one).__name__ == "OptimizedModule" or getattr(one, "_compiled_call_impl", None) is not None]
    if compiled and hasattr(torch.compiler, "set_stance"):
        torch.compiler.set_stance("force_eager")
        values.stated.setdefault("torch.compile does not run: the operators are those of the program as it is written")


def _resized(inputs: Any, sizes: Mapping[tuple[Any, ...], int], numbers: Mapping[int, Any], known: Known) -> Any:
    """Of short inputs the numbers are known, and repeat where more are wanted."""
    args, kwargs = inputs

    def one(key: Any, value: Any) -> Any:
        def resized(tensor: Any) -> Any:
            if not isinstance(tensor, torch.Tensor):
                return tensor
            shape = [sizes.get((key, axis, tensor.shape[axis]), tensor.shape[axis]) for axis in range(tensor.dim())]
            same = shape == list(tensor.shape)
            made = tensor if same else torch.empty(shape, dtype=tensor.dtype, device=tensor.device, requires_grad=tensor.requires_grad)
            if id(tensor) in numbers:
                known.learn(made, numbers[id(tensor)], shape)
            return made
        return tree_map(resized, value)

    return tuple(one(at, value) for at, value in enumerate(args)), {name: one(name, value) for name, value in kwargs.items()}


def module_names(everything: list[Any]) -> dict[int, str]:
    """Paths of all modules, beneath the name of its class where there are several networks."""
    inner = {id(child) for module in everything for child in module.children()}
    roots = [module for module in everything if id(module) not in inner and not type(module).__module__.startswith("torch.nn.modules.loss")]
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    for root in roots:
        kind = type(root).__name__
        taken[kind] = taken.get(kind, 0) + 1
        prefix = "" if len(roots) == 1 else kind if taken[kind] == 1 else f"{kind}{taken[kind]}"
        for path, module in root.named_modules():
            names.setdefault(id(module), ".".join(filter(None, (prefix, path))))
    return names


def as_moved(modules: list[Any]) -> list[Any]:
    """In the order in which Module.to() moves them: children first (Module._apply in torch/nn/modules/module.py)."""
    order: dict[int, Any] = {}
    begun: set[int] = set()

    def move(module: Any) -> None:
        if id(module) not in begun:
            begun.add(id(module))
            for child in module.children():
                move(child)
            order[id(module)] = module

    inner = {id(child) for module in modules for child in module.children()}
    for module in sorted(modules, key=lambda module: id(module) in inner):  # whole networks before what they hold
        move(module)
    return list(order.values())


class Recording:
    """The steady step of a program, and what each storage is to it."""

    def __init__(self, trace: Trace, inputs: Any, everything: Held, names: dict[int, str], ours: ModuleStep | None = None) -> None:
        self.ours = ours
        self.trace, self.storages = trace, trace.storages
        self.args, self.kwargs = inputs
        self.gradients: set[int] = set()
        self.begins: list[int] = []  # of each step, in the events
        self.modules, self.optimizers, self.names = everything.modules, everything.optimizers, names
        self.kept = Kept(trace)
        register_optimizer_step_pre_hook(self._update_begins)
        register_optimizer_step_post_hook(self._update_ends)

    def adopt(self) -> None:
        """All that is there before the first step, in the order in which programs make it."""
        for module in as_moved(self.modules):
            self.storages.numbers([*module._parameters.values(), *module._buffers.values()])
        self.storages.numbers(tree_leaves((self.args, self.kwargs)))
        for optimizer in self.optimizers:
            self.storages.numbers(tree_leaves(list(optimizer.state.values())))
        self.storages.numbers(self._gradients())

    def _gradients(self) -> list[Any]:
        held = [t for optimizer in self.optimizers for group in optimizer.param_groups for t in group["params"]]
        held += [t for module in self.modules for t in module._parameters.values() if t is not None]
        return [t.grad for t in held if t.grad is not None]

    def _update_begins(self, *_: Any) -> None:
        self.trace.updating = True
        self.gradients.update(self.storages.numbers(self._gradients()))

    def _update_ends(self, *_: Any) -> None:
        self.trace.updating = False

    def run(self, step: Callable[..., Any], last: bool) -> None:
        trace, storages = self.trace, self.storages
        trace.begin_pass()
        self.begins.append(len(storages.events))
        if last:
            self.before = storages.living()
            self.begin = self.begins[-1]
            if trace.collectives is not None:
                trace.collectives.begin_step()
            trace.sums.clear()
            trace.touched.clear()
            trace.nodes.clear()
            trace.backward_began.clear()
            self.gradients.clear()
            with self.kept.hooks:
                step(*self.args, **self.kwargs)
        else:
            step(*self.args, **self.kwargs)
        gc_gradients = self._gradients()
        self.gradients.update(storages.numbers(gc_gradients))
        del gc_gradients
        if last and trace.collectives is not None:
            trace.collectives.end_step()

    def result(self) -> dict[str, Any]:
        events, at_backward, owner = added_in_place(self.storages.events[self.begin:], [at - self.begin for at in self.trace.backward_began],
                                                    [(at - self.begin, total, older) for at, total, older in self.trace.sums], self.storages.bytes)
        events = in_order(events)
        roles = self._roles(owner)
        ended = {number for kind, number, *_ in events if kind == "-"}
        belongs = self._belongs(roles)
        resident = [number for number in self.before if number not in ended and number in belongs]
        stays = set(resident)
        leaving = [number for number in self.before if number in ended]
        born = [number for kind, number, *_ in events if kind == "+"]
        events = [("+", number, "forward", -1) for number in leaving] + events
        events += [("-", number, "update", -1) for number in born if number not in ended]
        at_backward = [at + len(leaving) for at in at_backward]
        saved, end_of_forward = self._saved(events, at_backward, owner, stays | set(leaving))
        for number, _ in saved:
            roles.setdefault(number, "feature_map")
        order = {number: at for at, number in enumerate(dict.fromkeys([*resident, *leaving, *born]))}
        return {
            "name": self._name(), "stated": list(self.trace.values.stated), "nodes": list(self.trace.nodes),
            "storages": [(self.storages.bytes[number], roles.get(number, "temporary"), number in stays, self.storages.streams[number]) for number in order],
            "events": [(kind, order[what] if kind in "+-" else what, phase, node) for kind, what, phase, node in events],
            "saved": [(order[number], node) for number, node in saved], "end_of_forward": end_of_forward,
            "parameters": self._parameters(), "inputs": self._inputs(), "groups": [] if self.trace.collectives is None else self.trace.collectives.rows(),
            "at_first": self._at_first(),
            "late": sorted({order[owner(number)] for number in self.storages.late if owner(number) in order})}

    def _at_first(self) -> list[tuple[int, int]]:
        """(bytes, stream) of what the first step alone takes and gives back at once before its first kernel."""
        def passing(begin: int) -> list[tuple[int, int]]:
            head = list(itertools.takewhile(lambda event: event[0] != "!", self.storages.events[begin:]))
            return [(self.storages.bytes[what], self.storages.streams[what]) for (kind, what, *_), (ends, other, *_) in zip(head, head[1:])
                    if kind == "+" and ends == "-" and what == other]

        later = passing(self.begin)
        return [one for one in passing(self.begins[0]) if one not in later]

    def _name(self) -> str:
        roots = [type(module).__name__ for module in self.modules if self.names.get(id(module)) in ("", type(module).__name__)]
        return roots[0] if roots else "step"

    def _roles(self, owner: Callable[[int], int]) -> dict[int, str]:
        roles: dict[int, str] = {}

        def are(role: str, tensors: Any) -> None:
            for number in self.storages.numbers([t for t in tensors if t is not None]):
                roles.setdefault(number, role)

        for module in self.modules:
            are("parameter", module._parameters.values())
        for module in self.modules:
            are("buffer", module._buffers.values())
        are("input", tree_leaves((self.args, self.kwargs)))
        if self.ours is not None:
            are("input", self.ours.targets)
            are("buffer", self.ours.buffers())
        for optimizer in self.optimizers:
            are("parameter", [t for group in optimizer.param_groups for t in group["params"]])
            are("optimizer_state", [t for t in tree_leaves(list(optimizer.state.values())) if isinstance(t, torch.Tensor)])
        for number in self.gradients:
            roles.setdefault(owner(number), "gradient")
        return roles

    def _belongs(self, roles: Mapping[int, str]) -> set[int]:
        """The storages that are the step's: what it touched, and the rest of each network and optimizer of which it touched a part."""
        belongs = set(self.trace.touched)
        inner = {id(child) for module in self.modules for child in module.children()}
        for root in (module for module in self.modules if id(module) not in inner):
            whole = self.storages.numbers([*root.parameters(), *root.buffers()])
            if belongs & set(whole):
                belongs.update(whole)
        for optimizer in self.optimizers:
            whole = self.storages.numbers([t for group in optimizer.param_groups for t in group["params"]])
            if belongs & set(whole):
                belongs.update(whole)
                belongs.update(self.storages.numbers(tree_leaves(list(optimizer.state.values()))))
        return belongs | {number for number, role in roles.items() if role in ("input", "gradient")}

    def _saved(self, events: list[Any], at_backward: list[int], owner: Any, resident: set[int]) -> tuple[list[tuple[int, int]], int]:
        """What autograd keeps where a backward pass begins: at the one where it keeps most."""
        keeper: dict[int, int] = {}
        for number, node in self.kept.keeper.items():
            keeper.setdefault(owner(number), node)
        best: list[int] = []
        end = at_backward[0] if at_backward else len(events)
        size = -1
        living: set[int] = set()
        for at, (kind, what, *_) in enumerate(events):
            if at in at_backward:
                kept = [number for number in keeper if number in living and number not in resident]
                total = sum(self.storages.bytes[number] for number in kept)
                if total > size:
                    best, end, size = kept, at, total
            if kind == "+":
                living.add(what)
            elif kind == "-":
                living.discard(what)
        return [(number, keeper[number]) for number in best], end

    def _parameters(self) -> list[tuple[str, Any, bool]]:
        found: dict[int, tuple[str, Any, bool]] = {}
        for module in self.modules:
            for name, parameter in module._parameters.items():
                if parameter is not None and set(self.storages.numbers([parameter])) & self.trace.touched:
                    path = ".".join(filter(None, (self.names.get(id(module), ""), name)))
                    found.setdefault(id(parameter), (path, type_of(parameter), bool(parameter.requires_grad)))
        return list(found.values())

    def _inputs(self) -> list[tuple[str, Any]]:
        named = [*((str(at), value) for at, value in enumerate(self.args)), *self.kwargs.items()]
        return [(name, type_of(part)) for name, value in named for leaf in tree_leaves(value) for part in parts_of(leaf)]
