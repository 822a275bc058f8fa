"""from_step() where PyTorch is built without CUDA: it records what the build with CUDA does, to the operator. Needs torch of either build."""
import gzip
import importlib.util
import json
import os
import sys
import unittest
from unittest import mock

import plimsoll
from support import SOURCE

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    import torch.nn.functional as F
    from torch import nn

    sys.path.append(str(SOURCE / "tests/oracles"))
    import step_cases

WITH_CUDA = HAS_TORCH and torch.version.cuda is not None
WHAT = ("storages", "calls", "types", "events", "saved", "end_of_forward", "parameters", "inputs", "groups")


def record_of(step, inputs, capability=(8, 0)):
    model = plimsoll.from_step(step, inputs, {}, capability=capability)
    record = json.loads(gzip.decompress(model.path.read_bytes()))
    return {name: record.get(name) for name in WHAT}


def without_cuda(step, inputs, capability=(8, 0)):
    """As PyTorch's C++ and the recorder see it that was built without."""
    with mock.patch.object(torch.version, "cuda", None):
        return record_of(step, inputs, capability)


def attends(heads=4, width=16, masked=False, autocast=None, causal=False, layout=(2, 9)):
    """One layer of attention and what it is made of."""
    batch, length = layout
    projection = nn.Linear(32, 3 * heads * width)
    mask = torch.ones(length, length, dtype=torch.bool).tril() if masked else None

    def step(x):
        with torch.autocast("cuda", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            query, key, value = projection(x).unflatten(-1, (3, heads, width)).permute(2, 0, 3, 1, 4)
            F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal, dropout_p=0.1).float().sum().backward()
    return step, (torch.randn(batch, length, 32),)


def convolves(last=False, autocast=None, trains=True):
    net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.Conv2d(8, 8, 3, groups=8, dilation=2), nn.InstanceNorm2d(8),
                        nn.ConvTranspose2d(8, 4, 2, 2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(4))
    net.train(trains)
    x = torch.randn(3, 3, 12, 12)
    if last:
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)

    def step(x):
        with torch.autocast("cuda", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            net(x).float().sum().backward()
    return step, (x,)


@unittest.skipUnless(HAS_TORCH and hasattr(torch._C, "_ensureCUDADeviceGuardSet"), "no torch, or one before 2.10")
class Older(unittest.TestCase):
    def test_versions_are_named_that_record(self):
        guard = torch._C._ensureCUDADeviceGuardSet
        del torch._C._ensureCUDADeviceGuardSet
        try:
            with mock.patch.object(torch.version, "cuda", None), self.assertRaisesRegex(plimsoll.InputError, "2.10 or later, or PyTorch for CUDA"):
                plimsoll.from_step(lambda x: x.sum(), (torch.zeros(2),))
        finally:
            torch._C._ensureCUDADeviceGuardSet = guard


@unittest.skipUnless(WITH_CUDA, "no torch with CUDA")
class SameRecord(unittest.TestCase):
    """One PyTorch, asked in both ways."""

    def same(self, made, capability=(8, 0)):
        self.assertEqual(without_cuda(*made, capability), record_of(*made, capability))

    def test_attention(self):
        for capability in ((7, 5), (8, 0), (8, 6), (9, 0)):
            self.same(attends(autocast=torch.float16), capability)
        self.same(attends())
        self.same(attends(masked=True))
        self.same(attends(masked=True, autocast=torch.bfloat16))
        self.same(attends(width=20, causal=True, autocast=torch.bfloat16))
        self.same(attends(width=18))
        self.same(attends(masked=True, autocast=torch.bfloat16), (9, 0))

    def test_convolutions_and_norms(self):
        self.same(convolves())
        self.same(convolves(last=True))
        self.same(convolves(last=True, autocast=torch.bfloat16))
        self.same(convolves(autocast=torch.float16))
        self.same(convolves(trains=False))

    def test_what_cudnn_samples(self):
        where = nn.Parameter(torch.eye(2, 3).repeat(2, 1, 1))

        def step(x, align):
            F.grid_sample(x, F.affine_grid(where, list(x.shape), align_corners=align), align_corners=align).sum().backward()
        for align in (False, True):
            self.same((lambda x, align=align: step(x, align), (torch.randn(2, 3, 8, 8),)))

    def test_what_is_not_known_is_named(self):
        def step(x):
            with torch.backends.cudnn.flags(enabled=False):
                F.conv2d(x, x).sum().backward()
        with self.assertRaisesRegex(plimsoll.InputError, "convolution without cuDNN"):
            without_cuda(step, (torch.randn(2, 3, 4, 4, requires_grad=True),))

    def test_which_kernel_attention_takes(self):
        """Over shapes and cards that differ in it; what PyTorch would run is caught before it does."""
        from plimsoll._record import import_all

        import_all()
        for capability in ((7, 5), (8, 0), (8, 6), (9, 0), (12, 0)):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    said = "\n".join(other_choices(capability))
                except BaseException as fault:
                    said = repr(fault)
                os.write(writing, said.encode()[:4096])
                os._exit(0)
            os.close(writing)
            os.waitpid(child, 0)
            with os.fdopen(reading) as pipe:
                self.assertEqual(pipe.read(), "", f"capability {capability}")


def other_choices(capability):
    """In a child of its own: where PyTorch takes another kernel than is chosen without CUDA."""
    import random

    from plimsoll._record_card import pretend
    from plimsoll._record_without_cuda import Attention
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    kernels = {"_scaled_dot_product_flash_attention": 1, "_scaled_dot_product_efficient_attention": 2, "_scaled_dot_product_cudnn_attention": 3}

    class Taken(Exception):
        pass

    class Catch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            name = operator._schema.name.partition("::")[2]
            if name in kernels or name in ("bmm", "_safe_softmax"):
                raise Taken(kernels.get(name, 0))
            return operator(*args, **(kwargs or {}))

    pretend(capability)
    draw = random.Random(str(capability))
    choice = Attention(capability).choice
    with FakeTensorMode(allow_non_fake_inputs=True):
        for _ in range(300):
            dtype = draw.choice((torch.float32, torch.float16, torch.bfloat16, torch.float64))
            width, lengths, heads = draw.choice((4, 20, 64, 200, 264)), draw.choice(((17, 17), (1, 16), (16, 1))), draw.choice(((4, 4), (4, 2), (4, 1)))
            grad, turned = draw.random() < 0.5, draw.random() < 0.2

            def made(heads, length, width):
                shape = (2, heads, width, length) if turned else (2, length, heads, width)
                return torch.empty(shape, dtype=dtype, device="cuda", requires_grad=grad).transpose(*((-1, -2) if turned else (1, 2)))
            query, key, value = made(heads[0], lengths[0], width), made(heads[1], lengths[1], width), made(heads[1], lengths[1], draw.choice((width, 128)))
            shape = draw.choice((None, None, lengths, (2, 1, *lengths), (1, 4, *lengths)))
            mask = None if shape is None else torch.empty(shape, dtype=torch.bool if len(shape) == 2 else dtype, device="cuda")
            dropout, causal, gqa = draw.choice((0.0, 0.1, 0.5)), mask is None and draw.random() < 0.5, draw.random() < 0.5
            taken = 0
            try:
                with Catch():
                    F.scaled_dot_product_attention(query, key, value, mask, dropout, causal, enable_gqa=gqa)
            except Taken as one:
                taken = one.args[0]
            except RuntimeError:  # shapes that no kernel takes
                pass
            found = choice(query, key, value, mask, dropout, causal, gqa)
            if found != taken:
                yield f"{dtype} {tuple(query.shape)} {tuple(value.shape)} {mask is not None} {dropout} {causal} {grad} {gqa}: {found}, PyTorch {taken}"


@unittest.skipUnless(HAS_TORCH and not WITH_CUDA, "no torch without CUDA")
class SameAsStored(unittest.TestCase):
    """Records of the build with CUDA are stored."""

    def test_steps_of_every_kind(self):
        for name, make in step_cases.cases():
            stored = SOURCE / "tests/golden/steps" / f"{name.removesuffix('_1')}.plimsoll.json.gz"
            if not name.endswith("_1"):
                continue
            with self.subTest(name):
                modules, inputs, program = make(6)
                estimate = plimsoll.from_step(program(*modules), inputs).estimate(gpu="a100-sxm4-80gb").to_dict()["result"]
                golden = plimsoll.estimate(os.fspath(stored), gpu="a100-sxm4-80gb").to_dict()["result"]
                self.assertEqual(estimate["memory"], golden["memory"])
                self.assertAlmostEqual(estimate["time"]["step_ns"] / golden["time"]["step_ns"], 1, delta=1e-4)  # another version's views


if __name__ == "__main__":
    unittest.main()
