"""What one pass of each family of graph/builtin/families takes under torch.no_grad(), in evaluation mode, as transformers runs it: the
small configurations of family_steps.py, without labels.

    ORACLE_CAPABILITY=80 python family_inference.py ../golden/memory/family_inference.json [NAME ...]

A line for each family: what its config.json says, and peaks of live bytes for eager and sdpa attention in fp32 and bf16. A decoder beside an encoder
is given tokens in place of labels. No keys and values are returned (`use_cache` is false), as where transformers' Trainer evaluates,
but for some decoders in cases of their own.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import family_boxes  # noqa: E402
import family_diffusers  # noqa: E402
import family_steps  # noqa: E402
import memory_oracle  # noqa: E402
from recipes import Recipe  # noqa: E402
from storage_trace import peak  # noqa: E402

CACHES = ("llama", "gpt2", "qwen3", "gpt_neox", "gemma2")
OF_THE_LOSS = ("labels", "start_positions", "end_positions", "class_labels", "boxes")


def is_input(name, family):
    of_the_loss = ("target",) if family in family_diffusers.FAMILIES else OF_THE_LOSS
    return name.rstrip("0123456789") not in of_the_loss


def unlabelled(family, work):
    """The inputs of a pass that takes no loss, by their names."""
    inputs = {name: tensor for name, tensor in work.inputs.items() if is_input(name, family)}
    if getattr(work.model.config, "is_encoder_decoder", False) and family not in family_boxes.FAMILIES:
        inputs["decoder_input_ids"] = work.inputs["labels"]
    work.inputs = inputs
    work.model = family_steps.Labelled(work.model, list(inputs))
    return work


def measure(family, class_name, values, attention, precision, caches=False):
    recipe = Recipe(precision)
    made = family_diffusers.workload(family, class_name, values, family_steps.BATCH, family_steps.LENGTH) \
        if family in family_diffusers.FAMILIES else family_steps.workload(class_name, values, attention)
    if caches:
        made.model.config.use_cache = True
    work = unlabelled(family, recipe.typed(made))
    with family_steps.pretended_gpu.gpu():
        memory_oracle.float_outputs = lambda outputs: []
        step = memory_oracle.Step(pretended_gpu.on_gpu(work), "inference", recipe)
        trace, _ = step.new_trace()
        with trace:
            step.run(trace.enter_phase)
    highest, _, _ = peak(trace.events, trace.phases)
    return {"attention": attention, "precision": precision, **({"cache": True} if caches else {}), "peak": highest}


def line(name, class_name, small, _):
    of_diffusers = name in family_diffusers.FAMILIES
    called = {"_class_name": class_name} if of_diffusers else {"model_type": family_steps.classes(class_name)[1].model_type}
    if family_steps.task_of(class_name):
        called["architectures"] = [class_name]
    config = called | small if of_diffusers else family_steps.saved_config(class_name, small) | called
    cases = []
    for attention in ("sdpa",) if of_diffusers else ("eager", "sdpa"):
        for precision in ("fp32", "bf16"):
            try:
                cases.append(measure(name, class_name, small, attention, precision))
            except Exception as error:   # sdpa of capped scores, for one
                print(f"{name} {attention} {precision}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    if name in CACHES:
        attention = "eager" if name == "gemma2" else "sdpa"
        cases += [measure(name, class_name, small, attention, precision, caches=True) for precision in ("fp32", "bf16")]
    return {"name": name, **family_steps.extents(name), "config": config, "cases": cases}


def main():
    warnings.filterwarnings("ignore")
    path, names = Path(sys.argv[1]), sys.argv[2:] or list(family_steps.FAMILIES)
    known = {one["name"]: one for one in json.loads(path.read_text())["families"]} if path.exists() else {}
    for name in names:
        known[name] = line(name, *family_steps.FAMILIES[name])
        print(name, flush=True)
        family_steps.write(path, known)


if __name__ == "__main__":
    main()
