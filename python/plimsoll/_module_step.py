"""The training step of a module that comes without one: forward, a loss, backward, an update, as settings name them."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

_SGD: dict[str, Any] = {"lr": 0.01}
_MOMENTUM: dict[str, Any] = {"lr": 0.01, "momentum": 0.9}
_OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", _SGD), "momentum": ("SGD", _MOMENTUM), "nesterov": ("SGD", {**_MOMENTUM, "nesterov": True}),
    "adam": ("Adam", {}), "adamw": ("AdamW", {}), "rmsprop": ("RMSprop", {}), "adagrad": ("Adagrad", {}), "adafactor": ("Adafactor", {})}
_FUSED = ("sgd", "momentum", "nesterov", "adam", "adamw")  # PyTorch has one kernel for these on a card
_DECAY = 0.01
_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}
_AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}
_WORDS = {
    "mode": ("train", "train_no_update", "inference"),
    "precision": ("fp32", "tf32", *_HALVES, *_AUTOCAST),
    "optimizer": (*_OPTIMIZERS, *(f"{name}-fused" for name in _FUSED), *(f"{name}-loop" for name in _OPTIMIZERS if name != "adafactor")),
    "loss": ("cross_entropy", "mse", "bce", "sum", "causal_lm"),
    "zero_grad": ("none", "before", "after", "keep"),
    "layout": ("nchw", "nhwc"),
    "gpus": ("1",)}
# A step of ours does what they say, whatever their value.
_ANY = ("accumulate", "freeze", "train", "weight_decay", "clip_grad_norm", "checkpoint")
# They say how a step is trained or run, and no step of ours does it.
_OTHER_STEPS = ("recipe", "compile", "cuda_graphs", "dropout", "trainer", "finetune", "lora_rank", "lora_alpha", "lora_dropout", "lora_targets", "lora_upcast",
                "quantize", "quantizer", "kbit_prepare", "bitsandbytes", "lora_form", "lora_in_blocks", "use_reentrant", "keep_outputs", "last_outputs", "widen_outputs", "loss_shift", "half_norms", "attention", "recurrent", "input_gradient", "parallel", "fsdp", "zero", "zero_group",
                "fsdp_version", "no_sync", "tp", "sequence_parallel", "pp", "schedule", "micro_batches", "rank", "nodes")
OF_THE_STEP = frozenset((*_WORDS, *_ANY)) - {"gpus"}  # what a record is made for


def beyond(settings: Mapping[str, Any]) -> str:
    """The first setting that a step of ours does not follow, "" where it follows all."""
    for name, value in settings.items():
        if value is None or value is False:
            continue
        if name in _OTHER_STEPS or (name in _WORDS and str(value) not in _WORDS[name]):
            return name
        if name in ("shape", "image") or (name == "vary" and value == "image"):  # sizes that the sample does not name
            return name
        if name == "framework" and not str(value).startswith("pytorch"):
            return name
        if name == "checkpoint" and str(value) == "mirror":
            return name
    return ""


def arguments_for(settings: Mapping[str, Any], arguments: Any) -> Any:
    """The sample in the type that the settings give the network."""
    dtype = _HALVES.get(str(settings.get("precision")))

    def typed(leaf: Any) -> Any:
        return leaf.to(dtype) if dtype and isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
    return torch.utils._pytree.tree_map(typed, arguments)


class ModuleStep:
    """Set up where tensors have no values, so that the module at hand stays as it is."""

    def __init__(self, module: torch.nn.Module, settings: Mapping[str, Any]) -> None:
        self.module, self.settings = module, settings
        self.optimizers: list[torch.optim.Optimizer] = []
        self.targets: list[torch.Tensor] = []
        self._scaler: Any = None

    def set_up(self) -> Callable[..., None]:
        module, settings = self.module, self.settings
        mode, precision = str(settings.get("mode") or "train"), str(settings.get("precision") or "fp32")
        _freeze(module, settings)
        if precision in _HALVES:
            module.to(_HALVES[precision])
        if settings.get("layout") == "nhwc":
            module.to(memory_format=torch.channels_last)
        _checkpoint(module, str(settings.get("checkpoint") or "none"))
        autocast = _AUTOCAST.get(precision)
        if mode == "inference":
            module.eval()
            return self._forward(autocast)
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if mode == "train" and trained:
            self.optimizers = [_optimizer(trained, str(settings.get("optimizer") or "momentum"), bool(settings.get("weight_decay")))]
        if precision == "amp-fp16":
            self._scaler = torch.amp.GradScaler("cuda")
        return self._step(autocast, trained)

    def buffers(self) -> list[torch.Tensor]:
        """What stays on the card and is the network's in no other way."""
        return [] if self._scaler is None else [t for t in (self._scaler._scale, self._scaler._growth_tracker) if t is not None]

    def _forward(self, autocast: Any) -> Callable[..., None]:
        def forward(*args: Any, **kwargs: Any) -> None:
            with torch.no_grad(), _casts(autocast):
                outputs = self.module(*args, **kwargs)  # noqa: F841
        return forward

    def _step(self, autocast: Any, trained: Sequence[torch.nn.Parameter]) -> Callable[..., None]:
        """Outputs and loss have names, so they live to its end."""
        module, scaler, settings = self.module, self._scaler, self.settings
        passes, cleared = int(settings.get("accumulate") or 1), str(settings.get("zero_grad") or "after")
        norm = settings.get("clip_grad_norm")
        limit = None if norm in (None, "none") else float(norm)

        def step(*args: Any, **kwargs: Any) -> None:
            if cleared == "before":
                _clear(trained, cleared)
            for _ in range(passes):
                with _casts(autocast):
                    outputs = module(*args, **kwargs)
                    loss = self._loss(outputs)
                if loss.requires_grad:
                    (loss if scaler is None else scaler.scale(loss)).backward()
            for optimizer in self.optimizers:
                if limit is not None:
                    if scaler is not None:
                        scaler.unscale_(optimizer)
                    torch.nn.utils.clip_grad_norm_(trained, limit)
                if scaler is None:
                    optimizer.step()
                else:
                    scaler.step(optimizer)
                    scaler.update()
            if cleared != "before":
                _clear(trained, cleared)
        return step

    def _loss(self, outputs: Any) -> torch.Tensor:
        """The module's own, else the setting's of each float output; the targets are made once."""
        asked = self.settings.get("loss")
        own = _own_loss(outputs) if asked is None else None
        if own is not None:
            return own
        kind = str(asked or "cross_entropy")
        found = [leaf for leaf in tree_leaves(_without_caches(outputs)) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
        if not found:
            raise ValueError("the module returns no tensor of floats to take a loss of: give from_step the step of your loop")
        if len(self.targets) != len(found):
            self.targets = [_target(output, kind) for output in found]
        total = _loss_of(found[0], self.targets[0], kind)
        for output, target in zip(found[1:], self.targets[1:]):
            total = total + _loss_of(output, target, kind)
        return total


def _own_loss(outputs: Any) -> torch.Tensor | None:
    """`loss` of what it returns, or the sum where it returns numbers alone, as detectors in training do."""
    named = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
    if isinstance(named, torch.Tensor) and named.dim() == 0:
        return named
    leaves = [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    if leaves and all(leaf.dim() == 0 and leaf.is_floating_point() for leaf in leaves):
        return sum(leaves[1:], leaves[0])
    return None


def _without_caches(outputs: Any) -> Any:
    """Keys and values of past positions are returned for later steps: no loss is taken of them."""
    if not isinstance(outputs, Mapping):
        return outputs
    return [value for name, value in outputs.items() if "past_key_values" not in name and "cache" not in name]


def _class_axis(output: torch.Tensor) -> int:
    """Classes come last, except in maps (batch, classes, height, width)."""
    return 1 if output.dim() > 3 else -1


def _target(output: torch.Tensor, kind: str) -> torch.Tensor:
    if output.dim() == 0 or kind == "sum":
        return output.new_empty(0)
    if kind in ("mse", "bce"):
        return torch.rand_like(output)
    sizes = list(output.shape)
    classes = sizes.pop(_class_axis(output))
    return torch.randint(0, classes, sizes, device=output.device)


def _loss_of(output: torch.Tensor, target: torch.Tensor, kind: str) -> torch.Tensor:
    if output.dim() == 0 or kind == "sum":
        return output.sum()
    if kind == "mse":
        return F.mse_loss(output, target)
    if kind == "bce":
        return F.binary_cross_entropy(output, target)
    if kind == "causal_lm":  # as transformers' ForCausalLMLoss
        shifted = F.pad(target, (0, 1), value=-100)[..., 1:].contiguous()
        output, target = output.float().view(-1, output.shape[-1]), shifted.view(-1)
    elif _class_axis(output) == -1 and output.dim() > 1:
        output, target = output.flatten(0, -2), target.flatten()  # a row for every position, as scripts do
    return F.cross_entropy(output, target)


@contextlib.contextmanager
def _casts(dtype: Any) -> Iterator[None]:
    if dtype is None:
        yield
        return
    with torch.autocast("cuda", dtype=dtype):
        yield


def _optimizer(parameters: Sequence[torch.nn.Parameter], name: str, decays: bool) -> torch.optim.Optimizer:
    name, _, form = name.partition("-")
    kind, options = _OPTIMIZERS[name]
    options = dict(options)
    if decays:  # AdamW does in any case
        options["weight_decay"] = _DECAY
    if form == "fused":
        options["fused"] = True
    elif name != "adafactor":
        options["foreach"] = form != "loop"
    made: torch.optim.Optimizer = getattr(torch.optim, kind)(parameters, **options)
    return made


def _clear(parameters: Sequence[torch.nn.Parameter], how: str) -> None:
    for parameter in parameters:
        if how != "keep":
            parameter.grad = None
    if how == "keep":
        torch._foreach_zero_([parameter.grad for parameter in parameters if parameter.grad is not None])


def _freeze(module: torch.nn.Module, settings: Mapping[str, Any]) -> None:
    """Of the rules that match a weight the last one holds."""
    for rule, trained in (("freeze", False), ("train", True)):
        given = settings.get(rule)
        for glob in [given] if isinstance(given, str) else given or ():
            for name, parameter in module.named_parameters():
                if fnmatchcase(name, glob):
                    parameter.requires_grad_(trained)


def _checkpoint(module: torch.nn.Module, what: str) -> None:
    """Forwards that run again in the backward pass: of blocks, of every second one, or of modules by their paths."""
    if what == "none":
        return
    blocks = [path for path, one in module.named_modules() if path.rpartition(".")[2].isdigit() and any(True for _ in one.children())]
    blocks = [path for path in blocks if not any(path.startswith(other + ".") for other in blocks)]
    chosen = blocks[::2] if what == "blocks/2" else blocks
    if what not in ("blocks", "blocks/2"):
        named = [name.strip() for name in what.split(",")]
        chosen = [path for path in blocks if path.rpartition(".")[0] in named]
        chosen = chosen or [path for path, _ in module.named_modules() if path and any(fnmatchcase(path, name) for name in named)]
    if not chosen:
        raise ValueError(f"checkpoint={what}: the module has no such part")
    for path in chosen:
        part = module.get_submodule(path)
        part.forward = _again(part.forward)


def _again(forward: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)
    return call
