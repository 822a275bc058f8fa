"""What one rank allocates whose blocks run again in a backward pass of their own, asked as sharded_plans.py asks:

    python sharded_reentrant.py reentrant ../golden/sharded/reentrant.json
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import itertools  # noqa: E402  (torch must come after the shim)

from sharded_models import main  # noqa: E402
from sharded_plans import Either, pretend  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper  # noqa: E402


class Reentrant(Either):
    @staticmethod
    def cases(name):
        for version, precision in itertools.product((2, 1), ("fp32", "mixed-bf16")) if "decoder" in name else ():
            yield {"version": version, "ranks": 4, "checkpoint": "blocks", "reentrant": True, "keeps_gathered": False, "precision": precision,
                   "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        model.h = nn.ModuleList(checkpoint_wrapper(block, checkpoint_impl=CheckpointImpl.REENTRANT, preserve_rng_state=False) for block in model.h)
        return model


if __name__ == "__main__":
    pretend()
    main({"reentrant": Reentrant})
