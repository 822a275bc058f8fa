"""from_torch(): what is known of numbers without weights, and modules and inputs that no step is recorded of. Needs torch."""
import importlib.util
import sys
import unittest

import plimsoll

RECORDS = False
if importlib.util.find_spec("torch"):
    import torch

    RECORDS = sys.platform == "linux" and torch.version.hip is None


def recorded(module, inputs):
    return plimsoll.from_torch(module, inputs, via="record", loss="sum")


def answer(model):
    return model.estimate(gpu="t4", batch=64).to_dict()["result"]["memory"]


@unittest.skipUnless(RECORDS, "needs PyTorch, built for CUDA or the CPU")
class KnownValues(unittest.TestCase):
    def test_lazy_layers_are_refused_by_name_and_hold_nobody_else_up(self):
        lazy, sample = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LazyLinear(4)), (torch.randn(2, 4),)
        self.assertGreater(answer(recorded(torch.nn.Linear(4, 4), sample))["live_peak_bytes"], 0)
        for given in (lazy, lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LazyLinear(4))):
            with self.assertRaisesRegex(plimsoll.InputError, "1.weight has no size before the module's first call"):
                recorded(given, sample)
        lazy(*sample)
        self.assertGreater(answer(recorded(lazy, sample))["live_peak_bytes"], 0)

    def test_scripted_modules_are_refused(self):
        net, sample = torch.nn.Linear(4, 4), torch.randn(2, 4)
        for scripted in (torch.jit.script(net), torch.jit.trace(net, sample)):
            with self.assertRaisesRegex(plimsoll.InputError, "the module is a TorchScript module"):
                recorded(scripted, (sample,))

    def test_inputs_of_another_kind(self):
        for inputs in (None, 3, sys):
            with self.subTest(inputs=inputs), self.assertRaisesRegex(TypeError, "^inputs are a tensor, a tuple of arguments or a dict of them"):
                recorded(torch.nn.Linear(4, 4), inputs)
        with self.assertRaisesRegex(ValueError, "^batch is 0 in the inputs: give a sample of at least one"):
            recorded(torch.nn.Linear(4, 4), torch.randn(0, 4))
        with self.assertRaisesRegex(TypeError, "a module or a function that builds one, not str"):
            recorded("resnet18", torch.randn(1, 4))

    def test_numbers_of_short_buffers_are_known(self):
        class Padded(torch.nn.Module):
            """As EnCodec's convolutions, which pad by tensors that they hold."""

            def __init__(self, width):
                super().__init__()
                self.linear = torch.nn.Linear(16, 16)
                self.register_buffer("width", width, persistent=False)
                self.register_buffer("ready", torch.tensor(False))

            def forward(self, x):
                x = torch.nn.functional.pad(self.linear(x), (0, int(self.width)))
                return x.exp() if self.ready else x
        sample = (torch.randn(1, 16),)
        of_seven = answer(recorded(Padded(torch.tensor(7)), sample))
        self.assertEqual(of_seven, answer(recorded(lambda: Padded(torch.tensor(7)), sample)))
        self.assertGreater(of_seven["live_peak_bytes"], answer(recorded(Padded(torch.tensor(3)), sample))["live_peak_bytes"])
        said = recorded(Padded(torch.tensor(7)), sample).estimate(gpu="t4", batch=64).to_dict()["basis"]
        self.assertFalse(any("reads values" in line for line in said))

    def test_what_follows_from_known_numbers_is_known_where_it_is_spread_out(self):
        class Looks(torch.nn.Module):
            """As Longformer, looks whether a mask over queries and keys hides anything."""

            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)

            def forward(self, x):
                batch, length, _ = x.shape
                mask = torch.ones(batch, length, device=x.device)[:, None, None, :].expand(batch, 1, length, length).float()
                hides = (mask[:, 0] < .5).flatten().any().item()
                return self.linear(x).exp() if hides else self.linear(x)
        answers = [answer(recorded(Looks(), (torch.randn(size, 128, 8),))) for size in (1, 2, 3)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])


if __name__ == "__main__":
    unittest.main()
