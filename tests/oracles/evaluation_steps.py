"""What transformers' Trainer takes of the GPU while it evaluates between steps: its own evaluation_loop(), prediction_step() and
EvalLoopContainer, over batches larger than those of the training, behind the second step with Adam.

    ORACLE_CAPABILITY=80 python evaluation_steps.py ../golden/memory/evaluation.json

A line for each family, precision, way of training and number of batches whose logits are gathered (0: the loss alone, as where no
metrics are computed), and with the copies of logits that TRL makes. `step` and `evaluation` are peaks of live bytes; `gathered` is
eval_accumulation_steps. Under autocast the model's forward is wrapped as accelerate's prepare_model() wraps it
(convert_outputs_to_fp32). One process gathers nothing from others; what goes to the host is no memory of the GPU.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import importlib.metadata  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from pathlib import Path  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import accelerate.utils.operations  # noqa: E402
import numpy  # noqa: E402
import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import family_steps  # noqa: E402
import memory_oracle  # noqa: E402
from recipes import Recipe  # noqa: E402
from storage_trace import peak  # noqa: E402

EVALUATION_BATCH = 12
BATCHES = 3
FAMILIES = ("llama", "gpt2")
CASES = [(precision, targets, gathered) for precision, targets in (("fp32", None), ("bf16", None), ("amp-bf16", None), ("bf16", "all-linear"))
         for gathered in (0, 1, BATCHES)]
# Logits decide where there are many of them.
COPIED = [(precision, targets) for precision, targets, gathered in CASES if not gathered]
VOCABULARY = {"vocab_size": 16000}


class Loop(transformers.Trainer):
    """What evaluation_loop() asks of a trainer, without its making."""

    def __init__(self, model, optimizer, gathered):
        anything = SimpleNamespace(on_prediction_step=lambda args, state, control: control)
        self.model, self.optimizer = model, optimizer
        self.args = SimpleNamespace(prediction_loss_only=False, eval_batch_size=EVALUATION_BATCH, eval_do_concat_batches=True, include_for_metrics=[],
                                    batch_eval_metrics=False, eval_accumulation_steps=gathered or None, logging_nan_inf_filter=False, n_gpu=1,
                                    average_tokens_across_devices=False, use_liger_kernel=False, device="cuda")
        identity = lambda tensor, **_: tensor  # noqa: E731
        self.accelerator = SimpleNamespace(_models=[model], pad_across_processes=identity, gather_for_metrics=identity)
        self.gather_function, self.callback_handler = identity, anything
        self.is_deepspeed_enabled = self.is_fsdp_enabled = False
        self.is_in_train, self.state, self.control = True, None, None
        self.compute_metrics = (lambda _: {}) if gathered else None
        self.compute_loss_func = self.label_smoother = self.preprocess_logits_for_metrics = None
        self.label_names, self.can_return_loss, self.model_accepts_loss_kwargs = ["labels"], False, False

    def _wrap_model(self, model, training=True):
        return model

    def _prepare_inputs(self, inputs):
        return inputs

    def _get_num_items_in_batch(self, batches, device):
        return None

    def _prepare_context_parallel_inputs(self, model, inputs):
        return nullcontext, inputs

    def compute_loss_context_manager(self):
        return nullcontext()


def count_tokens(outputs, labels):
    """TRL 0.15 to 1.6 (trainer/sft_trainer.py, compute_loss()), as far as it takes memory."""
    with torch.no_grad():
        shift_logits = outputs.logits[..., :-1, :].contiguous()
        (shift_logits.argmax(dim=-1) == labels[..., 1:]).sum()


class CopyingLoop(Loop):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        count_tokens(outputs, inputs["labels"])
        return (loss, outputs) if return_outputs else loss


class Step(family_steps.Step):
    """The training loop lets go of what the model returns (compute_loss()), and sets gradients to none before it evaluates."""

    def run(self, enter, saving=nullcontext):
        enter("forward")
        loss = self.loss()
        enter("backward")
        loss.backward()
        enter("step")
        self.optimizer.step()
        enter("end")
        self.optimizer.zero_grad()

    def loss(self):
        return self.model(**self.work.inputs).loss


class CopyingStep(Step):
    def loss(self):
        outputs = self.model(**self.work.inputs)
        count_tokens(outputs, self.work.inputs["labels"])
        return outputs.loss


def wrapped(model, recipe):
    plain = model.forward

    def forward(*args, **kwargs):
        with recipe.autocast():
            return plain(*args, **kwargs)

    if recipe.precision.startswith("amp-"):
        model.forward = accelerate.utils.operations.convert_outputs_to_fp32(forward)


def batches(vocabulary):
    for _ in range(BATCHES):
        yield {name: torch.zeros(EVALUATION_BATCH, family_steps.LENGTH, dtype=torch.int64, device="cuda") for name in ("input_ids", "labels")}


def measure(class_name, values, precision, targets, gathered, kinds=(Step, Loop)):
    recipe = Recipe(precision)
    work = recipe.typed(family_steps.workload(class_name, values, "sdpa"))
    if targets:
        work.model = peft.get_peft_model(work.model, peft.LoraConfig(r=8, target_modules=targets))
    wrapped(work.model, recipe)
    plain_init = memory_oracle.Step.__init__
    with pretended_gpu.gpu():
        memory_oracle.float_outputs = lambda outputs: []
        work = pretended_gpu.on_gpu(work)
        inputs, work.inputs = work.inputs, {}
        forward, work.model.forward = work.model.forward, lambda: None   # the oracle's own call, for shapes
        step = kinds[0].__new__(kinds[0])
        plain_init(step, work, "adam", recipe)
        work.model.forward, work.inputs = forward, inputs
        first, _ = step.new_trace()
        with first:
            step.run(first.enter_phase)
        second, _ = step.new_trace()
        with second:
            step.run(second.enter_phase)
        highest, phase, _ = peak(second.events, second.phases)
        evaluation, _ = step.new_trace()
        with evaluation:
            evaluation.enter_phase("evaluation")
            kinds[1](step.model, step.optimizer, gathered).evaluation_loop(batches(values["vocab_size"]), "Evaluation",
                                                                      prediction_loss_only=None if gathered else True)
        evaluated, _, _ = peak(evaluation.events, evaluation.phases)
    lora = {"targets": targets} if targets else {}
    return {"precision": precision, **lora, "gathered": gathered, "step": highest, "phase": phase, "evaluation": evaluated}


def main():
    warnings.filterwarnings("ignore")
    torch.cuda.empty_cache = lambda: None
    transformers.trainer_pt_utils.nested_numpify = lambda tensors: numpy.zeros(1)
    transformers.trainer.has_length = lambda dataset: False
    Loop.num_examples = lambda self, loader: EVALUATION_BATCH * BATCHES
    families = []
    for name in FAMILIES:
        class_name, values, _ = family_steps.FAMILIES[name]
        model_type = getattr(transformers, class_name).config_class.model_type
        families.append({"name": name, "config": {"model_type": model_type, **values}, "cases": [measure(class_name, values, *case) for case in CASES]})
        wide = values | VOCABULARY
        cases = [measure(class_name, wide, *case, 0, (CopyingStep, CopyingLoop)) | {"copied": True} for case in COPIED]
        families.append({"name": f"{name} copied", "config": {"model_type": model_type, **wide}, "cases": cases})
        print(name, flush=True)
    lines = ",\n".join(json.dumps(family, separators=(",", ":")) for family in families)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft", "accelerate")}
    head = {"versions": versions, "batch": family_steps.BATCH, "sequence": family_steps.LENGTH, "evaluation_batch": EVALUATION_BATCH, "batches": BATCHES}
    Path(sys.argv[1]).write_text(json.dumps(head)[:-1] + ', "families": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
