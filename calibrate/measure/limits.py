"""Whether batches fit: three training steps of a network at each batch, every trial a process of its own.

    python3 limits.py '{"model": "resnet50", "batches": [730, 960]}' ... > limits.jsonl

A run's fields are those of networks.py; "search" looks for the largest batch between two that fits.
"""

import json
import os
import sys
import time

import torch

import networks


def trial(run, batch):
    """The allocator's peak and the card's use, or that memory ran out."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = {"fits": True, **networks.measure({**run, "batch": batch}, steps_only=True)}
        except torch.cuda.OutOfMemoryError as e:
            result = {"fits": False, "error": str(e)[:200]}
        except Exception as e:  # cuDNN's own: no memory for its workspace
            result = {"fits": False, "error": repr(e)[:200]}
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"fits": False, "error": "the process died"}


def main():
    first = {"mode": "train", "optimizer": "momentum", "dtype": "pytorch"}
    end = time.monotonic() + float(os.environ.get("SECONDS_LEFT", 1e9))
    for text in sys.argv[1:]:
        run = {**first, **json.loads(text)}
        for batch in run.get("batches", []):
            if time.monotonic() > end:
                return
            print(json.dumps({**run, "batch": batch, **trial(run, batch)}), flush=True)
        low, high = run.get("search", (0, 0))
        while high - low > max(1, low // 64) and time.monotonic() < end:
            batch = (low + high) // 2
            result = trial(run, batch)
            print(json.dumps({**run, "batch": batch, **result}), flush=True)
            low, high = (batch, high) if result["fits"] else (low, batch)


if __name__ == "__main__":
    main()
