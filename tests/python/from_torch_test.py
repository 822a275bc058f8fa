"""from_torch(): samples of any size, factories that read numbers, what PyTorch does not export. Needs torch."""
import importlib.util
import unittest
import warnings

import plimsoll

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
if HAS_TORCH:
    import torch

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
    return plimsoll.estimate(model, gpu="t4", loss="sum", **flags).to_dict()["result"]["memory"]


@unittest.skipUnless(HAS_TORCH, "needs torch, onnx and onnxscript")
class FromTorch(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)

    def test_samples_of_any_size(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
        answers = [answer(plimsoll.from_torch(net, (torch.randn(size, 4),)), batch=6) for size in (1, 2, 3)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_a_factory_that_reads_numbers(self):
        sample = (torch.randn(1, 8),)
        with warnings.catch_warnings():
            warnings.simplefilter("error", plimsoll.PlimsollWarning)
            made = answer(plimsoll.from_torch(Stochastic, sample), batch=6)
        held = answer(plimsoll.from_torch(Stochastic(), sample), batch=6)
        self.assertEqual(made, held)
        self.assertEqual(made["parameters"]["count"], 8 * 512 + 512 + 512 * 512 + 2 * 512)

    def test_a_factory_that_needs_its_weights(self):
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "built with its weights"):
            model = plimsoll.from_torch(Reads, (torch.randn(1, 4),))
        self.assertEqual(answer(model, batch=6)["parameters"]["count"], 4 * 10 + 10)

    def test_what_is_no_module(self):
        with self.assertRaisesRegex(TypeError, "the factory returns list"):
            plimsoll.from_torch(lambda: [], (torch.randn(1, 4),))

    def test_a_size_that_the_module_fixes(self):
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "fixes sequence: "):
            model = plimsoll.from_torch(Fixed(), (torch.randn(1, 6, 4),), {0: {0: "batch", 1: "sequence"}})
        self.assertEqual(plimsoll.estimate(model, gpu="t4", batch=3, loss="sum").to_dict()["input"]["symbols"], {"batch": 3})

    def test_what_the_backward_pass_computes_again(self):
        import torch.utils.checkpoint
        model = plimsoll.from_torch(Checkpointed(part=False), (torch.randn(2, 4),))
        self.assertEqual(model.settings, {"checkpoint": "blocks"})
        kept = answer(model, batch=64, checkpoint="none")["saved_bytes"]
        self.assertLess(answer(model, batch=64)["saved_bytes"], kept)
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "no list of its modules"):
            model = plimsoll.from_torch(Checkpointed(part=True), (torch.randn(2, 4),))
        self.assertEqual(answer(model, batch=64)["saved_bytes"], kept)

    def test_a_compiled_module(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        model = plimsoll.from_torch(torch.compile(net), (torch.randn(2, 4),))
        self.assertEqual(model.settings, {"compile": True})
        self.assertEqual(answer(model, batch=6, compile=False), answer(plimsoll.from_torch(net, (torch.randn(2, 4),)), batch=6))

    def test_a_parameter_of_a_values_name_and_a_part_without_gradients(self):
        memory = answer(plimsoll.from_torch(Named(), (torch.randn(2, 4),)), batch=6)
        self.assertEqual(memory["parameters"]["count"], 4 * 4 + 4 + 1)

    def test_what_pytorch_does_not_export(self):
        with self.assertRaisesRegex(plimsoll.InputError, "torch.export does not take this module") as caught:
            plimsoll.from_torch(Branches(), (torch.randn(2, 4),))
        self.assertEqual(caught.exception.code, "E291")
        self.assertIsNotNone(caught.exception.__cause__)


if __name__ == "__main__":
    unittest.main()
