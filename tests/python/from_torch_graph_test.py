"""from_torch(via="onnx"): what a graph says of a module that no file of an exporter does. Needs torch."""
import importlib.util
import sys
import unittest
import warnings

import plimsoll

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
RECORDS = False
if HAS_TORCH:
    import torch

    RECORDS = sys.platform == "linux" and torch.version.hip is None

    class Places(torch.nn.Module):
        """A mask and a table that forward() makes anew, a number that where() makes a tensor of, and what is the host's."""

        def __init__(self):
            super().__init__()
            self.scores = torch.nn.Linear(32, 32)
            self.register_buffer("scale", torch.ones(32))

        def forward(self, x):
            places = torch.arange(32, device=x.device)
            table = torch.zeros(32, 32, device=x.device)
            table[:4, 8:] = 1.
            steps = torch.arange(4)  # of the host: nobody reads it on the card
            seen = places[:, None] >= places
            return torch.where(seen, self.scores(x * self.scale), -1e9) + table + len(steps)


def answer(model, **flags):
    return plimsoll.estimate(model, gpu="t4", loss="sum", **flags).to_dict()["result"]


@unittest.skipUnless(HAS_TORCH, "needs torch, onnx and onnxscript")
class Graphs(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)

    def model(self, module, inputs):
        return plimsoll.from_torch(module, inputs, via="onnx")

    def test_what_the_card_computes_of_no_data(self):
        import onnx

        net = Places()
        held = dict(net.named_parameters()) | dict(net.named_buffers())
        for given in (net, Places):
            model = self.model(given, (torch.randn(2, 32, 32),))
            graph = onnx.load(model.path, load_external_data=False).graph
            marked = [node.op_type for node in graph.node if any(one.key == "plimsoll.on_device" for one in node.metadata_props)]
            computed = [op for op in marked if op not in ("Unsqueeze", "Slice", "Shape")]
            self.assertEqual(computed, ["Range", "Expand", "GreaterOrEqual", "Expand"])
        self.assertTrue(all(dict(net.named_parameters()).get(name, net.scale) is tensor for name, tensor in held.items()))
        self.assertEqual({tensor.device.type for tensor in held.values()}, {"cpu"})

    def test_lists_of_tensors(self):
        class Sums(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, parts):
                return self.linear(parts[0] + parts[1])

        memory = answer(self.model(Sums(), ([torch.randn(2, 4), torch.randn(2, 4)],)), batch=6)["memory"]
        self.assertEqual(memory["parameters"]["count"], 20)

    def test_a_name_of_several_sizes(self):
        class Graph(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, x, source, target):
                return torch.zeros_like(x).index_add(0, target, self.linear(x)[source])

        edges = torch.randint(0, 8, (48,))
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "batch stands for several sizes"):
            model = self.model(Graph(), (torch.randn(8, 4), edges, edges))
        self.assertGreaterEqual(answer(model)["memory"]["saved_bytes"], 48 * 8)

    @unittest.skipUnless(RECORDS, "no torch for CUDA or the CPU, on Linux")
    def test_what_forward_makes_anew_runs_by_both_ways(self):
        by = {via: plimsoll.from_torch(Places(), (torch.randn(2, 32, 32),), via=via) for via in ("record", "onnx")}
        launches = {via: answer(model, batch=8)["time"]["launches"] for via, model in by.items()}
        self.assertEqual(launches["record"], launches["onnx"])
