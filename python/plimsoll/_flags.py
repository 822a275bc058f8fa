"""The command's flags as keywords, for editors and type checkers. A test holds them against `--help-all`."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict, Union

Text = Union[str, int, float, "os.PathLike[str]"]
Name = Union[str, "os.PathLike[str]"]
Several = Union[Text, Sequence[Text]]
Named = Mapping[str, Text]


class Flags(TypedDict, total=False):
    """What `estimate`, `max_batch`, `sweep` and `compare` take; `plimsoll estimate --help-all` says what each is."""

    # Model
    batch: int
    image: int
    dim: Named
    set: Named
    shape: Named
    longest: Named
    lengths: Named
    trip: Named
    branch: Named
    contents: Named
    assume: Named
    limit: Named
    no_recover: bool
    strict: bool
    # Training
    mode: str
    precision: str
    optimizer: str
    recipe: str
    checkpoint: str
    accumulate: int
    loss: str
    compile: bool
    cuda_graphs: bool
    freeze: Several
    train: Several
    weight_decay: bool
    zero_grad: str
    dropout: Text
    input_gradient: str
    # The GPU and its memory
    gpu: Union[Name, Sequence[Name]]
    mem: Text
    reserve: Text
    display: Text
    context: Text
    machine: Text
    hwdb: Text
    # Framework and libraries
    framework: str
    cudnn: Text
    cuda: Text
    module_loading: str
    workspace_limit: Text
    conv_algo: str
    cudnn_benchmark: str
    layout: str
    attention: str
    recurrent: str
    allocator: str
    prefetch: int
    # Several GPUs, host and run
    gpus: int
    nodes: int
    link: str
    network: str
    exchange: str
    host: Text
    workers: int
    loader: str
    epochs: int
    samples: int
    samples_in_memory: int
