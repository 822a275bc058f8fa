"""Exports the models of models.txt to ONNX and strips their weights.

    python export_models.py OUT [--forms train-ts,eval-dy,...] [--list FILE] [--models GLOB,...] [--redo]

OUT/FORM/NAME.onnx appears as soon as it is done; OUT/FORM/NAME.failed says why an export failed. FORM is

    train-ts, eval-ts    TorchScript exporter, opset 17
    train-dy, eval-dy    torch.export ("dynamo") exporter, opset 20
    train-ts-b1          as train-ts, with batch 1 baked in
    ops                  the models of op_models.py: as train-ts, or as train-dy where that fails
    ops-fixed            the same as the project's README asks for them: as train-dy, not optimised, of a batch of 4
    families             the models of family_models.py, likewise
    families-dy          the same as train-dy
"""
import argparse
import io
import multiprocessing
import os
import sys
import time
import warnings
from fnmatch import fnmatch
from pathlib import Path

import onnx
import torch

import family_models
import op_models
import workloads
from hugging_face import Keywords
from strip_onnx import strip

FORMS = ("train-ts", "train-dy", "eval-ts", "eval-dy", "train-ts-b1", "ops", "ops-fixed", "families", "families-dy")


def perturb(model):
    """Gives every weight values of its own: the exporters merge equal initializers and fold zeros away."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator))
            elif name.endswith("running_var"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)


def without_inner_dropout(model):
    """The TorchScript exporter refuses dropout between the layers of a recurrent network; cuDNN keeps no mask for it."""
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):
            module.dropout = 0.0


def with_torchscript(work, training, baked=False):
    file = io.BytesIO()
    without_inner_dropout(work.model)
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(work.model, tuple(work.inputs.values()), file, dynamo=False, opset_version=17, training=mode,
                      do_constant_folding=not training, input_names=list(work.inputs),
                      dynamic_axes=None if baked else work.symbols)
    return onnx.load_from_string(file.getvalue())


def with_dynamo(work, fixed=False):
    symbols = {name for axes in work.symbols.values() for name in axes.values()}
    dims = {name: torch.export.Dim(name) for name in symbols}
    shapes = tuple({axis: dims[symbol] for axis, symbol in axes.items()} for axes in work.symbols.values())
    if isinstance(work.model, Keywords):
        shapes = (shapes,)   # its forward takes *tensors
    form = {"optimize": False} if fixed else {"dynamic_shapes": shapes}
    program = torch.onnx.export(work.model, tuple(work.inputs.values()), dynamo=True, opset_version=20, verbose=False,
                                input_names=list(work.inputs), **form)
    return program.model_proto


def export(spec, form):
    """The stripped ONNX model of one catalogue entry."""
    if form == "families-dy":
        return export(spec, "train-dy")
    if form in ("ops", "families"):
        try:
            return export(spec, "train-ts")
        except Exception:
            return export(spec, "train-dy")
    baked, fixed = form.endswith("-b1"), form == "ops-fixed"
    work = workloads.load(spec, 4 if fixed else 1 if baked else 2)
    perturb(work.model)
    training = fixed or form.startswith("train")
    work.model.train(training)
    model = with_torchscript(work, training, baked) if "-ts" in form else with_dynamo(work, fixed)
    tensors = [*work.model.named_parameters(), *work.model.named_buffers()]
    return strip(model, {name for name, tensor in tensors if tensor.is_floating_point() and tensor.dim()})


def export_to(path, spec, form):
    """Runs in a process of its own, so that a crash or an endless export costs one file."""
    torch.set_num_threads(1)
    sys.stdout = open(os.devnull, "w")   # failing exporters print whole graphs
    try:
        model = export(spec, form)
        onnx.save(model, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
    except Exception as error:
        path.with_suffix(".failed").write_text(f"{type(error).__name__}: {str(error)[:600]}\n")
        sys.exit(1)


def specs(form, names):
    if form.startswith("ops"):
        return [f"op:{name}" for name in op_models.TABLE]
    if form.startswith("families"):
        return [f"family:{name}" for name in family_models.NAMES]
    return [spec for spec, _ in workloads.catalogue(names)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--list", default="models.txt", help="networks.txt: those that no test has seen")
    parser.add_argument("--models", default="*")
    parser.add_argument("--redo", action="store_true", help="export again what is there already")
    parser.add_argument("--seconds", type=int, default=400, help="give up an export that takes longer")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    patterns = options.models.split(",")
    for form in options.forms.split(","):
        (options.out / form).mkdir(parents=True, exist_ok=True)
        entries = specs(form, options.list)
        for spec in entries:
            name = workloads.file_name(spec).removeprefix("op-").removeprefix("family-")
            if not any(fnmatch(name, pattern) for pattern in patterns):
                continue
            path = options.out / form / f"{name}.onnx"
            if not options.redo and (path.exists() or path.with_suffix(".failed").exists()):
                continue
            path.with_suffix(".failed").unlink(missing_ok=True)
            started = time.time()
            worker = multiprocessing.get_context("fork").Process(target=export_to, args=(path, spec, form))
            worker.start()
            worker.join(options.seconds)
            if worker.is_alive():
                worker.kill()
                path.with_suffix(".failed").write_text(f"no result after {options.seconds} s\n")
            size = f"{path.stat().st_size:,} bytes" if path.exists() else "FAILED"
            print(f"{form:12} {name:40} {time.time() - started:6.1f} s  {size}", flush=True)


if __name__ == "__main__":
    main()
