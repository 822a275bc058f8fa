"""Errors, warnings, reports, threads, interrupts: what is Python's own."""
import html
import json
import multiprocessing
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import plimsoll
from plimsoll._command import flags_of
from plimsoll._flags import Flags
from support import COMMAND, command


def bytes_of(batch):
    return plimsoll.estimate("builtin:mlp", gpu="t4", batch=batch).device_bytes


class Errors(unittest.TestCase):
    def test_usage(self):
        with self.assertRaises(plimsoll.UsageError) as caught:
            plimsoll.estimate("builtin:resnet50", gpu="t5")
        self.assertEqual((caught.exception.code, caught.exception.status), ("E140", 2))
        self.assertIn("tesla-t4", caught.exception.help)
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(plimsoll.UsageError, "unknown keyword precison; did you mean precision"):
            plimsoll.estimate("builtin:resnet50", gpu="t4", precison="fp16")

    def test_a_refused_element_of_a_pool(self):
        for raised in (plimsoll.UsageError, plimsoll.InputError, plimsoll.MissingError, plimsoll.LimitError, plimsoll.Bug):
            first = raised([plimsoll.Diagnostic("E103", "error", "no such size", help="give another")])
            again = pickle.loads(pickle.dumps(first))
            self.assertIs(type(again), raised)
            self.assertEqual((again.diagnostics, again.code, str(again)), (first.diagnostics, "E103", str(first)))
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool, self.assertRaises(plimsoll.UsageError):
            list(pool.map(bytes_of, [8, 0, 16]))

    def test_a_file_that_is_no_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bad.onnx"
            path.write_bytes(b"\x08\x07\xff\xff\xff")
            with self.assertRaises(plimsoll.InputError) as caught:
                plimsoll.max_batch(path, gpu="t4")
            self.assertEqual(caught.exception.file, str(path))
            self.assertTrue(caught.exception.code.startswith("E2"))
            self.assertEqual(caught.exception.diagnostics[-1].severity, "error")
            with self.assertRaises(plimsoll.MissingError):
                plimsoll.estimate(Path(folder) / "none.onnx", gpu="t4")

    def test_limits(self):
        with self.assertRaises(plimsoll.LimitError):
            plimsoll.sweep("builtin:alexnet", gpu="t4", batch=np.arange(1, 50), limit={"sweep": 10})

    def test_warnings(self):
        flags = {"gpu": "t4", "freeze": "*", "batch": 8}
        with self.assertWarnsRegex(plimsoll.PlimsollWarning, "frozen"):
            doubtful = plimsoll.estimate("builtin:alexnet", **flags)
        self.assertIn("warning", [d.severity for d in doubtful.diagnostics])
        self.assertIn("train=GLOB names weights to train", [d.help for d in doubtful.diagnostics])
        with self.assertRaises(plimsoll.InputError):
            plimsoll.estimate("builtin:alexnet", strict=True, **flags)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plimsoll.estimate("builtin:alexnet", gpu="t4", batch=8)

    def test_two_models_for_one_plan(self):
        with self.assertRaisesRegex(TypeError, "batch"):
            plimsoll.sweep(plan="plan.yaml", batch=[1, 2])


class Keywords(unittest.TestCase):
    def test_values(self):
        self.assertEqual(flags_of({"batch": np.int64(8), "dropout": 0.1, "compile": True, "strict": False, "mem": None}),
                         ["--batch=8", "--dropout=0.1", "--compile"])
        self.assertEqual(flags_of({"dim": {"sequence": 512}, "freeze": ["a.*", "b.*"], "machine": Path("m.json")}),
                         ["--dim=sequence=512", "--freeze=a.*", "--freeze=b.*", "--machine=m.json"])
        self.assertEqual(flags_of({"cudnn_benchmark": False, "input_gradient": True, "prefetch": 0, "strict": np.bool_(True)}),
                         ["--cudnn-benchmark=off", "--input-gradient=on", "--prefetch=0", "--strict"])

    def test_one_number_and_a_count_that_may_be_left_out(self):
        self.assertEqual(flags_of({"batch": np.array(8), "accumulate": np.array([2])}), ["--batch=8", "--accumulate=2"])
        self.assertEqual(flags_of({"fsdp": True, "gpus": 4}), ["--fsdp", "--gpus=4"])
        self.assertEqual(flags_of({"fsdp": False, "gpus": 4}), ["--gpus=4"])
        self.assertEqual(flags_of({"fsdp": 2}), ["--fsdp=2"])

    def test_values_that_no_flag_takes(self):
        for name, value in (("batch", b"8"), ("batch", object()), ("batch", True), ("gpus", np.bool_(False)), ("strict", 0), ("compile", "yes"), ("dim", {"sequence": None}),
                            ("checkpoint", False), ("gpu", True), ("mem", False), ("freeze", True)):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(TypeError, f"^{name}"):
                flags_of({name: value})
        with self.assertRaises(TypeError):
            plimsoll.sweep("builtin:mlp", gpu="t4", batch=b"8")
        with self.assertRaises(TypeError):
            plimsoll.estimate("builtin:mlp", gpu="t4", batch=True)

    def test_every_flag_is_typed(self):
        _, text = command("estimate", "--help-all")
        groups = text.split("\nOutput:")[0]
        flags = {name.replace("-", "_") for name in re.findall(r"^  --([a-z0-9-]+)", groups, re.M)}
        self.assertGreater(len(flags), 50)
        # What the command alone has: a program that is run, and a word that is Python's own.
        self.assertEqual(flags - {"ask_cudnn", "from"}, set(Flags.__annotations__))


class Reports(unittest.TestCase):
    def test_a_report_has_the_answer(self):
        answer = plimsoll.estimate("builtin:alexnet", gpu="t4", batch=8)
        page = answer.to_html()
        held = re.search(r'<script type="application/json" id="plimsoll-result">(.*?)</script>', page, re.S)
        in_page, memory = json.loads(held[1])["result"]["memory"], answer.to_dict()["result"]["memory"]
        for figure in ("device_bytes", "device_range_bytes", "parameters", "max_by_role"):
            self.assertEqual(in_page[figure], memory[figure])

    def test_a_notebook_shows_a_table(self):
        answers = [plimsoll.estimate("builtin:alexnet", gpu="t4", batch=8), plimsoll.max_batch("builtin:mlp", gpu="t4"),
                   plimsoll.compare("builtin:mlp", gpu=["t4", "l4"])]
        for answer in answers:
            cell = answer._repr_html_()
            self.assertLess(len(cell), 30_000)
            self.assertIn(repr(answer).strip("<>"), html.unescape(cell))
            self.assertGreater(cell.count("<tr>"), 2)


class Threads(unittest.TestCase):
    def test_others_run_meanwhile(self):
        done = threading.Event()
        found = []

        def work():
            found.append(plimsoll.sweep("builtin:resnet50", gpu="t4", batch=np.arange(1, 1500), threads=1))
            done.set()

        worker = threading.Thread(target=work)
        worker.start()
        turns = 0
        while not done.wait(0.001):
            turns += 1
        worker.join()
        self.assertEqual(len(found[0]), 1499)
        self.assertGreater(turns, 20)

    def test_many_at_once(self):
        alone = plimsoll.estimate("builtin:mlp", gpu="t4", batch=64).to_json()
        answers = [None] * 8

        def ask(at):
            if at % 2:
                try:
                    plimsoll.estimate("builtin:mlp", gpu="none-such")
                except plimsoll.UsageError as error:
                    answers[at] = error.code
            else:
                answers[at] = plimsoll.estimate("builtin:mlp", gpu="t4", batch=64).to_json()

        threads = [threading.Thread(target=ask, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [alone, "E140"] * 4)

    def test_interrupt(self):
        child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "begun\n")
        time.sleep(0.3)
        child.send_signal(2)
        said, _ = child.communicate(timeout=60)
        self.assertEqual(said, "interrupted\nagain\n")


    def test_interrupt_stops_an_estimate_where_it_stands(self):
        done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stderr, "")
        for line in done.stdout.splitlines():
            self.assertLess(float(line), 0.2)
        self.assertEqual(len(done.stdout.splitlines()), 3)

    def test_a_daemon_may_be_in_a_call_when_python_ends(self):
        done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(sys.platform == "linux", "ELF is Linux's")
    def test_what_the_wheel_holds_is_bound_and_locked(self):
        package = Path(plimsoll.__file__).parent
        shipped = [*package.glob("*.so"), COMMAND]
        self.assertEqual({path.name.partition(".")[0] for path in shipped}, {"_plimsoll", "_pretended_card", "plimsoll"})
        for path in shipped:
            with self.subTest(path.name):
                self.assertEqual(hardening(path.read_bytes()), {"relro", "now"})

    def test_the_command_is_a_module(self):
        done = subprocess.run([sys.executable, "-m", "plimsoll", "--version"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, command("--version")[1]))


def hardening(file):
    """Of an ELF file of 64 bits: "relro", "now", and "exec" where its stack runs."""
    found = set()
    table, (size, count) = struct.unpack_from("<Q", file, 32)[0], struct.unpack_from("<HH", file, 54)
    for at in range(table, table + size * count, size):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", file, at)
        found |= {"relro"} if kind == 0x6474E552 else {"exec"} if kind == 0x6474E551 and flags & 1 else set()  # elf.h: PT_GNU_*
        for entry in range(offset, offset + length, 16) if kind == 2 else ():  # PT_DYNAMIC
            tag, value = struct.unpack_from("<QQ", file, entry)
            if (tag, value & 8) == (30, 8) or (tag, value & 1) == (0x6FFFFFFB, 1):  # DF_BIND_NOW, DF_1_NOW
                found.add("now")
    return found


ENDED = """
import threading, time, plimsoll
def work():
    while True:
        plimsoll.estimate("builtin:mlp", gpu="t4", batch=8)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(.2)
"""

STOPPED = """
import json, os, pathlib, signal, tempfile, threading, time, plimsoll
signal.signal(signal.SIGINT, signal.default_int_handler)
layers = [{"name": f"l{i}", "type": "linear", "out": 64} for i in range(30000)]
config = {"schema": "plimsoll.model-config", "version": 1, "name": "deep", "parameters": {"batch": 8},
          "inputs": [{"name": "x", "shape": ["batch", 64]}], "layers": layers, "loss": "sum"}
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "deep.json")
    path.write_text(json.dumps(config))
    for after in (0.1, 0.4, 0.7):  # seconds of the processor
        def interrupt():
            begun = time.process_time()
            while time.process_time() < begun + after:
                time.sleep(0.01)
            global sent
            sent = time.process_time()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            plimsoll.estimate(path, gpu="t4")
        except KeyboardInterrupt:
            print(time.process_time() - sent)
"""

INTERRUPTED = """
import os, signal, time, numpy, plimsoll
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs lack
print("begun", flush=True)
try:
    plimsoll.sweep("builtin:resnet50", gpu="t4", batch=numpy.arange(1, 100000))
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    os.kill(os.getpid(), signal.SIGINT)  # Python hears it again, once some thread has taken it
    for _ in range(1000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("again", flush=True)
"""


if __name__ == "__main__":
    unittest.main()
