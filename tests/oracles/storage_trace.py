"""Which storages live when: a trace of a step, what autograd saved in it, and what a plain run would have done."""
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GRANULE = 512   # the caching allocator's smallest block

# What gradients of gather, index, index_select, max, sort and topk are scattered with (FunctionsManual.cpp).
INTO_ZEROS = {torch.ops.aten.scatter_add.default, torch.ops.aten.scatter.src, torch.ops.aten.index_add.default,
              torch.ops.aten.index_put.default}


def rounded(size):
    return (size + GRANULE - 1) // GRANULE * GRANULE


class StorageTrace(TorchDispatchMode):
    """Events ("alloc" or "free", number of the storage, rounded bytes) of every storage on the GPU, in order."""
    DEVICE = "cuda"

    def __init__(self):
        super().__init__()
        self.events, self.phases, self.exact, self.sums = [], [(0, "start")], {}, []
        self.watched = {}   # address of a living storage -> (its number, the weak reference that waits for its end)
        self.recomputing = False   # a checkpointed block runs its forward again, inside backward

    def number(self, tensor):
        """The number of a tensor's storage, which is watched from now on; None if it takes no GPU memory."""
        storage = tensor.untyped_storage()
        if tensor.device.type != self.DEVICE or not storage.nbytes():
            return None
        address = storage._cdata
        if address not in self.watched:
            number, size = len(self.exact), rounded(storage.nbytes())
            self.exact[number] = storage.nbytes()
            self.events.append(("alloc", number, size))

            def ended(_):
                del self.watched[address]
                self.events.append(("free", number, size))

            self.watched[address] = number, weakref.ref(storage, ended)
        return self.watched[address][0]

    def numbers(self, tensors):
        return {number: None for t in tensors if (number := self.number(t)) is not None}.keys()

    def living(self):
        return {number for number, _ in self.watched.values()}

    def enter_phase(self, name):
        self.phases.append((len(self.events), name))

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.number(leaf)
        # In backward it is nearly always the engine that adds two tensors of one shape: gradients that meet.
        if operator is torch.ops.aten.add.Tensor and self.phases[-1][1] == "backward" and not self.recomputing:
            older, newer = args[:2]
            # One gradient that arrives twice has two holders.
            if isinstance(newer, torch.Tensor) and older is not newer and older.shape == newer.shape:
                self.sums.append((len(self.events), self.number(result), self.number(older)))
        # These fill zeros in place, but for subclasses of Tensor, which fake tensors are (isTensorSubclassLike).
        if operator in INTO_ZEROS and self.phases[-1][1] == "backward" and not self.recomputing:
            self.sums.append((len(self.events), self.number(result), self.number(args[0])))
        return result


class SavedTensors:
    """The storages that autograd keeps for backward, each credited to the module in whose forward it was first kept."""

    def __init__(self, model, trace, ignored):
        self.trace, self.ignored = trace, set(ignored)
        self.names = {module: name or "(model)" for name, module in model.named_modules()}
        self.inside = ["(loss)"]
        self.keeper = {}   # number of a storage -> name of the module

    def __enter__(self):
        hooks = torch.nn.modules.module

        def enter(module, _):
            self.inside.append(self.names.get(module, self.inside[-1]))

        def leave(*_):
            self.inside.pop()

        self.handles = [hooks.register_module_forward_pre_hook(enter),
                        hooks.register_module_forward_hook(leave, always_call=True)]
        self.saving = torch.autograd.graph.saved_tensors_hooks(self.keep, lambda tensor: tensor)
        self.saving.__enter__()
        return self

    def __exit__(self, *error):
        self.saving.__exit__(*error)
        for handle in self.handles:
            handle.remove()

    def keep(self, tensor):
        number = self.trace.number(tensor)
        if number is not None and number not in self.ignored:
            self.keeper.setdefault(number, self.inside[-1])
        return tensor.detach()   # itself it would hold the node that keeps it, for good where no backward pass comes by

    def living(self):
        return self.keeper.keys() & self.trace.living()

    def by_module(self):
        table = {}
        for number, name in self.keeper.items():
            table[name] = table.get(name, 0) + self.trace.exact[number]
        return table


def added_in_place(events, phases, sums):
    """(events, phases, owner of each storage) of a run that nobody watches.

    Under a dispatch mode, and StorageTrace is one, the engine adds gradients that meet into a new tensor. In a plain run
    it adds into the older one when nobody else holds it, which shows here as its end before anything else begins."""
    sizes = {number: size for kind, number, size in events if kind == "alloc"}
    born = {number: at for at, (kind, number, _) in enumerate(events) if kind == "alloc"}
    dead = {number: at for at, (kind, number, _) in enumerate(events) if kind == "free"}
    dropped, taken_over = set(), {}
    for at, total, older in sums:
        end = at
        while end < len(events) and events[end][0] == "free":
            end += 1
        if at <= dead.get(older, -1) < end and sizes[older] == sizes[total] and born[total] < at:
            dropped |= {born[total], dead[older]}
            taken_over[total] = older

    def owner(number):
        while number in taken_over:
            number = taken_over[number]
        return number

    before = [0]   # events kept before each position
    for at in range(len(events)):
        before.append(before[-1] + (at not in dropped))
    kept = [(kind, owner(number), size) for at, (kind, number, size) in enumerate(events) if at not in dropped]
    return kept, [(before[at], name) for at, name in phases], owner


def peak(events, phases):
    """(highest number of living bytes, phase in which it is reached, numbers of the storages alive then)"""
    living = highest = at_highest = 0
    for at, (kind, _, size) in enumerate(events):
        living += size if kind == "alloc" else -size
        if living > highest:
            highest, at_highest = living, at
    alive = {}
    for kind, number, size in events[:at_highest + 1]:
        if kind == "alloc":
            alive[number] = size
        else:
            del alive[number]
    return highest, [name for first, name in phases if first <= at_highest][-1], alive
