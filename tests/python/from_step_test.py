"""from_step(): a step as a program has it, what it may read, and sizes at which it holds. Needs torch, without a card."""
import importlib.util
import os
import tempfile
import unittest

import plimsoll

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch

    HAS_TORCH = torch.version.hip is None


def bytes_of(model, **flags):
    return model.estimate(gpu="t4", **flags).to_dict()["result"]["memory"]["live_peak_bytes"]


@unittest.skipUnless(HAS_TORCH, "no torch for CUDA or the CPU")
class FromStep(unittest.TestCase):
    def setUp(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
        self.optimizer = torch.optim.AdamW(self.net.parameters())
        self.x, self.wanted = torch.randn(6, 16), torch.zeros(6, dtype=torch.long)

    def step(self, x, wanted):
        loss = torch.nn.functional.cross_entropy(self.net(x), wanted)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def test_leaves_the_program_as_it_was(self):
        weight = self.net[0].weight.detach().clone()
        self.step(self.x, self.wanted)  # a backward pass before, whose threads the child does not have
        changed = self.net[0].weight.detach().clone()
        plimsoll.from_step(self.step, (self.x, self.wanted))
        self.assertTrue(torch.equal(self.net[0].weight, changed))
        self.assertFalse(torch.equal(weight, changed))
        self.assertEqual(self.net[0].weight.device.type, "cpu")
        self.assertFalse(torch.cuda.is_available())

    def test_holds_at_other_batches(self):
        small = plimsoll.from_step(self.step, (self.x, self.wanted))
        large = plimsoll.from_step(self.step, (torch.randn(96, 16), torch.zeros(96, dtype=torch.long)))
        self.assertEqual(bytes_of(small, batch=96), bytes_of(large))
        self.assertEqual(small.estimate(gpu="t4").parameters, 16 * 64 + 64 + 64 * 8 + 8)

    def test_is_kept_in_a_file(self):
        model = plimsoll.from_step(self.step, (self.x, self.wanted))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.plimsoll.json.gz")
            model.save(path)
            self.assertEqual(plimsoll.estimate(path, gpu="t4", batch=32).device_bytes, model.estimate(gpu="t4", batch=32).device_bytes)

    def test_is_asked_as_any_model(self):
        model = plimsoll.from_step(self.step, (self.x, self.wanted))
        found = model.sweep(batch=[6, 24], gpu=["t4", "l4"])
        self.assertEqual(list(found["error"]), [""] * 4)
        self.assertTrue(found["fits"].all())
        both = plimsoll.compare([model, "builtin:resnet18"], gpu=["t4"])
        self.assertEqual(len(both), 2)
        self.assertGreater(model.max_batch(gpu="t4").safe, 6)
        self.assertIn("<html", model.estimate(gpu="t4").to_html())
        whole = plimsoll.from_step(self.step, (self.x, self.wanted), {})  # no size may change: the batch is known all the same
        self.assertEqual(whole.estimate(gpu="t4").to_dict()["input"]["batch"], 6)

    def test_reads_stated_values(self):
        def step(x, wanted):
            if torch.isfinite(self.step(x, wanted)):
                return float(self.net(x).sum())
            raise FloatingPointError("a loss without an end")
        model = plimsoll.from_step(step, (self.x, self.wanted))
        self.assertTrue(any("numbers that the step reads are 1" in line for line in model.estimate(gpu="t4").to_dict()["basis"]))

    def test_says_what_it_cannot_do(self):
        def step(x):
            return torch.unique(self.net(x))
        with self.assertRaises(plimsoll.InputError) as raised:
            plimsoll.from_step(step, (self.x,))
        self.assertEqual(raised.exception.code, "E292")
        self.assertIn("from_step_test.py", str(raised.exception))

    def test_knows_numbers_that_no_weight_is_in(self):
        kept = []

        def step(x, mask):
            rate = torch.rand([])  # of a layer that is left out now and then
            skipped = bool(rate < 0) or bool(rate >= 1)
            chosen = x[mask]  # the sample's own mask: half of it
            y = self.net(chosen)
            marks = torch.zeros(len(y), dtype=torch.bool, device=y.device)
            marks[y.sum(-1).topk(2).indices] = True  # two, whichever they are
            kept[:] = [skipped, len(chosen), len(torch.where(marks)[0])]
            if kept != [False, len(x) // 2, 2]:
                raise ValueError(f"{kept}")
            y.sum().backward()
        mask = torch.arange(6) % 2 == 0
        model = plimsoll.from_step(step, (self.x, mask))
        self.assertEqual(model.estimate(gpu="t4").to_dict()["input"]["batch"], 6)
        self.assertGreater(bytes_of(model, batch=6 * 700), bytes_of(model))

    def test_autocast_of_the_host_is_the_cards(self):
        def step(x, wanted, dtype, device):
            with torch.autocast(device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                return torch.nn.functional.cross_entropy(self.net(x), wanted).backward()
        peaks = {(dtype, device): bytes_of(plimsoll.from_step(lambda x, wanted, d=dtype, on=device: step(x, wanted, d, on), (self.x, self.wanted), {}))
                 for dtype in (None, torch.bfloat16) for device in ("cpu", "cuda")}
        self.assertEqual(peaks[torch.bfloat16, "cpu"], peaks[torch.bfloat16, "cuda"])
        self.assertNotEqual(peaks[torch.bfloat16, "cpu"], peaks[None, "cpu"])

    def test_moves_modules_inside(self):
        def step(x, wanted):
            self.net.to("cuda")
            self.step(x, wanted)
        self.assertEqual(bytes_of(plimsoll.from_step(step, (self.x, self.wanted), {})),
                         bytes_of(plimsoll.from_step(self.step, (self.x, self.wanted), {})))

    def test_what_no_module_moves_lies_on_the_host(self):
        places = torch.arange(4096) % 6  # an attribute: neither parameter nor buffer

        def step(x):
            self.net(x[self.net.places.to(x.device)]).sum().backward()
        self.net.places = places
        beside = bytes_of(plimsoll.from_step(step, (self.x,), {}))
        del self.net.places
        self.net.register_buffer("places", places)
        buffer = bytes_of(plimsoll.from_step(step, (self.x,), {}))
        self.assertEqual(beside, buffer - places.nbytes)  # the copy goes when it has been read

    def test_another_program_at_another_size_is_refused(self):
        def step(x):
            return self.net(x if len(x) == 6 else x.exp().exp()).sum().backward()
        model = plimsoll.from_step(step, (self.x,))
        self.assertGreater(model.estimate(gpu="t4").device_bytes, 0)
        with self.assertRaises(plimsoll.InputError) as raised:
            model.estimate(gpu="t4", batch=12)
        self.assertEqual(raised.exception.code, "E282")


if __name__ == "__main__":
    unittest.main()
