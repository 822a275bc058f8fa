"""Checks before the first step, and what was measured after the last: for Lightning and for Hugging Face's Trainer.

    lightning.Trainer(callbacks=[plimsoll.callbacks.lightning(precision="amp-bf16", optimizer="adamw", measured="run.json")])
    transformers.Trainer(..., callbacks=[plimsoll.callbacks.transformers()])

A framework is needed where its callback is made, and nowhere else.
"""
from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ._answers import Estimate
from ._torch import TorchModel, from_torch
from ._verbs import estimate as ask


class DoesNotFit(RuntimeError):
    """The step that is about to run takes more than the GPU has. Its `estimate` says what takes it."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__(f"this training step does not fit: {estimate!r}")
        self.estimate = estimate


class Check:
    """What the callbacks share: a module is estimated with the inputs of its first call, before that call runs.

    `gpu` and all other options are those of plimsoll.estimate(). The default batch is that of the first call. `part` is
    the submodule that is called, if that is not the module itself. `dynamic` is as for from_torch(). `estimate` has the
    answer. One that does not fit raises DoesNotFit, unless `stop` is False. `measured` names a file for the median step
    time after the first `warmup` steps and for PyTorch's peak memory. plimsoll.validate() reads it. The model is written
    to the same folder.
    """

    def __init__(self, *, part: str = "", dynamic: Any = None, stop: bool = True, warmup: int = 5,
                 measured: str | os.PathLike[str] | None = None, gpu: str = "local", **options: Any) -> None:
        super().__init__()
        self.estimate: Estimate | None = None
        self._part, self._dynamic, self._stop, self._warmup = part, dynamic, stop, warmup
        self._measured = None if measured is None else Path(measured)
        self._flags = {"gpu": gpu, **options}
        self._model: TorchModel | None = None
        self._steps: list[float] = []
        self._began = 0.0

    def watch(self, module: Any, **usual: Any) -> None:
        """From now on; `usual` are flags that hold where the user gave none."""
        self._flags = {**usual, **self._flags}
        part = module.get_submodule(self._part)

        def before_first_call(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            handle.remove()  # the export calls the module too
            self._check(part, args, kwargs)

        handle = part.register_forward_pre_hook(before_first_call, with_kwargs=True)

    def _check(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        import torch

        given = {name: value for name, value in kwargs.items() if isinstance(value, torch.Tensor) and name != "labels"}
        device = next(module.parameters()).device.type
        with torch.autocast(device, enabled=False):  # a file of single precision: casts are --precision's
            self._model = from_torch(_main_output_of(module), given or args, self._dynamic, via="onnx")
        first = [value for value in (*args, *given.values()) if isinstance(value, torch.Tensor)][0]
        self.estimate = ask(self._model, **{"batch": first.shape[0], **self._flags})
        if self._stop and self.estimate.verdict == "does_not_fit":
            raise DoesNotFit(self.estimate)

    def begin_step(self) -> None:
        _wait()
        self._began = time.perf_counter()

    def end_step(self) -> None:
        if self.estimate is None:
            raise RuntimeError("a step ran, and the module's forward() did not: name the submodule that is called, part='...'")
        _wait()
        self._steps.append(time.perf_counter() - self._began)

    def finish(self) -> None:
        """Writes what was measured."""
        timed = sorted(self._steps[self._warmup:])
        if self._measured is None or self._model is None or not timed:
            return
        self._model.save(self._measured.with_suffix(".onnx"))
        run = {"source": {"title": "measured by plimsoll.callbacks"}, "records": self._records(1e3 * timed[len(timed) // 2])}
        self._measured.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")

    def _records(self, milliseconds: float) -> list[dict[str, Any]]:
        import torch

        assert self.estimate is not None and self._measured is not None
        answer = self.estimate.to_dict()
        run = {"device": answer["result"]["device"]["id"], "framework": "pytorch",
               "framework_version": torch.__version__.partition("+")[0],
               "model": os.fspath(self._measured.with_suffix(".onnx").absolute()), "batch": answer["input"]["batch"],
               "mode": "train", "optimizer": self._flags.get("optimizer", "momentum"),
               "precision": self._flags.get("precision", "fp32")}
        records = [{"kind": "model", **run, "total_ms": milliseconds}]
        if torch.cuda.is_available():
            peak = torch.cuda.max_memory_allocated() / 2**20
            records.append({"kind": "memory", **run, "unit": "MiB", "peak_allocated_mb": peak})
        return records


def _main_output_of(module: Any) -> Any:
    """The module, with what a loss reads alone: Hugging Face's modules return much beside their logits."""
    import torch

    class MainOutput(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self.training = module.training  # its parts keep their own modes

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            outputs = self.module(*args, **kwargs)
            return outputs.logits if hasattr(outputs, "logits") else outputs

    return MainOutput()


def _wait() -> None:
    """Kernels run behind the program's back: a step has ended when they have."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def lightning(**settings: Any) -> Any:
    """A callback for Lightning's Trainer; settings as Check has them."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class PlimsollCallback(Check, Callback):
        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            self.watch(pl_module)

        def on_train_batch_start(self, *_: Any, **__: Any) -> None:
            self.begin_step()

        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            self.end_step()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self.finish()

    return PlimsollCallback(**settings)


# transformers.training_args.OptimizerNames, as far as the command knows them.
_OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw-fused", "adafactor": "adafactor", "sgd": "sgd",
               "adamw_bnb_8bit": "adam8bit", "adamw_8bit": "adam8bit", "rmsprop": "rmsprop", "adagrad": "adagrad"}


def transformers(**settings: Any) -> Any:
    """A callback for transformers' Trainer; settings as Check has them, else as TrainingArguments say."""
    from transformers import TrainerCallback

    class PlimsollCallback(Check, TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            name = getattr(args.optim, "value", args.optim)
            if name not in _OPTIMIZERS and "optimizer" not in self._flags:
                raise ValueError(f"optim={name!r} is not supported: name an optimizer, optimizer='...'")
            precision = "amp-bf16" if args.bf16 else "amp-fp16" if args.fp16 else "fp32"
            self.watch(model, optimizer=_OPTIMIZERS.get(name), precision=precision,
                       accumulate=args.gradient_accumulation_steps, gpus=args.world_size,
                       checkpoint="blocks" if args.gradient_checkpointing else None)

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.begin_step()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.end_step()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self.finish()

    return PlimsollCallback(**settings)
