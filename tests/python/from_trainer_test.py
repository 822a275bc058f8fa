"""from_trainer(): its step is the one that a loop by hand has. Needs torch, without a card, and the library of each test."""
import importlib.util
import tempfile
import unittest
import warnings

import plimsoll

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch

    HAS_TORCH = torch.version.hip is None


def has(*names):
    return HAS_TORCH and all(importlib.util.find_spec(name) for name in names)


def peak_of(model, **flags):
    return model.estimate(gpu="t4", **flags).to_dict()["result"]["memory"]["live_peak_bytes"]


def linear(width=64):
    return torch.nn.Sequential(torch.nn.Linear(16, width), torch.nn.ReLU(), torch.nn.Linear(width, 8))


@unittest.skipUnless(has("transformers", "accelerate"), "no transformers")
class OfTransformers(unittest.TestCase):
    def trainer(self, folder, **arguments):
        import transformers

        config = transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                          vocab_size=100, use_cache=False)
        model = transformers.LlamaForCausalLM(config)
        rows = [{"input_ids": list(range(12)), "labels": list(range(12))} for _ in range(8)]
        given = transformers.TrainingArguments(output_dir=folder, per_device_train_batch_size=4, report_to=[], disable_tqdm=True, **arguments)
        return transformers.Trainer(model=model, args=given, train_dataset=rows)

    def recorded(self, **arguments):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = self.trainer(folder, **arguments)
            model = plimsoll.from_trainer(trainer)
            self.assertIsNone(trainer.optimizer)
            self.assertEqual(next(trainer.model.parameters()).device.type, "cpu")
            return trainer, model

    def by_hand(self, trainer, dtype, steps):
        network, update, total = trainer.model, trainer.create_optimizer(), torch.zeros(1)

        def step(input_ids, labels):
            items = torch.ones((), dtype=torch.int64, device="cuda")
            for _ in range(steps):
                with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
                    loss = network(input_ids=input_ids, labels=labels, num_items_in_batch=items).loss
                (loss / 1).backward()  # as accelerate does
                loss = loss.detach()
                total.add_(loss)
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            update.step()
            update.zero_grad()
        batch = torch.zeros(4, 12, dtype=torch.long)
        return plimsoll.from_step(step, {"input_ids": batch, "labels": batch.clone()})

    def test_is_the_loop_by_hand(self):
        trainer, model = self.recorded(optim="adamw_torch")
        other = self.by_hand(trainer, None, 1)
        self.assertEqual(peak_of(model), peak_of(other))
        self.assertEqual(peak_of(model, batch=24), peak_of(other, batch=24))

    def test_takes_precision_accumulation_and_checkpoints(self):
        trainer, plain = self.recorded(optim="adamw_torch")
        _, half = self.recorded(optim="adamw_torch", bf16=True, use_cpu=True, gradient_accumulation_steps=2)
        self.assertLess(peak_of(half, batch=512), peak_of(plain, batch=512))
        self.assertLessEqual(abs(peak_of(half, batch=64) / peak_of(self.by_hand(trainer, torch.bfloat16, 2), batch=64) - 1), 0.02)
        _, checked = self.recorded(optim="adamw_torch", gradient_checkpointing=True)
        self.assertLess(peak_of(checked, batch=512), peak_of(plain, batch=512))


@unittest.skipUnless(has("accelerate"), "no accelerate")
class OfAccelerate(unittest.TestCase):
    def test_is_the_loop_by_hand(self):
        import accelerate

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = linear()

            def forward(self, x, wanted):
                return {"loss": torch.nn.functional.cross_entropy(self.inner(x), wanted)}

        network = Network()
        batch = torch.randn(6, 16), torch.zeros(6, dtype=torch.long)
        accelerator = accelerate.Accelerator()
        update = torch.optim.AdamW(network.parameters())
        prepared, _ = accelerator.prepare(network, update)
        model = plimsoll.from_trainer(accelerator, batch)

        def step(x, wanted):
            loss = prepared(x, wanted)["loss"]
            loss.backward()
            update.step()
            update.zero_grad()
        self.assertEqual(peak_of(model, batch=48), peak_of(plimsoll.from_step(step, batch), batch=48))


@unittest.skipUnless(has("pytorch_lightning") or has("lightning"), "no Lightning")
class OfLightning(unittest.TestCase):
    def lightning(self):
        if has("lightning"):
            import lightning.pytorch as pl
        else:
            import pytorch_lightning as pl
        return pl

    def module(self, manual=False):
        class Module(self.lightning().LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.automatic_optimization = linear(), not manual

            def training_step(self, batch, _):
                x, wanted = batch
                loss = torch.nn.functional.cross_entropy(self.net(x), wanted)
                self.log("loss", loss)
                if not manual:
                    return loss
                update = self.optimizers()
                update.zero_grad()
                self.manual_backward(loss)
                update.step()

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())
        return Module()

    def recorded(self, manual=False, **settings):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = self.lightning().Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                               enable_model_summary=False, default_root_dir=folder, **settings)
            module = self.module(manual)
            model = plimsoll.from_trainer(trainer, (torch.randn(6, 16), torch.zeros(6, dtype=torch.long)), model=module)
            self.assertIsNone(module._trainer)
            return module, model

    def test_is_the_loop_by_hand(self):
        for manual in (False, True):
            module, model = self.recorded(manual)
            update = torch.optim.Adam(module.net.parameters())

            def step(x, wanted, net=module.net, update=update):
                loss = torch.nn.functional.cross_entropy(net(x), wanted)
                update.zero_grad()
                loss.backward()
                update.step()
            other = plimsoll.from_step(step, (torch.randn(6, 16), torch.zeros(6, dtype=torch.long)))
            self.assertEqual(peak_of(model, batch=48), peak_of(other, batch=48), f"manual={manual}")

    def test_takes_precision(self):
        _, plain = self.recorded()
        _, half = self.recorded(precision="bf16-mixed", accumulate_grad_batches=2, gradient_clip_val=1.0)
        self.assertLess(peak_of(half, batch=100_000), peak_of(plain, batch=100_000))


@unittest.skipUnless(HAS_TORCH, "no torch for CUDA or the CPU")
class OfNeither(unittest.TestCase):
    def test_is_refused(self):
        with self.assertRaisesRegex(TypeError, "give from_step its step"):
            plimsoll.from_trainer(object())


if __name__ == "__main__":
    unittest.main()
