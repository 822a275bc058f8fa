"""from_step(world_size=N): a rank's own sharded code. Needs torch, without a card; the figures are those of PyTorch's own code on a
fake process group, followed storage by storage by another program (torch 2.15)."""
import functools
import gzip
import importlib.util
import json
import sys
import unittest
from pathlib import Path
from unittest import mock

import plimsoll
from support import SOURCE

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch

    HAS_TORCH = torch.version.hip is None and torch.distributed.is_available()
HAS_TRANSFORMERS = HAS_TORCH and importlib.util.find_spec("transformers") is not None


def rounded(size):
    return -(-size // 512) * 512


def record_of(model):
    return json.loads(gzip.decompress(Path(model.path).read_bytes()))


def figures_of(model):
    """(bytes alive between steps, most bytes alive, collectives)."""
    record = record_of(model)
    storages = record["storages"]
    live = sum(rounded(row[0]) for row in storages if row[2])
    stays = best = None
    for kind, what, phase, node in record["events"]:
        if stays is None and (kind, phase, node) != ("+", "forward", -1):
            stays = best = live
        if kind in "+-":
            live += rounded(storages[what][0]) * (1 if kind == "+" else -1)
            best = live if best is None else max(best, live)
    return stays, best, len(record.get("collectives", []))


def llama(plan, mixed=False, keep=False, checkpoint=False):
    """Two blocks of a LLaMA, shared by eight ranks, as their programs do it."""
    def program():
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        from transformers import LlamaConfig, LlamaForCausalLM
        mesh = init_device_mesh("cuda", (8,))
        heads = 8 if plan == "tp" else 4
        network = LlamaForCausalLM(LlamaConfig(hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=heads, num_key_value_heads=heads,
                                               vocab_size=500, tie_word_embeddings=False, attn_implementation="sdpa", use_cache=False))
        if checkpoint:
            network.gradient_checkpointing_enable({"use_reentrant": False})
        blocks = list(network.model.layers)
        if plan == "fsdp2":
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if mixed else MixedPrecisionPolicy()
            for part in (*blocks, network):
                fully_shard(part, mesh=mesh, mp_policy=policy, **({"reshard_after_forward": not keep} if part is not network else {}))
        elif plan == "fsdp1":
            network = FullyShardedDataParallel(
                network, auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={type(blocks[0])}), use_orig_params=True, device_id=0,
                mixed_precision=MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16) if mixed else None)
        else:
            columns = {f"self_attn.{name}_proj": ColwiseParallel() for name in "qkv"} | {f"mlp.{name}_proj": ColwiseParallel() for name in ("gate", "up")}
            for block in blocks:
                parallelize_module(block, mesh, {**columns, "self_attn.o_proj": RowwiseParallel(), "mlp.down_proj": RowwiseParallel()})
        update = torch.optim.AdamW(network.parameters(), foreach=plan != "tp")

        def step(ids):
            loss = network(input_ids=ids, labels=ids).loss
            loss.backward()
            del loss
            update.step()
            update.zero_grad()
        return step
    return program


IDS = 1024  # bytes of the batch, which the other program does not count between steps
# (plan, options, bytes that stay, peak, collectives)
FIGURES = [("fsdp2", {}, 988672, 8212992, 8), ("fsdp2", {"mixed": True, "keep": True}, 988672, 5483008, 6),
           ("fsdp1", {}, 1311744, 8204288, 8), ("fsdp1", {"mixed": True, "checkpoint": True}, 1311744, 3867136, 8), ("tp", {}, 2331136, 4491264, 14)]


@unittest.skipUnless(HAS_TRANSFORMERS, "no torch for CUDA or the CPU, or no transformers")
class OfPrograms(unittest.TestCase):
    def test_allocates_what_pytorch_does(self):
        ids = torch.zeros(2, 64, dtype=torch.long)
        # That program listens to gradients that meet, and does not take it back.
        with mock.patch("plimsoll._record_run.added_in_place", lambda events, places, sums, sizes: (list(events), list(places), lambda number: number)):
            for plan, options, stays, peak, collectives in FIGURES:
                with self.subTest(plan=plan, **options):
                    model = plimsoll.from_step(llama(plan, **options), (ids,), {}, world_size=8, capability=(9, 0))
                    self.assertEqual(figures_of(model), (stays + IDS, peak, collectives))


@unittest.skipUnless(HAS_TORCH, "no torch for CUDA or the CPU")
class OfRanks(unittest.TestCase):
    def sharded(self, shape, names):
        def program():
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard
            network = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4)))
            mesh = init_device_mesh("cuda", shape, mesh_dim_names=names)
            for part in (*network, network):
                fully_shard(part, mesh=mesh)
            update = torch.optim.SGD(network.parameters(), lr=0.1)

            def step(x):
                network(x).pow(2).mean().backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                update.step()
                update.zero_grad()
            return step
        return program

    def test_what_the_first_step_alone_takes_is_told(self):
        """FSDP1 makes room for each unit's whole weights once, and gives it back (init_flat_param_attributes() in _flat_param.py)."""
        def program():
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import FullyShardedDataParallel
            from torch.distributed.fsdp.wrap import ModuleWrapPolicy
            network = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(2)))
            network = FullyShardedDataParallel(network, device_mesh=init_device_mesh("cuda", (8,)), auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}),
                                               use_orig_params=True)

            def step(x):
                network(x).sum().backward()
                network.zero_grad()
            return step
        record = record_of(plimsoll.from_step(program, (torch.randn(16, 256),), world_size=8))
        self.assertEqual(record["at_first"], [[4 * (256 * 256 + 256), 0]] * 2)
        self.assertEqual(record["version"], 5)
        self.assertNotIn("at_first", record_of(plimsoll.from_step(self.sharded((8,), ("fsdp",)), (torch.randn(16, 256),), world_size=8)))

    def test_collectives_are_priced_by_the_links(self):
        model = plimsoll.from_step(self.sharded((8,), ("fsdp",)), (torch.randn(16, 256),), world_size=8)
        self.assertEqual(record_of(model)["groups"], [["fsdp", 1, 8]])
        fast = model.estimate(gpu="a100-sxm4-80gb", batch=64).to_dict()["result"]
        self.assertEqual(fast["parallel"]["axes"], {"fsdp": 8})
        slow = model.estimate(gpu="a100-sxm4-80gb", batch=64, link="pcie-4-x16").to_dict()["result"]
        self.assertGreater(slow["time"]["communication_ns"], fast["time"]["communication_ns"])
        self.assertGreater(fast["time"]["communication_ns"], 0)
        self.assertEqual(slow["memory"]["live_peak_bytes"], fast["memory"]["live_peak_bytes"])

    def test_groups_lie_along_axes(self):
        model = plimsoll.from_step(self.sharded((2, 4), ("replicate", "shard")), (torch.randn(16, 256),), {}, world_size=8, rank=5)
        record = record_of(model)
        self.assertEqual(record["world"], [8, 5])
        self.assertIn(["fsdp", 1, 4], record["groups"])
        self.assertIn(["dp", 4, 2], record["groups"])
        self.assertEqual(model.estimate(gpu="a100-sxm4-80gb").to_dict()["result"]["parallel"]["axes"], {"fsdp": 4, "dp": 2})

    def test_ddp_sums_its_buckets(self):
        def program(views, wrapped=True):
            network = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
            whole = network
            if wrapped:
                whole = torch.nn.parallel.DistributedDataParallel(network, device_ids=[0], gradient_as_bucket_view=views)
            update = torch.optim.SGD(network.parameters(), lr=0.1)

            def step(x):
                whole(x).pow(2).mean().backward()
                update.step()
                update.zero_grad()
            return step

        x = (torch.randn(16, 256),)
        alone = plimsoll.from_step(program(False, wrapped=False), x, {})
        copies, views = (plimsoll.from_step(functools.partial(program, which), x, {}, world_size=8) for which in (False, True))
        bytes_of_gradients = sum(4 * (a * b + b) for a, b in ((256, 1024), (1024, 256), (256, 8)))
        record = record_of(copies)
        self.assertEqual(record["groups"], [["dp", 1, 8]])
        self.assertEqual({kind for kind, *_ in record["collectives"]}, {"all_reduce"})
        # The last layers' gradients fill the first bucket, of 1 MiB; what is behind it is in the next.
        sums = [size for _, _, size in record["collectives"]]
        self.assertEqual((len(sums), sum(sums)), (2, bytes_of_gradients))
        self.assertEqual(figures_of(copies)[0], figures_of(alone)[0] + sum(map(rounded, sums)))
        self.assertEqual(figures_of(copies)[1], figures_of(alone)[1] + sum(map(rounded, sums)))
        self.assertLess(figures_of(views)[1], figures_of(copies)[1])

    def test_holds_for_its_ranks_alone(self):
        model = plimsoll.from_step(self.sharded((8,), ("fsdp",)), (torch.randn(16, 256),), {}, world_size=8)
        with self.assertRaises(plimsoll.InputError) as raised:
            model.estimate(gpu="a100-sxm4-80gb", gpus=4)
        self.assertEqual(raised.exception.code, "E283")
        with self.assertRaises(ValueError):
            plimsoll.from_step(self.sharded((8,), ("fsdp",)), (torch.randn(16, 256),), {}, world_size=8, rank=8)


class OfStages(unittest.TestCase):
    """PyTorch's own schedules of a pipeline, on its first, a middle and its last stage (tests/oracles/rank_cases.py)."""

    @classmethod
    def setUpClass(cls):
        if not HAS_TORCH or torch.__version__ < (2, 15):
            raise unittest.SkipTest("no torch 2.15, whose figures these are")
        sys.path.append(str(SOURCE / "tests/oracles"))
        import rank_cases
        import rank_goldens
        cls.cases, cls.of_record = rank_cases.CASES, staticmethod(rank_goldens.of_record)
        cls.wanted = json.loads((SOURCE / "tests/golden/ranks/figures.json").read_text())["cases"]

    def recorded(self, name):
        program, inputs, ranks, rank = self.cases[name]
        return plimsoll.from_step(program, inputs, {}, world_size=ranks, rank=rank, capability=(9, 0))

    def test_take_and_send_what_pytorch_does(self):
        for name in ("gpipe_first", "gpipe_middle", "gpipe_last", "1f1b_first", "1f1b_middle", "1f1b_last", "decoder_tp"):
            with self.subTest(name):
                found = self.of_record(record_of(self.recorded(name)))
                self.assertEqual(found, {key: self.wanted[name][key] for key in found})

    def test_tell_the_ranks_beside_them(self):
        model = self.recorded("1f1b_middle")
        record = record_of(model)
        self.assertEqual(record["groups"], [["pp", 1, 3]])
        self.assertEqual(record["version"], 4)
        order = [(kind, record["collectives"][what][0]) for kind, what, *_ in record["events"] if kind in "iw"]
        self.assertEqual(order[:3], [("i", "receive"), ("w", "receive"), ("i", "send")])  # and goes on with the next micro-batch
        self.assertEqual(order[-2:], [("i", "send"), ("w", "send")])
        self.assertNotIn("update", {phase for kind, what, phase, _ in record["events"] if kind in "iw"})
        self.assertEqual(model.estimate(gpu="a100-sxm4-80gb").to_dict()["result"]["parallel"]["axes"], {"pp": 3})

    def test_that_learn_shapes_from_each_other_are_refused(self):
        def program():
            from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
            passes = ScheduleGPipe(PipelineStage(torch.nn.Linear(8, 8), 1, 3, torch.device("cuda", 0)), n_microbatches=2)
            return lambda x: passes.step()

        with self.assertRaises(plimsoll.InputError) as raised:
            plimsoll.from_step(program, (torch.randn(4, 8),), {}, world_size=3, rank=1)
        self.assertIn("PipelineStage", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
