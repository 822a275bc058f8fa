"""How a step is run: in which precision, with which blocks computed again in backward, over how many passes."""
import json
import os
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from torch.utils.checkpoint import checkpoint

HERE = Path(__file__).resolve().parent
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Scaler:
    """What torch.amp.GradScaler allocates and runs, without reading the numbers that a fake tensor has not."""

    def __init__(self):
        self.factor = torch.full((), 65536.0, device="cuda")
        self.growth = torch.full((), 0, dtype=torch.int32, device="cuda")

    def state(self):
        return [self.factor, self.growth]

    def scale(self, loss):
        return loss * self.factor

    def unscale(self, gradients):
        inverse = self.factor.double().reciprocal().float()
        self.found = torch.full((), 0.0, device="cuda")
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, self.found, inverse)

    def update(self):
        torch._amp_update_scale_(self.factor, self.growth, self.found, 2.0, 0.5, 2000)
        del self.found


@dataclass(frozen=True)
class Recipe:
    precision: str = "fp32"     # or fp16, bf16, amp-fp16, amp-bf16
    checkpoint: str = "none"    # or blocks
    accumulate: int = 1         # forward and backward passes per update
    zero_grad: str = "none"     # gradients are set to None after the step ("before" it; "keep": set to zero)
    training: str = ""          # "-*,+fc.*": parameters frozen and trained, the last match holds

    @classmethod
    def add_arguments(cls, parser):
        parser.add_argument("--precision", default="fp32")
        parser.add_argument("--checkpoint", choices=("none", "blocks"), default="none")
        parser.add_argument("--accumulate", type=int, default=1)
        parser.add_argument("--zero-grad", choices=("none", "before", "after", "keep"), default="none")
        parser.add_argument("--training", default="")

    @classmethod
    def of(cls, options):
        return cls(options.precision, options.checkpoint, options.accumulate, options.zero_grad, options.training)

    def facts(self):
        """As goldens name it: without what is left as it is."""
        return {name: value for name, value in asdict(self).items() if name != "training" or value}

    def freeze(self, model):
        for rule in filter(None, self.training.split(",")):
            for name, parameter in model.named_parameters():
                if fnmatchcase(name, rule[1:]):
                    parameter.requires_grad_(rule[0] == "+")

    @contextmanager
    def autocast(self):
        """torch.autocast, which refuses where no GPU is."""
        if not self.precision.startswith("amp-"):
            yield
            return
        before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", TYPES[self.precision.removeprefix("amp-")])
        torch.autocast_increment_nesting()
        try:
            yield
        finally:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()
            torch.set_autocast_enabled("cuda", before[0])
            torch.set_autocast_dtype("cuda", before[1])

    def new_scaler(self):
        return Scaler() if self.precision == "amp-fp16" else None

    def typed(self, work):
        """Pure half precision: model and inputs in that type."""
        if self.precision in TYPES:
            dtype = TYPES[self.precision]
            work.model = work.model.to(dtype)
            work.inputs = {name: t.to(dtype) if t.is_floating_point() else t for name, t in work.inputs.items()}
        return work


FP32 = Recipe()
# What people change first; each network of networks.txt is measured so.
USUAL = (Recipe("amp-fp16"), Recipe("amp-bf16"), Recipe("bf16"), Recipe(checkpoint="blocks"), Recipe(accumulate=2))


def blocks_of(model):
    """The repeated modules: numbered, with modules inside, and in no other such module."""
    found = []
    for name, module in model.named_modules():
        numbered = name.rpartition(".")[2].isdigit() and any(True for _ in module.children())
        if numbered and not any(name.startswith(outer + ".") for outer, _ in found):
            found.append((name, module))
    return found


def checkpoint_blocks(model, step):
    """Each block's forward goes through torch.utils.checkpoint; `step.trace` hears when one runs again."""

    @contextmanager
    def again():
        if step.trace:
            step.trace.recomputing = True
        try:
            with step.recipe.autocast():
                yield
        finally:
            if step.trace:
                step.trace.recomputing = False

    def wrapped(forward):
        def call(*args, **kwargs):
            return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False,
                              context_fn=lambda: (nullcontext(), again()), **kwargs)
        return call

    for _, module in blocks_of(model):
        module.forward = wrapped(module.forward)


def catalogue():
    """(spec, batch, optimizer, recipe) of recipes.txt."""
    for line in (HERE / "recipes.txt").read_text().splitlines():
        words = line.split()
        if words and words[0] != "#":
            fields = dict(word.split("=", 1) for word in words[3:])
            if "accumulate" in fields:
                fields["accumulate"] = int(fields["accumulate"])
            yield words[0], int(words[1]), words[2], Recipe(**fields)


def write_golden(path, measure, versions):
    """A line per configuration; those there already are kept."""
    document = json.loads(path.read_text()) if path.exists() else {"cases": []}
    known = {json.dumps([c["model"], c["batch"], c["mode"], c["recipe"]]) for c in document["cases"]}
    for spec, batch, mode, recipe in catalogue():
        if json.dumps([spec, batch, mode, recipe.facts()]) in known:
            continue
        try:
            facts, case, _ = measure(spec, batch, mode, recipe)
        except Exception as error:
            print(spec, recipe, f"{type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        row = {"model": spec, "batch": batch, "mode": mode, "recipe": recipe.facts(), "loss": facts["loss"],
               "inputs": case["inputs"], "parameters": facts["parameters"]["bytes"],
               "buffers": facts["buffers"]["bytes"], "peak": case["in_place"]["peak"],
               "phase": case["in_place"]["phase"], "by_role": case["in_place"]["by_role"]}
        if mode != "inference":
            row |= {"gradients": facts["gradients"]["bytes"], "optimizer_state": case["optimizer_state"]["bytes"],
                    "saved": case["saved"]["after_loss"]["bytes_rounded"]}
        document["cases"].append(row)
        print(spec, batch, mode, recipe, row["peak"], flush=True)
        head = {"versions": versions, "capability": os.environ.get("ORACLE_CAPABILITY", "61")}
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in document["cases"])
        path.write_text(json.dumps(head)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n")
