"""Callbacks of Lightning and of Hugging Face's Trainer, called as their trainers do, with stand-ins for both and for PyTorch."""
import contextlib
import json
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import plimsoll
from support import SOURCE, unpacked

NETWORK = SOURCE / "tests/golden/from_torch/torchvision-resnet18.onnx.gz"


class Tensor:
    def __init__(self, *shape):
        self.shape, self.device = shape, types.SimpleNamespace(type="cpu")


class Module:
    """As much of nn.Module as is asked: a hook before the first call."""

    training = True

    def __init__(self):
        self.hooks, self.child = {}, None

    def register_forward_pre_hook(self, hook, with_kwargs=False):
        assert with_kwargs
        handle = types.SimpleNamespace(remove=lambda: self.hooks.pop(handle.number), number=len(self.hooks))
        self.hooks[handle.number] = hook
        return handle

    def get_submodule(self, path):
        return getattr(self, path) if path else self

    def parameters(self):
        yield Tensor(1)

    def __call__(self, *args, **kwargs):
        for hook in list(self.hooks.values()):
            hook(self, args, kwargs)


class File:
    """What from_torch() gives."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path

    def save(self, path):
        shutil.copy(self.path, path)


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.file = File(unpacked(NETWORK, self.folder))
        torch = types.SimpleNamespace(
            Tensor=Tensor, nn=types.SimpleNamespace(Module=Module), autocast=lambda *_, **__: contextlib.nullcontext(),
            cuda=types.SimpleNamespace(is_available=lambda: True, synchronize=lambda: None, max_memory_allocated=lambda: 300 << 20),
            __version__="2.11.0+cu130")
        modules = {"torch": torch, "lightning": types.ModuleType("lightning"),
                   "lightning.pytorch": types.SimpleNamespace(Callback=object), "transformers": types.SimpleNamespace(TrainerCallback=object)}
        self.enterContext(mock.patch.dict(sys.modules, modules))
        self.asked = []
        self.enterContext(mock.patch.object(plimsoll.callbacks, "from_torch", lambda *asked, **_: self.asked.append(asked) or self.file))

    def test_lightning_checks_before_the_first_step_and_measures(self):
        measured = Path(self.folder) / "run.json"
        callback = plimsoll.callbacks.lightning(gpu="a100", part="child", measured=measured, warmup=1, optimizer="sgd")
        module = Module()
        module.child = Module()
        callback.on_fit_start(None, module)
        self.assertIsNone(callback.estimate)
        for step in range(4):
            callback.on_train_batch_start(None, module, None, step)
            module.child(Tensor(16, 3, 224, 224))
            callback.on_train_batch_end(None, module, None, None, step)
        callback.on_train_end(None, module)
        self.assertEqual(len(self.asked), 1)
        self.assertTrue(callback.estimate.fits)
        self.assertEqual(callback.estimate.to_dict()["input"]["batch"], 16)
        answer = plimsoll.validate(measured)
        self.assertEqual([(r["quantity"], r["skipped"]) for r in answer["records"]], [("total_ms", None), ("peak_allocated_mb", None)])
        self.assertEqual(answer["records"][1]["measured"], 300)
        self.assertEqual(json.loads(measured.read_text())["records"][0]["framework_version"], "2.11.0")

    def test_a_module_that_is_not_called(self):
        callback = plimsoll.callbacks.lightning(gpu="a100")
        callback.on_fit_start(None, Module())
        callback.on_train_batch_start(None, None, None, 0)
        with self.assertRaisesRegex(RuntimeError, "part="):
            callback.on_train_batch_end(None, None, None, None, 0)

    def arguments(self, **given):
        return types.SimpleNamespace(**{"optim": types.SimpleNamespace(value="adamw_torch_fused"), "bf16": True, "fp16": False,
                                        "gradient_accumulation_steps": 2, "world_size": 1, "gradient_checkpointing": False, **given})

    def test_transformers_says_how_it_trains(self):
        callback = plimsoll.callbacks.transformers(gpu="a100")
        module = Module()
        callback.on_train_begin(self.arguments(), None, None, model=module)
        callback.on_step_begin(None, None, None)
        module(input_ids=Tensor(8, 64), labels=Tensor(8, 64), use_cache=False)
        callback.on_step_end(None, None, None)
        callback.on_train_end(None, None, None)
        self.assertEqual(list(self.asked[0][1]), ["input_ids"])  # the loss is outside
        expected = plimsoll.estimate(self.file, gpu="a100", batch=8, optimizer="adamw-fused", precision="amp-bf16", accumulate=2)
        self.assertEqual(callback.estimate.device_bytes, expected.device_bytes)

    def test_what_does_not_fit_stops_unless_told_otherwise(self):
        for stop in (True, False):
            callback = plimsoll.callbacks.transformers(gpu="t4", batch=4096, stop=stop, optimizer="adamw")
            module = Module()
            callback.on_train_begin(self.arguments(optim="lomo"), None, None, model=module)
            with self.assertRaises(plimsoll.callbacks.DoesNotFit) if stop else contextlib.nullcontext():
                module(input_ids=Tensor(8, 64))
            self.assertEqual(callback.estimate.verdict, "does_not_fit")

    def test_an_optimizer_that_is_not_known(self):
        with self.assertRaisesRegex(ValueError, "lomo"):
            plimsoll.callbacks.transformers(gpu="t4").on_train_begin(self.arguments(optim="lomo"), None, None, model=Module())


if __name__ == "__main__":
    unittest.main()
