"""What PyTorch's training step takes of a GPU's memory, asked of PyTorch itself on a machine without one.

    python memory_oracle.py torchvision:resnet50 --batch 8 --optimizer adam     one figure set, on standard output
    python memory_oracle.py --out FOLDER [--models GLOB,...] [--redo]           a golden file per catalogue entry
    python memory_oracle.py --out FOLDER --list networks.txt --usual-recipes    the same of fresh networks, in more recipes
    python memory_oracle.py --ops FILE                                         one golden file for all of op_models.py
    python memory_oracle.py --families FILE                                    one golden file for all of family_models.py
    python memory_oracle.py --configs FILE                                     one golden file for all of config_models.py
    python memory_oracle.py --recipes FILE                                     one golden file for all of recipes.txt

README.md says what the figures mean.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import argparse  # noqa: E402  (torch must come after the shim)
import json  # noqa: E402
import os  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from fnmatch import fnmatch  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import caching_allocator  # noqa: E402
import op_models  # noqa: E402
import workloads  # noqa: E402
from optimizers import OPTIMIZERS  # noqa: E402
from recipes import FP32, USUAL, Recipe, checkpoint_blocks  # noqa: E402
from storage_trace import SavedTensors, StorageTrace, added_in_place, peak, rounded  # noqa: E402

MODES = ("momentum", "adam", "inference")


def float_outputs(outputs):
    return [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def class_axis(output):
    """Classes come last, except in maps (batch, classes, height, width)."""
    return 1 if output.dim() > 3 else -1


def targets_for(outputs, kind):
    def target(output):
        if kind != "cross_entropy":
            return torch.rand_like(output)
        sizes = list(output.shape)
        classes = sizes.pop(class_axis(output))
        return torch.randint(0, classes, sizes, device=output.device)
    return [target(output) for output in outputs]


def loss_of(outputs, targets, kind):
    """The sum over all outputs of their loss, or of their sum."""
    def one(output, target):
        if kind != "cross_entropy":
            return {"mse": F.mse_loss, "bce": F.binary_cross_entropy}[kind](output, target)
        if class_axis(output) == 1:
            return F.cross_entropy(output, target)
        return F.cross_entropy(output.flatten(0, -2), target.flatten())   # a row for every position, as scripts do
    terms = [output.sum() for output in outputs] if kind == "sum" else [one(*pair) for pair in zip(outputs, targets)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def optimizer_for(name, parameters):
    """In its own form: PyTorch chooses foreach for parameters on a GPU, but not for fake ones."""
    return OPTIMIZERS[name](parameters, 0)[0]


def sizes(tensors):
    """Distinct storages on the GPU: how many, their bytes, and their bytes as the allocator rounds them."""
    found = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors if t.device.type == "cuda"}
    return {"tensors": len(found), "bytes": sum(found.values()), "bytes_rounded": sum(map(rounded, found.values()))}


class Step:
    """One configuration, ready to run steps."""

    def __init__(self, work, mode, recipe=FP32):
        self.work, self.training, self.recipe = work, mode != "inference", recipe
        self.model = work.model.train(self.training)
        if recipe.checkpoint != "none":
            checkpoint_blocks(self.model, self)
        recipe.freeze(self.model)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = optimizer_for(mode, self.trained) if self.training else None
        with torch.no_grad():
            outputs = float_outputs(self.model(*work.inputs.values()))
        self.shapes = [list(output.shape) for output in outputs]
        needs_targets = self.training and work.loss != "sum"
        self.targets = targets_for(outputs, work.loss) if needs_targets else []
        self.scaler = recipe.new_scaler() if self.training else None
        self.trace = None   # hears when a checkpointed block is computed again

    def gradients(self):
        return [p.grad for p in self.trained if p.grad is not None]

    def states(self):
        tables = self.optimizer.state.values() if self.optimizer else []
        return [value for table in tables for value in table.values() if isinstance(value, torch.Tensor)]

    def resident(self):
        """(role, tensors) of what is there before a step, in the order in which a script makes it."""
        scaler = self.scaler.state() if self.scaler else []
        return [("parameter", self.model.parameters()), ("buffer", [*self.model.buffers(), *scaler]),
                ("input", [*self.work.inputs.values(), *self.targets]), ("gradient", self.gradients()),
                ("optimizer_state", self.states())]

    def new_trace(self):
        """A trace that knows what is there, and the role of each storage so far."""
        trace, roles = StorageTrace(), {}
        for role, tensors in self.resident():
            for number in trace.numbers(tensors):
                roles.setdefault(number, role)
        return trace, roles

    def run(self, enter, saving=nullcontext):
        """A step as people write it: outputs and loss have names, so they live to its end. `enter` hears each phase."""
        if self.recipe.zero_grad == "before":
            self.optimizer.zero_grad()
        for _ in range(self.recipe.accumulate if self.training else 1):
            enter("forward")
            if not self.training:
                with torch.no_grad(), self.recipe.autocast():
                    outputs = self.model(*self.work.inputs.values())  # noqa: F841
                return
            with saving(), self.recipe.autocast():
                outputs = self.model(*self.work.inputs.values())
                enter("loss")
                loss = loss_of(float_outputs(outputs), self.targets, self.work.loss)
            enter("backward")
            (self.scaler.scale(loss) if self.scaler else loss).backward()
        enter("step")
        if self.scaler:
            self.scaler.unscale(self.gradients())
        self.optimizer.step()
        if self.scaler:
            self.scaler.update()
        enter("end")
        if self.recipe.zero_grad in ("none", "after"):
            self.optimizer.zero_grad()
        if self.recipe.zero_grad == "keep":
            self.optimizer.zero_grad(set_to_none=False)


def figures(events, phases, roles=None):
    """Peak of a trace with its phase, what it consists of where `roles` are given, and the allocator's answer."""
    highest, phase, alive = peak(events, phases)
    result = {"peak": highest, "phase": phase}
    if roles is not None:
        result["by_role"] = {}
        for number, size in alive.items():
            role = roles.get(number, "temporary")
            result["by_role"][role] = result["by_role"].get(role, 0) + size
    return {**result, **caching_allocator.replay(events)}


def measure(spec, batch, mode, recipe=FP32):
    """(facts about the model, figures of this case, events of a plain steady step with their phases)"""
    work = recipe.typed(workloads.load(spec, batch))
    with pretended_gpu.gpu():
        step = Step(pretended_gpu.on_gpu(work), mode, recipe)
        first = None
        if step.training:   # the step after which the optimizer has its state
            first, _ = step.new_trace()
            with first:
                step.run(first.enter_phase)

        trace, roles = step.new_trace()
        step.trace = trace
        saved = SavedTensors(step.model, trace, roles)
        moments, gradients = {}, {}

        def enter(phase):
            if phase in ("loss", "backward"):
                living = saved.living()
                moments["after_model" if phase == "loss" else "after_loss"] = {
                    "storages": len(living), "bytes": sum(trace.exact[n] for n in living),
                    "bytes_rounded": sum(rounded(trace.exact[n]) for n in living)}
            if phase == "step":
                gradients.update(sizes(step.gradients()), numbers=trace.numbers(step.gradients()))
            trace.enter_phase(phase)

        with trace:
            step.run(enter, lambda: saved)
        plain, phases, owner = added_in_place(list(trace.events), trace.phases, trace.sums)
        roles.update(dict.fromkeys(saved.keeper, "feature_map"))
        roles.update((owner(number), "gradient") for number in gradients.pop("numbers", []))

        case = {"batch": batch, "mode": mode,
                "inputs": {name: list(t.shape) for name, t in work.inputs.items()}, "outputs": step.shapes,
                "inputs_and_targets": sizes([*work.inputs.values(), *step.targets])}
        if step.training:
            plain_first = added_in_place(list(first.events), first.phases, first.sums)
            case |= {"optimizer_state": sizes(step.states()), "saved": moments,
                     "first_step": dict(zip(("peak", "phase"), peak(*plain_first[:2])))}
        case["in_place"] = figures(plain, phases, roles)
        if trace.sums:
            case["out_of_place"] = figures(trace.events, trace.phases)
        ratio = max((m.p for m in step.model.modules() if isinstance(m, torch.nn.Dropout)), default=0)
        facts = {"loss": work.loss, **({"dropout": ratio} if ratio else {}), "parameters": sizes(step.model.parameters()), "buffers": sizes(step.model.buffers())}
        if step.training:
            facts |= {"gradients": gradients, "saved_by_module": {"batch": batch, "bytes": saved.by_module()}}
    return facts, case, (plain, phases)


def versions():
    from importlib.metadata import version
    return {name: version(name) for name in ("torch", "torchvision", "timm", "transformers")}


def encoded(events):
    """Events as a list of numbers: n > 0 allocates n granules and names the block by the next number from 0 on; n < 0
    frees block -n - 1."""
    names, numbers = {}, []
    for kind, number, size in events:
        if kind == "alloc":
            names[number] = len(names)
            numbers.append(size // 512)
        else:
            numbers.append(-names[number] - 1)
    return numbers


def compact(document):
    return json.dumps(document, separators=(",", ":")) + "\n"


def golden(spec, batches, traces, usual_recipes):
    """The golden document of one catalogue entry; writes the trace of its smallest batch under Adam beside it."""
    document = {"model": spec, "versions": versions(), "capability": os.environ.get("ORACLE_CAPABILITY", "61"), "cases": []}
    for batch in batches:
        for mode in MODES:
            facts, case, (events, phases) = measure(spec, batch, mode)
            document = {**facts, **document}   # the first case's facts: saved_by_module of the smallest batch
            document["cases"].append(case)
            if batch == batches[0] and mode == "adam":
                path = traces / f"{workloads.file_name(spec)}.trace.json"
                path.write_text(compact({"model": spec, "batch": batch, "mode": mode, **case["in_place"],
                                         "phases": phases, "events": encoded(events)}))
    for recipe in USUAL if usual_recipes else []:
        try:
            facts, case, _ = measure(spec, batches[0], "adam", recipe)
        except Exception as error:   # Fourier transforms of bf16, for one
            print(f"{spec} {recipe}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            continue
        sizes_of = {key: facts[key] for key in ("parameters", "buffers", "gradients")}
        document["cases"].append(case | sizes_of | {"recipe": recipe.facts()})
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="one model, as models.txt names it, or op:NAME")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--optimizer", dest="mode", choices=(*OPTIMIZERS, "inference"), default="momentum")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", default="models.txt")
    parser.add_argument("--usual-recipes", action="store_true", help="each network in mixed precision, checkpointed and so on too")
    parser.add_argument("--models", default="*")
    parser.add_argument("--redo", action="store_true", help="measure again what is there already")
    parser.add_argument("--ops", type=Path)
    parser.add_argument("--families", type=Path)
    parser.add_argument("--configs", type=Path)
    parser.add_argument("--recipes", type=Path)
    Recipe.add_arguments(parser)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.model:
        facts, case, _ = measure(options.model, options.batch, options.mode, Recipe.of(options))
        print(json.dumps({**facts, **case}, indent=1))
    if options.out:
        (options.out / "traces").mkdir(parents=True, exist_ok=True)
        for spec, batches in workloads.catalogue(options.list):
            name = workloads.file_name(spec)
            path = options.out / f"{name}.json"
            if any(fnmatch(name, glob) for glob in options.models.split(",")) and (options.redo or not path.exists()):
                started = time.time()
                try:
                    document = golden(spec, batches, options.out / "traces", options.usual_recipes)
                except Exception as error:   # what fake tensors cannot run
                    print(f"{name:40} {type(error).__name__}: {str(error)[:200]}", flush=True)
                    continue
                path.write_text(compact(document))
                print(f"{name:40} {time.time() - started:6.1f} s", flush=True)
    if options.ops:
        op_models.write_golden(options.ops, measure, versions())
    if options.families:
        import family_models
        specs = [f"family:{name}" for name in family_models.NAMES]
        op_models.write_golden(options.families, measure, versions(), specs, MODES)
    if options.configs:
        import config_models
        config_models.write_golden(options.configs, measure, versions())
    if options.recipes:
        import recipes
        recipes.write_golden(options.recipes, measure, versions())


if __name__ == "__main__":
    main()
