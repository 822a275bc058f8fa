"""from_torch(): samples of any size, factories that read numbers, trainings, what PyTorch does not run or export. Needs torch."""
import gzip
import importlib.util
import json
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import plimsoll
from plimsoll import _record_card

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
RECORDS = False
if HAS_TORCH:
    import torch

    RECORDS = sys.platform == "linux" and torch.version.hip is None

    class Stochastic(torch.nn.Module):
        """As Swin and ConvNeXt do, reads rates of dropout from a tensor."""

        def __init__(self):
            super().__init__()
            self.rates = [rate.item() for rate in torch.linspace(0, .5, 4)]
            self.register_buffer("places", torch.arange(8).float())
            self.first, self.second = torch.nn.Linear(8, 512), torch.nn.Linear(512, 512)
            self.third = torch.nn.Linear(512, 512)
            self.third.weight = self.second.weight

        def forward(self, x):
            x = self.second(self.first(x + self.places))
            return torch.nn.functional.dropout(self.third(x), self.rates[1])

    class Reads(torch.nn.Module):
        """Reads a number of a tensor that is as large as weights are."""

        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, int(torch.ones(1000, 1000).sum().item()) // 100_000)

        def forward(self, x):
            return self.first(x)

    class Fixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.places = torch.nn.Parameter(torch.randn(1, 6, 4))

        def forward(self, x):
            return x + self.places

    class Checkpointed(torch.nn.Module):
        """Blocks that the backward pass computes again; of the last one only a part."""

        def __init__(self, part):
            super().__init__()
            self.blocks = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Linear(16, 4)) for _ in range(3)])
            self.part = part

        def forward(self, x):
            for block in self.blocks:
                x = torch.utils.checkpoint.checkpoint(block[0] if self.part else block, x, use_reentrant=False)
                x = block[1](x) if self.part else x
            return x

    class Named(torch.nn.Module):
        """A parameter of a value's name, without axes; a part without gradients."""

        def __init__(self):
            super().__init__()
            self.t = torch.nn.Parameter(torch.tensor(2.0))
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                target = torch.tanh(self.linear(x))
            return (self.linear(x) @ target.t()) * self.t.exp()

    class Branches(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x


def answer(model, **flags):
    return plimsoll.estimate(model, gpu="t4", **{"loss": "sum", **flags}).to_dict()["result"]["memory"]


class Ways:
    """What holds by a record and by a graph."""

    via = ""

    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)

    def model(self, module, inputs, dynamic=None, **settings):
        return plimsoll.from_torch(module, inputs, dynamic, via=self.via, **settings)

    def test_samples_of_any_size(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
        answers = [answer(self.model(net, (torch.randn(size, 4),)), batch=6) for size in (1, 2, 3)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_a_factory_that_reads_numbers(self):
        sample = (torch.randn(1, 8),)
        with warnings.catch_warnings():
            warnings.simplefilter("error", plimsoll.PlimsollWarning)
            made = answer(self.model(Stochastic, sample), batch=6)
        held = answer(self.model(Stochastic(), sample), batch=6)
        self.assertEqual(made, held)
        self.assertEqual(made["parameters"]["count"], 8 * 512 + 512 + 512 * 512 + 2 * 512)

    def test_a_factory_that_needs_its_weights(self):
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "built with its weights"):
            model = self.model(Reads, (torch.randn(1, 4),))
        self.assertEqual(answer(model, batch=6)["parameters"]["count"], 4 * 10 + 10)

    def test_what_is_no_module(self):
        with self.assertRaisesRegex(TypeError, "the factory returns list"):
            self.model(lambda: [], (torch.randn(1, 4),))

    def test_a_size_that_the_module_fixes(self):
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "fixes sequence: "):
            answered = plimsoll.estimate(self.model(Fixed(), (torch.randn(1, 6, 4),), {0: {0: "batch", 1: "sequence"}}), gpu="t4", batch=3, loss="sum")
        self.assertEqual(answered.to_dict()["input"]["symbols"], {"batch": 3})

    def test_a_parameter_of_a_values_name_and_a_part_without_gradients(self):
        memory = answer(self.model(Named(), (torch.randn(2, 4),)), batch=6)
        self.assertEqual(memory["parameters"]["count"], 4 * 4 + 4 + 1)

    def test_inputs_by_names_that_are_none(self):
        with self.assertRaisesRegex(ValueError, "dynamic names y; inputs are x"):
            self.model(Fixed(), (torch.randn(1, 6, 4),), {"y": {0: "batch"}})

    def test_inputs_that_a_wrapper_passes_on_have_their_own_names(self):
        class Wrapper(torch.nn.Module):  # as peft's without a task
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Bilinear(4, 4, 8)

            def forward(self, *args, **kwargs):
                return self.inner(*args, **kwargs)

        rows = torch.randn(2, 4)
        for inputs in ({"input1": rows, "input2": rows}, (rows, rows)):
            axes = {key: {0: "batch"} for key in (inputs if isinstance(inputs, dict) else range(2))}
            for batch in (2, 16):
                alone, passed_on = (answer(self.model(module, inputs, axes), batch=batch) for module in (torch.nn.Bilinear(4, 4, 8), Wrapper()))
                for figure in ("parameters", "inputs_bytes", "saved_bytes", "live_peak_bytes"):
                    self.assertEqual(passed_on[figure], alone[figure])
        with self.assertRaisesRegex(ValueError, "dynamic names x; inputs are input1, input2"):
            self.model(Wrapper(), {"input1": rows, "input2": rows}, {"x": {0: "batch"}})


@unittest.skipUnless(HAS_TORCH, "needs torch, onnx and onnxscript")
class Graphs(Ways, unittest.TestCase):
    via = "onnx"

    def test_what_the_backward_pass_computes_again(self):
        import torch.utils.checkpoint
        model = self.model(Checkpointed(part=False), (torch.randn(2, 4),))
        self.assertEqual(model.settings, {"checkpoint": "blocks"})
        kept = answer(model, batch=64, checkpoint="none")["saved_bytes"]
        self.assertLess(answer(model, batch=64)["saved_bytes"], kept)
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "not a list of its modules"):
            model = self.model(Checkpointed(part=True), (torch.randn(2, 4),))
        self.assertEqual(answer(model, batch=64)["saved_bytes"], kept)

    def test_a_compiled_module(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        model = self.model(torch.compile(net), (torch.randn(2, 4),))
        self.assertEqual(model.settings, {"compile": True})
        self.assertEqual(answer(model, batch=6, compile=False), answer(self.model(net, (torch.randn(2, 4),)), batch=6))

    def test_what_pytorch_does_not_export(self):
        with self.assertRaisesRegex(plimsoll.InputError, "torch.export cannot export this module") as caught:
            self.model(Branches(), (torch.randn(2, 4),))
        self.assertEqual(caught.exception.code, "E291")
        self.assertIsNotNone(caught.exception.__cause__)


@unittest.skipUnless(RECORDS, "no torch for CUDA or the CPU, on Linux")
class Records(Ways, unittest.TestCase):
    via = "record"

    def net(self):
        return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 64))

    def test_trainings_are_what_the_question_names(self):
        model = self.model(self.net(), (torch.randn(2, 64),))
        parameters = answer(model, batch=8)["parameters"]["bytes"]
        with warnings.catch_warnings():
            warnings.simplefilter("error", plimsoll.PlimsollWarning)
            for flags, states in (({"optimizer": "sgd"}, 0), ({}, 1), ({"optimizer": "adamw"}, 2)):
                self.assertEqual(answer(model, batch=8, **flags)["optimizer_state_bytes"], states * parameters)
            asked = model.estimate(gpu="a100", batch=8, optimizer="adamw", precision="amp-bf16", accumulate=2, clip_grad_norm=1.0, strict=True)
        self.assertEqual(asked.diagnostics, ())
        self.assertEqual(asked.to_dict()["request"]["optimizer"], "adamw")
        halves = answer(model, batch=8, precision="bf16")
        self.assertEqual(halves["parameters"]["bytes"], parameters // 2)
        self.assertEqual(answer(model, batch=8, mode="inference")["gradients_bytes"], 0)
        self.assertEqual(answer(model, batch=8, freeze=["0.*", "2.*"])["gradients_bytes"], 4 * (256 * 64 + 64))

    def test_weights_decay_as_pytorchs_optimizers_have_it(self):
        model = self.model(self.net(), (torch.randn(2, 64),))
        for flags, products in (({"optimizer": "adam"}, 1), ({"optimizer": "adamw"}, 2)):  # of the second moment, and of the weights
            with self.subTest(**flags), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "net.plimsoll.json.gz"
                model.save(path, **flags)
                record = json.loads(gzip.decompress(path.read_bytes()))
                called = [record["calls"][what]["operator"] for kind, what, phase, _ in record["events"] if kind == "!" and phase == "update"]
                self.assertEqual(called.count("_foreach_mul_"), products, called)

    def test_the_same_as_by_the_graph(self):
        net = self.net()
        recorded, graph = (plimsoll.from_torch(net, (torch.randn(2, 64),), via=via) for via in ("record", "onnx"))
        for flags in ({}, {"optimizer": "adamw"}, {"loss": "mse"}, {"loss": "cross_entropy"}, {"mode": "inference"},
                      {"precision": "bf16"}, {"zero_grad": "keep"}):
            with self.subTest(flags):
                one, other = (answer(model, batch=64, **flags) for model in (recorded, graph))
                for name in ("parameters", "gradients_bytes", "optimizer_state_bytes", "saved_bytes", "live_peak_bytes"):
                    self.assertEqual(one[name], other[name], name)

    def test_sweeps_trainings(self):
        model = self.model(self.net(), (torch.randn(2, 64),))
        found = plimsoll.sweep(model, batch=[8, 16], optimizer=["sgd", "adamw"], gpu=["t4", "l4"])
        self.assertEqual(list(found["batch"]), [8] * 4 + [16] * 4)
        self.assertEqual(list(found["optimizer"][:4]), ["sgd", "sgd", "adamw", "adamw"])
        self.assertEqual(list(found["error"]), [""] * 8)
        alone = model.estimate(gpu="l4", batch=16, optimizer="adamw")
        self.assertEqual(found["device_bytes"][-1], alone.device_bytes)
        self.assertEqual(len(model.sweep(optimizer=["sgd", "adam"], batch=8, gpu="t4")), 2)
        both = plimsoll.compare([model, "builtin:resnet18"], gpu=["t4", "l4"], optimizer="adamw")
        self.assertEqual([one.parameters for one in both], 2 * [model.estimate(gpu="t4").parameters] + 2 * [11689512])
        self.assertGreater(model.max_batch(gpu="t4", precision="amp-fp16").safe, 1024)

    def test_a_loss_of_its_own_and_labels(self):
        class Losing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 4)

            def forward(self, x, labels=None, more=()):
                logits = self.linear(x + sum(more))
                loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
                return {"loss": loss, "logits": logits} if loss is not None else {"logits": logits}
        x, labels = torch.randn(1, 8), torch.zeros(1, dtype=torch.long)
        inside, outside = self.model(Losing(), {"x": x, "labels": labels}), self.model(Losing(), {"x": x})
        self.assertEqual(*(model.estimate(gpu="t4", batch=6).live_peak_bytes for model in (inside, outside)))
        self.assertEqual(self.model(Losing(), {"x": x, "more": [x, x]}).estimate(gpu="t4", batch=6).parameters, 36)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "needs transformers")
    def test_masks_that_hide_nothing_are_left_out(self):
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=100)
        ids = torch.zeros(1, 40, dtype=torch.long)
        dims = {0: "batch", 1: "sequence"}
        with warnings.catch_warnings():
            warnings.simplefilter("error", plimsoll.PlimsollWarning)
            model = self.model(lambda: LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}, {"input_ids": dims, "labels": dims})
            asked = model.estimate(gpu="t4", batch=3, dim={"sequence": 57})
        self.assertEqual(asked.to_dict()["input"]["symbols"], {"batch": 3, "sequence": 57})
        calls = json.loads(gzip.decompress(model.path.read_bytes()))["calls"]
        self.assertNotIn("where", [call["operator"] for call in calls])
        attention, = [call for call in calls if "attention" in call["operator"] and not call["operator"].endswith("backward")]
        self.assertTrue(attention["facts"]["is_causal"])

    def test_sizes_of_which_some_are_free(self):
        class Halves(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 4)

            def forward(self, x):
                return self.linear(x) if x.shape[1] % 6 == 0 else self.linear(x.exp().exp())
        model = self.model(Halves(), (torch.randn(1, 6, 8),), {0: {0: "batch", 1: "sequence"}})
        self.assertGreater(model.estimate(gpu="t4", batch=5, dim={"sequence": 18}, loss="sum").device_bytes, 0)
        with self.assertRaises(plimsoll.InputError) as caught:
            model.estimate(gpu="t4", batch=5, dim={"sequence": 9}, loss="sum")
        self.assertEqual(caught.exception.code, "E282")

    def test_what_the_backward_pass_computes_again(self):
        plain = answer(self.model(Checkpointed(part=False), (torch.randn(2, 4),)), batch=64)
        part = answer(self.model(Checkpointed(part=True), (torch.randn(2, 4),)), batch=64)
        self.assertLess(plain["saved_bytes"], part["saved_bytes"])

    def test_a_compiled_module(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        model = self.model(torch.compile(net), (torch.randn(2, 4),))
        self.assertEqual(answer(model, batch=6), answer(self.model(net, (torch.randn(2, 4),)), batch=6))

    def test_a_build_that_cannot_record(self):
        with mock.patch.object(_record_card, "LIBRARY", Path("not there")):
            with self.assertRaisesRegex(plimsoll.InputError, "recording needs the package for Linux") as caught:
                self.model(self.net(), (torch.randn(2, 64),))
            self.assertEqual(caught.exception.code, "E292")
            with self.assertWarnsRegex(plimsoll.PlimsollWarning, r"the answer comes from its graph \(torch.export\): recording needs the package"):
                model = plimsoll.from_torch(self.net(), (torch.randn(2, 64),))
            self.assertGreater(model.estimate(gpu="t4", batch=4, optimizer="adamw").device_bytes, 0)

    def test_is_saved(self):
        model = self.model(self.net(), (torch.randn(2, 64),), optimizer="adamw")
        with tempfile.TemporaryDirectory() as folder:
            for name, flags in (("net.plimsoll.json.gz", {}), ("net.onnx", {"optimizer": "adamw"})):
                path = os.path.join(folder, name)
                model.save(path)
                self.assertEqual(answer(path, batch=8, **flags)["optimizer_state_bytes"], answer(model, batch=8)["optimizer_state_bytes"])
            with self.assertWarnsRegex(plimsoll.PlimsollWarning, "optimizer= has no effect: the recorded step fixes it"):
                plimsoll.estimate(os.path.join(folder, "net.plimsoll.json.gz"), gpu="t4", batch=8, optimizer="sgd")

    def test_leaves_the_module_as_it_was(self):
        net = self.net()
        weight = net[0].weight.detach().clone()
        answer(self.model(net, (torch.randn(2, 64),)), batch=4, precision="bf16", freeze=["*"])
        self.assertEqual((net[0].weight.dtype, net[0].weight.requires_grad), (torch.float32, True))
        self.assertTrue(torch.equal(net[0].weight, weight))

    def test_is_recorded_for_the_defaults_of_a_project(self):
        model = self.model(self.net(), (torch.randn(2, 64),))
        for name, value in (("precision", "fp16"), ("optimizer", "adamw"), ("accumulate", "4")):
            wanted = answer(model, batch=8, **{name: value})
            self.assertNotEqual(wanted, answer(model, batch=8))
            with mock.patch.dict(os.environ, {"PLIMSOLL_" + name.upper(): value}), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(answer(model, batch=8), wanted, name)
        with mock.patch.dict(os.environ, {"PLIMSOLL_PRECISION": "fp16"}):  # a keyword wins
            self.assertEqual(answer(model, batch=8, precision="fp32"), answer(self.model(self.net(), (torch.randn(2, 64),)), batch=8, precision="fp32"))
        with mock.patch.dict(os.environ, {"PLIMSOLL_GPUS": "4"}), self.assertRaisesRegex(plimsoll.UsageError, "gpus=4, of plimsoll.yaml or the environment"):
            model.estimate(gpu="t4", batch=8)

    def test_what_no_step_of_ours_does(self):
        with self.assertRaisesRegex(plimsoll.UsageError, "gpus= cannot be recorded") as caught:
            self.model(self.net(), (torch.randn(2, 64),)).estimate(gpu="t4", gpus=4)
        self.assertEqual(caught.exception.code, "E293")
        model = plimsoll.from_torch(self.net(), (torch.randn(2, 64),))
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "gpus= cannot be recorded by from_torch: the answer comes from"):
            found = model.estimate(gpu="t4", gpus=4, batch=8)
        self.assertEqual(found.device_bytes, plimsoll.from_torch(self.net(), (torch.randn(2, 64),), via="onnx").estimate(gpu="t4", gpus=4, batch=8).device_bytes)

    def test_a_branch_on_a_value_is_taken(self):
        said = self.model(Branches(), (torch.randn(2, 70000),)).estimate(gpu="t4", loss="sum").to_dict()["basis"]
        self.assertTrue(any("reads values" in line for line in said))

    def test_what_pytorch_does_not_run(self):
        class Unique(torch.nn.Module):
            def forward(self, x):
                return torch.unique(x)
        with self.assertRaisesRegex(plimsoll.InputError, "from_torch_test.py:.* _unique2 reads the values") as caught:
            self.model(Unique(), (torch.randn(2, 70000),))
        self.assertEqual(caught.exception.code, "E292")
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "cannot be recorded, the answer comes from its graph"):
            plimsoll.from_torch(Unique(), (torch.randn(2, 70000),))


if __name__ == "__main__":
    unittest.main()
