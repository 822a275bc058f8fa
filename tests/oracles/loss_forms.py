"""A training step of a small Llama with the losses that libraries put in place of PyTorch's operators, and with blocks that keep
results of some operators.

    ORACLE_CAPABILITY=80 python loss_forms.py ../golden/memory/loss_forms.json

A line for each form and kind of training: saved and peak bytes of a steady step. What Triton kernels do is written here as what
they allocate: torchtune's losses run as they are (restated), Liger's and unsloth's kernels write in place.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import functools  # noqa: E402
import importlib.metadata  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from pathlib import Path  # noqa: E402

import peft  # noqa: E402
import torch  # noqa: E402
from torch._functorch.partitioners import get_default_op_list  # noqa: E402
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts  # noqa: E402

import family_steps  # noqa: E402
import memory_oracle  # noqa: E402
from recipes import Recipe  # noqa: E402

CHUNKS = 8
CONFIG = family_steps.GROUPED | {"vocab_size": 8000}


def next_tokens(labels):
    moved = torch.empty_like(labels)
    moved[..., :-1] = labels[..., 1:]
    return moved.view(-1)


def of_part(scores, targets):
    return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]).float(), targets, reduction="sum")


def chunked(hidden, head, labels):
    """torchtune, CEWithChunkedOutputLoss and TransformerDecoder.chunked_output()."""
    targets = next_tokens(labels).tensor_split(CHUNKS)
    parts = [head(part) for part in hidden.tensor_split(CHUNKS, dim=1)]
    return sum((of_part(*both) for both in zip(parts[1:], targets[1:])), of_part(parts[0], targets[0]))


def chunked_linear(hidden, head, labels):
    """torchtune, LinearCrossEntropyLoss: where no position is masked."""
    targets = next_tokens(labels)
    rows = hidden.reshape(-1, hidden.shape[-1])
    rows = rows.index_select(0, torch.empty_like(targets))
    total = None
    for part, wanted in zip(rows.tensor_split(CHUNKS), targets.tensor_split(CHUNKS)):
        loss = of_part(head(part), wanted)
        total = loss if total is None else total + loss
        del loss
    return total


class FusedLinear(torch.autograd.Function):
    """Liger-Kernel, ops/fused_linear_cross_entropy.py: its kernel puts the gradient in the scores' place."""

    @staticmethod
    def forward(ctx, rows, weight, targets):
        positions, features = rows.shape
        factor = -(-weight.shape[0] // features)
        size = 1 << max(0, (-(-positions // factor) - 1).bit_length())
        to_rows = torch.zeros_like(rows)
        to_weight = torch.zeros_like(weight) if weight.requires_grad else None
        losses = torch.zeros(positions, dtype=torch.float32, device=rows.device)
        for begin in range(0, positions, size):
            part = rows[begin:begin + size]
            scores = part @ weight.t()
            to_rows[begin:begin + size] = scores @ weight
            if to_weight is not None:
                to_weight += torch.mm(scores.t(), part).float()
        ctx.save_for_backward(to_rows.detach(), to_weight.detach() if to_weight is not None else None)
        return torch.sum(losses)

    @staticmethod
    def backward(ctx, gradient):
        to_rows, to_weight = ctx.saved_tensors
        return to_rows, to_weight, None


def fused_linear(hidden, head, labels):
    return FusedLinear.apply(hidden.view(-1, hidden.shape[-1]), head.weight, next_tokens(labels))


class Fused(torch.autograd.Function):
    """unsloth, kernels/cross_entropy_loss.py: the gradient takes the scores' place in the backward pass."""

    @staticmethod
    def forward(ctx, scores, targets):
        sums = torch.empty(scores.shape[0], dtype=torch.float32, device=scores.device)
        losses = torch.empty(scores.shape[0], dtype=torch.float32, device=scores.device)
        ctx.save_for_backward(scores, sums, targets)
        return losses

    @staticmethod
    def backward(ctx, gradient):
        scores, _, _ = ctx.saved_tensors
        return scores, None


class TiledLinear(torch.autograd.Function):
    """TRL 1.16, kernels/chunked_logprob.py: its kernels read tiles of scores, and put their gradient in their place."""
    TOKENS, CLASSES = 4096, 32768

    @classmethod
    def tiles(cls, rows, weight, dtype):
        buffer = torch.empty((min(rows.shape[0], cls.TOKENS), cls.CLASSES), dtype=dtype, device=rows.device)
        for row in range(0, rows.shape[0], cls.TOKENS):
            part = rows[row:row + cls.TOKENS].to(dtype)
            for begin in range(0, weight.shape[0], cls.CLASSES):
                some = weight[begin:begin + cls.CLASSES].to(dtype)
                tile = buffer[:part.shape[0], :some.shape[0]]
                torch.mm(part, some.t(), out=tile)
                yield slice(row, row + cls.TOKENS), slice(begin, begin + cls.CLASSES), part, some, tile

    @staticmethod
    def forward(ctx, rows, weight, targets):
        ctx.set_materialize_grads(False)
        ctx.dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else rows.dtype
        each = [torch.zeros((rows.shape[0],), dtype=torch.float32, device=rows.device) for _ in range(7)]
        for _ in TiledLinear.tiles(rows, weight, ctx.dtype):
            pass
        log_z = each[0] + torch.log(each[1])
        logprobs = each[6] - log_z
        entropy = log_z - each[2] / each[1]
        is_top1 = (each[6] >= each[0]) & (each[6] > each[5])
        ctx.save_for_backward(rows, weight, targets, log_z, entropy)
        ctx.mark_non_differentiable(is_top1)
        return logprobs, entropy, is_top1

    @staticmethod
    def backward(ctx, gradient, *_):
        rows, weight, _, _, _ = ctx.saved_tensors
        to_rows = torch.zeros(rows.shape, dtype=torch.float32, device=rows.device) if ctx.needs_input_grad[0] else None
        to_weight = torch.zeros(weight.shape, dtype=torch.float32, device=rows.device) if ctx.needs_input_grad[1] else None
        gradient = gradient.float().contiguous()
        # Products of 16 bits are added in 32 by one call (addmm with out_dtype), which allocates nothing.
        for _ in TiledLinear.tiles(rows, weight, ctx.dtype):
            pass
        return (to_rows.to(rows.dtype) if to_rows is not None else None, to_weight.to(weight.dtype) if to_weight is not None else None, None)


def tiled_linear(hidden, head, labels):
    """TRL 1.16, add_fused_lm_head() of trainer/utils.py: where all positions but the last have a label."""
    hidden, labels = hidden[:, :-1], labels[:, 1:]
    mask = labels != -100
    places = torch.empty((2, mask.numel()), dtype=torch.int64, device=hidden.device)   # nonzero() of a fake mask has no size
    rows = hidden[places[0], places[1]]
    each = TiledLinear.apply(rows, head.weight, torch.empty((mask.numel(),), dtype=torch.int64, device=hidden.device))
    logprobs, entropy, is_top1 = (x.new_zeros(mask.shape).masked_scatter(mask, x) for x in each)
    HELD.extend((logprobs, entropy, is_top1))
    return -logprobs.sum() / mask.sum().clamp(min=1)


HELD = []
KEEPS = [True]  # empty: the program lets go of what the network returned before the backward pass


def fused(hidden, head, labels):
    scores = head(hidden)
    HELD.append(scores)
    return Fused.apply(scores.view(-1, scores.shape[-1]), next_tokens(labels)).sum()


def operators(hidden, head, labels):
    scores = head(hidden)
    HELD.append(scores)
    targets = torch.nn.functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
    wide = scores.float()
    return torch.nn.functional.cross_entropy(wide.view(-1, wide.shape[-1]), targets.view(-1))


def shifted(scores):
    """transformers before 4.49, ForCausalLMLoss(): scores in 32 bits, and a copy of all but the last position's."""
    wide = scores.float()
    return wide, wide[..., :-1, :].contiguous()


def operators_shifted(hidden, head, labels):
    scores = head(hidden)
    HELD.append(scores)
    wide, shift = shifted(scores)
    targets = labels[..., 1:].contiguous()
    return torch.nn.functional.cross_entropy(shift.view(-1, shift.shape[-1]), targets.view(-1))


def fused_shifted(hidden, head, labels):
    """fms_acceleration_foak, kernels/unsloth/cross_entropy_loss.py, FastForCausalLMLoss()."""
    scores = head(hidden)
    HELD.append(scores)
    wide, shift = shifted(scores)
    targets = labels[..., 1:].contiguous()
    return Fused.apply(shift.view(-1, shift.shape[-1]), targets.view(-1)).sum()


def policy():
    """torchtitan, distributed/activation_checkpoint.py: every second product, attention and what else is dear."""
    kept = {op.default for op in get_default_op_list().compute_intensive_ops if hasattr(op, "default")}
    counts = {False: 0, True: 0}

    def decide(ctx, func, *args, **kwargs):
        if func == torch.ops.aten.mm.default:
            counts[ctx.is_recompute] += 1
            if counts[ctx.is_recompute] % 2 == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if func in kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(decide)


def wrap(layer):
    whole = layer.forward
    layer.forward = lambda *args, **kwargs: checkpoint(functools.partial(whole, **kwargs), *args, use_reentrant=False, context_fn=policy,
                                                        preserve_rng_state=False)


class Whole(torch.nn.Module):
    """Tokens and labels in, the loss out."""

    def __init__(self, model, loss, by_operator):
        super().__init__()
        self.model, self.loss = model, loss
        self.plain = model.get_base_model() if hasattr(model, "get_base_model") else model
        if by_operator:
            for layer in self.plain.model.layers:
                wrap(layer)

    def forward(self, tokens, labels):
        return self.loss(self.plain.model(input_ids=tokens).last_hidden_state, self.plain.lm_head, labels)


class Step(memory_oracle.Step):
    def run(self, enter, saving=nullcontext):
        enter("forward")
        with saving(), self.recipe.autocast():
            loss = self.model(*self.work.inputs.values())
        if not KEEPS:
            HELD.clear()
        enter("backward")
        loss.backward()
        enter("step")
        self.optimizer.step()
        enter("end")
        HELD.clear()
        self.optimizer.zero_grad()


def measure(form, precision, lora, by_operator, keeps=True, adapters_wide=True):
    KEEPS[:] = [True] if keeps else []
    recipe = Recipe(precision)
    work = recipe.typed(family_steps.workload("LlamaForCausalLM", CONFIG, "sdpa"))
    if lora:
        work.model = peft.get_peft_model(work.model, peft.LoraConfig(r=8, target_modules="all-linear"), autocast_adapter_dtype=adapters_wide)
    work.model = Whole(work.model, (FORMS | SHIFTED)[form], by_operator)
    figures = family_steps.figures(work, recipe, Step)
    del figures["buffers"]
    other = ({} if keeps else {"keeps": False}) | ({} if adapters_wide else {"adapters_wide": False})
    return {"form": form, "precision": precision, "lora": lora, "by_operator": by_operator, **other, **figures}


FORMS = {"operators": operators, "fused": fused, "chunked": chunked, "chunked-linear": chunked_linear, "fused-linear": fused_linear, "tiled-linear": tiled_linear}
SHIFTED = {"operators shifted": operators_shifted, "fused shifted": fused_shifted}
PRECISIONS = (("fp32", False), ("bf16", False), ("bf16", True), ("amp-bf16", False))


def main():
    warnings.filterwarnings("ignore")
    cases = []
    for form in FORMS:
        for precision, lora in PRECISIONS:
            cases.append(measure(form, precision, lora, False))
    for precision, lora in (("fp32", False), ("bf16", False), ("bf16", True)):
        cases.append(measure("operators", precision, lora, True))
    for form in SHIFTED:
        for precision, lora in PRECISIONS:
            cases += [measure(form, precision, lora, False, keeps) for keeps in (True, False)]
    for precision, lora in PRECISIONS:
        cases.append(measure("operators", precision, lora, False, False))
    cases.append(measure("operators", "bf16", True, False, adapters_wide=False))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    config = {"model_type": "llama", **CONFIG}
    head = {"versions": versions, "config": config, "batch": family_steps.BATCH, "sequence": family_steps.LENGTH}
    Path(sys.argv[1]).write_text(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
