"""What a step allocates on one GPU whose feature maps go to the host's memory, by TRL's own OffloadActivations
(trl/models/activation_offloading.py) on a machine without a GPU:

    python activation_offload.py ../golden/sharded/activations.json TRL

TRL: a folder that has the package, which is not installed: one file of it is read. The forward pass runs under it, as torchtune's
recipes have it, and what is on its way then stays until the backward pass, as in torchtune and where TRL's trainer ends it behind that;
a copy to the host is an operator, and what it copies to is not seen.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import importlib.util  # noqa: E402  (torch must come after the shim)
import itertools  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
from sharded_models import Sharding, write  # noqa: E402
from sharded_trace import Stream, pretend_streams  # noqa: E402
from sharded_plans import Checkpointed  # noqa: E402


def module_of(folder):
    spec = importlib.util.spec_from_file_location("activation_offloading", Path(folder) / "trl/models/activation_offloading.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.OffloadActivations.__exit__ = torch.autograd.graph.saved_tensors_hooks.__exit__
    return module


class Activations(Sharding):
    offloading = None   # TRL's module

    @staticmethod
    def cases(name):
        for checkpoint, precision in itertools.product(("none", "blocks"), ("fp32", "bf16")):
            if checkpoint == "none" or name != "perceptron":
                yield {"ranks": 1, "offload": "activations", "checkpoint": checkpoint, "precision": precision, "optimizer": "adam", "batch": 32}

    @staticmethod
    def wrap(model, case):
        return Checkpointed.wrap(model, case) if case["checkpoint"] == "blocks" else model

    def shard(self, model, mesh, case):
        for weight in model.parameters():   # the trace sees what operators return
            weight.detach()
        self.context = self.offloading.OffloadActivations()
        self.context.update_model_params(model)
        return model

    def forward(self, model, inputs, target):
        with self.context:
            return model(*inputs)


if __name__ == "__main__":
    pretend_streams(1)
    torch.Tensor.record_stream = lambda *_: None
    torch.UntypedStorage.data_ptr = lambda storage: storage._cdata   # which fake ones have not
    torch.cuda.default_stream = torch.cuda.current_stream
    Activations.offloading = module_of(sys.argv[2])
    write(Path(sys.argv[1]), Activations())
