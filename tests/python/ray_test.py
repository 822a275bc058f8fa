"""`python -m plimsoll.ray` on two machines of a local cluster, one of which is killed at work: what the command says, byte for byte."""
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support import command

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:  # `./dev package-test` brings it
    Cluster = None

PLAN = """
model: builtin:bert-base
parameters:
  sequence: {min: 8, max: 512, step: 16}
  batch: {min: 1, max: 64}
  gpu: [t4, l4, a100]
"""


def without_duration(text):
    return re.sub(r'"seconds":[^,}]*', "", text)


@unittest.skipIf(Cluster is None, "needs ray")
class OnRay(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.plan = self.folder / "plan.yaml"
        self.plan.write_text(PLAN, encoding="utf-8")
        self.whole = self.folder / "whole.jsonl"
        self.status, self.printed = command("sweep", self.plan, "--json", f"--out={self.whole}")
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        self.workers = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.addCleanup(self.cluster.shutdown)

    def begin(self, *flags):
        arguments = [sys.executable, "-m", "plimsoll.ray", self.plan, "--json", f"--address={self.cluster.address}", "--shards=30", *flags]
        return subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_lines(self, file, least, child):
        deadline = time.monotonic() + 300
        while not file.exists() or file.read_bytes().count(b"\n") < least:
            self.assertIsNone(child.poll(), "it ended before anything was killed")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def check(self, child, file):
        printed, said = child.communicate(timeout=600)
        self.assertEqual(child.returncode, self.status, said)
        self.assertEqual(without_duration(printed), without_duration(self.printed))
        self.assertEqual(file.read_bytes(), self.whole.read_bytes())

    def test_a_worker_that_is_killed_loses_nothing(self):
        swept = self.folder / "swept.jsonl"
        child = self.begin(f"--out={swept}")
        self.wait_for_lines(swept, 500, child)
        self.cluster.remove_node(self.workers[1], allow_graceful=False)
        self.check(child, swept)

    def test_a_driver_that_is_killed_is_gone_on_with(self):
        swept = self.folder / "swept.jsonl"
        child = self.begin(f"--out={swept}")
        self.wait_for_lines(swept, 500, child)
        child.kill()
        child.communicate()
        with open(swept, "ab") as file:
            file.write(b'{"configuration":3,"par')  # what a write that was cut off leaves
        self.check(self.begin(f"--resume={swept}"), swept)

    def test_what_the_plan_lacks_is_told(self):
        self.plan.write_text("parameters: {batch: 3}\n", encoding="utf-8")
        child = self.begin()
        _, said = child.communicate(timeout=300)
        self.assertEqual(child.returncode, 2)
        self.assertIn("E108", said)


if __name__ == "__main__":
    unittest.main()
