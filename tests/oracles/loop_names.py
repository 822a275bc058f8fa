"""A training step that is the body of a loop: names hold what the model returned until it has returned the next batch's. And wrappers
that widen what it returns.

    ORACLE_CAPABILITY=80 python loop_names.py ../golden/memory/loop_names.json

A line for each way of training a small Llama: saved and peak bytes of a steady step. `widened` fabric: Lightning Fabric's wrapper casts
scores before the program's loss reads them (lightning/fabric/wrappers.py, _FabricModule.forward()); accelerate: its wrapper casts them
behind the model's own loss (accelerate/utils/operations.py, convert_outputs_to_fp32()). `kept`: products of packed weights keep their input as an
attribute of the node, which lives as long as the graph (bitsandbytes 0.42, autograd/_functions.py, MatMul4Bit: ctx.tensors).
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import importlib.metadata  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
import weakref  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from pathlib import Path  # noqa: E402

import peft  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import family_steps  # noqa: E402
import loss_forms  # noqa: E402
import memory_oracle  # noqa: E402
import packed_linear  # noqa: E402
from recipes import Recipe  # noqa: E402

NAMED = []      # what the program's names hold
ATTRIBUTES = []  # weak references to what nodes have as attributes


class KeptProduct(packed_linear.Product):
    @staticmethod
    def forward(ctx, x, packed, bias, shape):
        ctx.tensors = x, packed
        ATTRIBUTES.append(weakref.ref(x))
        ctx.shape = shape
        return nn.functional.linear(x, packed_linear.widened(packed, shape, x.dtype), bias)

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ packed_linear.widened(ctx.tensors[1], ctx.shape, gradient.dtype), None, None, None


PRODUCT = packed_linear.Product


def pack(model, kept):
    packed_linear.Product = KeptProduct if kept else PRODUCT
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and "lora_" not in name and "lm_head" not in name:
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, packed_linear.PackedLinear(module, torch.bfloat16))


def returned(parts, case):
    """As the program gets it."""
    if case["widened"] == "fabric":
        parts = [part.float() for part in parts]
    NAMED[:] = parts
    return parts


class Whole(nn.Module):
    """Tokens and labels in, the loss out."""

    def __init__(self, model, case):
        super().__init__()
        self.model, self.case = model, case
        self.plain = model.get_base_model()

    def forward(self, tokens, labels):
        hidden = self.plain.model(input_ids=tokens).last_hidden_state
        if self.case["form"] == "chunked":
            targets = loss_forms.next_tokens(labels).tensor_split(loss_forms.CHUNKS)
            parts = returned([self.plain.lm_head(part) for part in hidden.tensor_split(loss_forms.CHUNKS, dim=1)], self.case)
            losses = [loss_forms.of_part(*both) for both in zip(parts, targets)]
            return sum(losses[1:], losses[0])
        loss = loss_forms.FORMS[self.case["form"]](hidden, self.plain.lm_head, labels)
        del hidden
        if self.case["widened"] == "accelerate":
            loss_forms.HELD[:] = [scores.float() for scores in loss_forms.HELD]
        NAMED[:] = loss_forms.HELD
        loss_forms.HELD.clear()
        return loss


class Step(memory_oracle.Step):
    def __init__(self, work, mode, recipe):
        super().__init__(work, mode, recipe)
        self.case = work.model.case
        NAMED.clear()

    def resident(self):
        attributes = [x for x in (reference() for reference in ATTRIBUTES) if x is not None]
        return [*super().resident(), ("temporary", [*NAMED, *attributes])]

    def run(self, enter, saving=nullcontext):
        for _ in range(self.recipe.accumulate):
            enter("forward")
            with saving(), self.recipe.autocast():
                loss = self.model(*self.work.inputs.values())
            if not self.case["keeps"]:
                NAMED.clear()
            enter("backward")
            loss.backward()
            del loss
        enter("step")
        self.optimizer.step()
        enter("end")
        if not self.case["last"]:
            NAMED.clear()
        self.optimizer.zero_grad()


def measure(precision, form, widened="off", keeps=True, last=True, quantized=False, kept=False, accumulate=1):
    case = {"precision": precision, "form": form, "widened": widened, "keeps": keeps, "last": last, "quantized": quantized, "kept": kept,
            "accumulate": accumulate}
    recipe = Recipe(precision, accumulate=accumulate)
    work = recipe.typed(family_steps.workload("LlamaForCausalLM", loss_forms.CONFIG, "sdpa"))
    work.model = peft.get_peft_model(work.model, peft.LoraConfig(r=8, target_modules="all-linear"), autocast_adapter_dtype=False)
    if quantized:
        pack(work.model, kept)
    work.model = Whole(work.model, case)
    ATTRIBUTES.clear()
    figures = family_steps.figures(work, recipe, Step)
    del figures["buffers"]
    return {**case, **figures}


def main():
    warnings.filterwarnings("ignore")
    cases = []
    for last in (False, True):
        cases.append(measure("bf16", "chunked", last=last))
        cases.append(measure("bf16", "chunked", "fabric", last=last))
        cases.append(measure("bf16", "operators", last=last))
    for accumulate in (1, 3):
        cases.append(measure("bf16", "chunked", "fabric", accumulate=accumulate, quantized=True))
        cases.append(measure("bf16", "chunked", "fabric", accumulate=accumulate, quantized=True, kept=True))
    for widened in ("off", "accelerate"):
        for form in ("fused", "operators"):
            cases.append(measure("amp-bf16", form, widened, keeps=False, last=False))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    config = {"model_type": "llama", **loss_forms.CONFIG}
    head = {"versions": versions, "config": config, "batch": family_steps.BATCH, "sequence": family_steps.LENGTH}
    Path(sys.argv[1]).write_text(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
