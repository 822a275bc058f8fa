"""What Python is told is what the command prints, byte for byte."""
import json
import subprocess
import tempfile
import unittest
import warnings

import numpy as np

import plimsoll
from support import COMMAND, SOURCE, command, unpacked

BUILTINS = ("resnet50", "vgg16_bn", "densenet121", "googlenet", "inception_v3", "mobilenet_v2", "squeezenet1_0", "mnasnet1_0",
            "efficientnet_b0", "vit_b_16", "convnext_tiny", "alexnet-owt", "mlp", "overfeat", "seq2seq-nmt",
            "transformer-base", "bert-base", "gpt2", "lstm-lm", "wgan")
CONFIGS = ("examples/perceptron.json", "examples/small-gpt.json", "examples/small-resnet.json")
FLAGS = ({}, {"precision": "amp-fp16", "optimizer": "adamw"}, {"mode": "inference"}, {"freeze": ["*"], "strict": False},
         {"accumulate": 2, "gpus": 4})


def flags_for(at, model):
    lengths = {"dim": ["sequence=32"]} if "/hf-" in model and "vit" not in model else {}
    return FLAGS[at % len(FLAGS)] | lengths | ({"batch": 4} if model.endswith(".onnx") else {})


def as_flags(keywords):
    for name, value in keywords.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not False:
                yield from ("--" + name, str(one))


class Equal(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", plimsoll.PlimsollWarning)

    def test_estimates_of_fifty_models(self):
        with tempfile.TemporaryDirectory() as folder:
            goldens = sorted((SOURCE / "tests/golden/onnx").glob("train-*/*.gz"))[::7][:20]
            wild = sorted((SOURCE / "tests/golden/wild").glob("*.gz"))[:10]
            models = [f"builtin:{name}" for name in BUILTINS] + [str(SOURCE / config) for config in CONFIGS]
            models += [unpacked(golden, folder) for golden in goldens + wild]
            self.assertGreaterEqual(len(models), 50)
            answered = 0
            for at, model in enumerate(models):
                flags = flags_for(at, model)
                status, printed = command("estimate", model, "--gpu", "a100", *as_flags(flags), "--json")
                with self.subTest(model=model, flags=flags):
                    try:
                        answer = plimsoll.estimate(model, gpu="a100", **flags)
                    except plimsoll.Error as error:
                        self.assertEqual((status, printed), (error.status, ""))
                        continue
                    answered += 1
                    self.assertEqual(answer.to_json(), printed)
                    self.assertEqual(status, 0 if answer.fits else 1)
                    result = json.loads(printed)["result"]
                    self.assertEqual(answer.device_bytes, result["memory"]["device_bytes"])
                    self.assertEqual(answer.step_seconds, result["time"]["step_ns"] / 1e9)
                    self.assertEqual(answer.verdict, result["verdict"])
            self.assertGreaterEqual(answered, 45)

    def test_max_batch(self):
        answer = plimsoll.max_batch("builtin:resnet50", gpu="t4", precision="amp-fp16", multiple=8)
        _, printed = command("max-batch", "builtin:resnet50", "--gpu=t4", "--precision=amp-fp16", "--multiple=8", "--json")
        self.assertEqual(answer.to_json(), printed)
        self.assertEqual(answer.safe, json.loads(printed)["result"]["safe"])
        self.assertEqual(answer.safe % 8, 0)
        self.assertEqual(int(answer), answer.safe)

    def test_compare(self):
        answer = plimsoll.compare(["builtin:alexnet", "builtin:mlp"], gpu=["t4", "l4"], batch=16, price={"t4": 0.35})
        _, printed = command("compare", "builtin:alexnet", "builtin:mlp", "--gpu=t4", "--gpu=l4", "--price=t4=0.35", "--batch=16", "--json")
        self.assertEqual(answer.to_json(), printed)
        self.assertEqual([one.to_dict() for one in answer], json.loads(printed))
        alone = plimsoll.estimate("builtin:mlp", gpu="t4", batch=16)
        self.assertEqual(answer[2].device_bytes, alone.device_bytes)
        self.assertIn("plimsoll-result", answer[2].to_html())

    def test_sweep(self):
        batches = np.arange(8, 129, 8)
        found = plimsoll.sweep("builtin:resnet50", gpu=["t4", "l4"], batch=batches, precision="amp-fp16")
        self.assertEqual(found.shape, (32,))
        np.testing.assert_array_equal(found["batch"].reshape(2, 16), np.stack([batches, batches]))
        with tempfile.TemporaryDirectory() as folder:
            plan = f"{folder}/plan.json"
            with open(plan, "w", encoding="utf-8") as file:
                json.dump({"model": "builtin:resnet50", "parameters": {"gpu": ["t4", "l4"], "batch": batches.tolist()}}, file)
            _, printed = command("sweep", plan, "--precision=amp-fp16", "--json")
            np.testing.assert_array_equal(plimsoll.sweep(plan=plan, precision="amp-fp16"), found)
        lines = sorted(map(json.loads, printed.splitlines()[:-1]), key=lambda line: line["configuration"])
        for line, record in zip(lines, found, strict=True):
            for name in ("device_id", "fits", "verdict", "device_bytes", "step_ns", "samples_per_second", "tier"):
                self.assertEqual(record[name], line[name])
            self.assertEqual(list(record["device_range_bytes"]), line["device_range_bytes"])
            self.assertEqual(record["error"], "")

    def test_points_without_an_answer(self):
        found = plimsoll.sweep("builtin:resnet50", gpu="t4", image=np.array([8, 224]), batch=8)
        status, printed = command("estimate", "builtin:resnet50", "--gpu=t4", "--image=8", "--batch=8", "--json")
        if status == 3:
            self.assertTrue(found["error"][0])
            self.assertEqual(found["device_bytes"][0], -1)
        self.assertEqual(found["error"][1], "")
        self.assertTrue(found["fits"][1])

    def test_validate(self):
        runs = str(SOURCE / "examples/measured-runs.csv")
        answer = plimsoll.validate(runs, tolerance={"memory": "10%", "time": "15%"})
        _, printed = command("validate", runs, "--tolerance=memory=10%", "--tolerance=time=15%", "--json")
        self.assertTrue(answer.pop("passed"))
        self.assertEqual(answer, json.loads(printed))
        self.assertFalse(plimsoll.validate(runs, tolerance={"memory": "0.1%"})["passed"])

    def test_the_command_is_the_same_build(self):
        printed = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, f"plimsoll {plimsoll.__version__}\n")


if __name__ == "__main__":
    unittest.main()
