"""from_step(): a step as a program has it, what it may read, and sizes at which it holds. Needs torch, without a card."""
import gzip
import importlib.util
import json
import os
import tempfile
import unittest
from pathlib import Path

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


@unittest.skipUnless(HAS_TORCH, "no torch for CUDA or the CPU")
class OfSequences(unittest.TestCase):
    """What is sized by lengths, which the sample's numbers tell."""

    def record(self, step, inputs):
        model = plimsoll.from_step(step, inputs, {})
        return json.loads(gzip.decompress(Path(model.path).read_bytes()))

    def ctc(self, kind, labels, as_lists=False):
        net = torch.nn.Linear(16, 10)

        def step(x, labels, frames, lengths):
            scores = net(x).log_softmax(-1).transpose(0, 1)
            given = ([50] * len(x), [8, 7, 5, 2]) if as_lists else (frames, lengths)
            torch.nn.functional.ctc_loss(scores, labels, *given).backward()

        lengths = torch.tensor([8, 7, 5, 2], dtype=kind)
        return self.record(step, (torch.randn(4, 50, 16), labels.to(kind), torch.full((4,), 50, dtype=kind), lengths))

    def test_ctc_keeps_what_the_longest_target_asks(self):
        padded, joined = torch.ones(4, 9), torch.ones(22)
        prefixes = 4 * 50 * (2 * 8 + 1) * 4  # bytes (LossCTC.cu)
        for kind, labels, as_lists in ((torch.int64, padded, False), (torch.int64, joined, False), (torch.int32, padded, False), (torch.int64, padded, True)):
            with self.subTest(kind=kind, labels=tuple(labels.shape), as_lists=as_lists):
                record = self.ctc(kind, labels, as_lists)
                self.assertIn(prefixes, [size for size, *_ in record["storages"]])
                self.assertIn("_ctc_loss", [call["operator"] for call in record["calls"]])
        record = self.ctc(torch.int32, joined)  # cuDNN's, which keeps gradients alone
        self.assertNotIn(prefixes, [size for size, *_ in record["storages"]])
        self.assertIn("_cudnn_ctc_loss", [call["operator"] for call in record["calls"]])

    def packed(self, lengths, **options):
        net = torch.nn.LSTM(32, 64, batch_first=True, **options)

        def step(x, lengths):
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, _ = torch.nn.utils.rnn.pad_packed_sequence(net(packed)[0], batch_first=True)
            out.sum().backward()
        return self.record(step, (torch.randn(4, 20, 32), torch.tensor(lengths)))

    def test_packed_sequences_take_what_their_lengths_add_up_to(self):
        for lengths, directions in (([20, 20, 20, 20], 1), ([20, 15, 9, 3], 1), ([3, 20, 9, 15], 2)):
            with self.subTest(lengths=lengths, directions=directions):
                record = self.packed(lengths, bidirectional=directions == 2)
                sizes = [size for size, *_ in record["storages"]]
                self.assertIn(sum(lengths) * 32 * 4, sizes)               # the packed input
                self.assertIn(sum(lengths) * directions * 64 * 4, sizes)  # and output
                self.assertIn(20 * 4 * directions * 64 * 4, sizes)        # padded again
                call = next(call for call in record["calls"] if call["operator"] == "recurrent")
                self.assertEqual(record["types"][call["reads"][0]][1], [20, -(-sum(lengths) // 20), 32])

    def test_lengths_that_weights_decide_are_refused_by_line(self):
        net = torch.nn.Linear(32, 1)

        def step(x):
            lengths = net(x).squeeze(-1).gt(0).sum(1)
            torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)

        with self.assertRaises(plimsoll.InputError) as raised:
            self.record(step, (torch.randn(4, 20, 32),))
        self.assertIn("from_step_test.py:", str(raised.exception))
        self.assertIn("lengths of sequences", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
