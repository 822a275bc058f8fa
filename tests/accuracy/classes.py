"""What docs/accuracy.md has a row for, in order, each a title and which lines it takes (records.load)."""
from records import calibrated, compiled, input_bound, is_fresh, is_step, on_several, replicated, training, uncalibrated

H100 = "h100-sxm-80gb"


def kernel(l, op):
    return l["kind"] == "kernel" and l["op"] == op


def recurrent(l):
    return kernel(l, "rnn")


def grouped(l):
    return int(l["run"].get("groups") or 1) > 1


def depthwise(l):
    return grouped(l) and l["run"]["groups"] == l["run"]["c"]


def rows(l, *ops):
    return l["kind"] == "kernel" and l["op"] in ops and (l["measured"] or 0) > .15


def against_pytorch(quantity, *forms, training=True):
    return lambda l: (l["kind"] == "oracle" and l["quantity"] == quantity and l["form"] in forms
                      and (l["mode"] != "inference") == training)


def in_file(source, *quantities):
    return lambda l: l["source"] == source and l["quantity"] in quantities


def scratch(quantity):
    return lambda l: l["kind"] == "workspace" and l["quantity"] == quantity


def of_today(**wanted):
    """Published steps of 2020 and later (tests/measured/steps2-*.json)."""
    return lambda l: (l["source"].startswith("steps2-") and l["quantity"] == "total_ms"
                      and all(str(l["run"].get(key)).startswith(value) for key, value in wanted.items()))


def fresh(source="", **wanted):
    """Steps of tables that no fit sees but as READ_FROM_FRESH says (tests/measured/steps3-*.json), by source and what their records say."""
    def takes(l):
        run = l["run"]
        return (is_fresh(l) and l["quantity"] == "total_ms" and l["source"].startswith(f"steps3-{source}")
                and all(run.get(key, 1) in (value if isinstance(value, tuple) else (value,)) for key, value in wanted.items()))
    return takes


def of_timm(run_as):
    """Of timm's networks, by how they ran: "train", "inference" or "compiled"."""
    return lambda l: fresh("timm")(l) and ("compiled" if compiled(l) else l["run"]["mode"]) == run_as


def fresh_memory(l):
    return is_fresh(l) and l["quantity"] == "peak_allocated_mb"


CHANNELS_LAST = "nhwc"
steps_on_h100 = in_file("h100-networks", "total_ms")
STATES = ("parameters_bytes", "buffers_bytes", "gradients_bytes", "optimizer_state_bytes")
BOTH = ("train-ts", "train-dy")
PROCESS = ("nvidia_smi_mb", "device_used_mb")

CLASSES = [
    ("against PyTorch's own dispatch, training exports: weights, buffers, gradients, optimizer state",
     lambda l: any(against_pytorch(q, *BOTH)(l) for q in STATES)),
    ("... tensors saved for backward, TorchScript exporter", against_pytorch("saved_bytes", "train-ts")),
    ("... ... newer exporter", against_pytorch("saved_bytes", "train-dy")),
    ("... peak of live tensors, TorchScript exporter", against_pytorch("live_peak_bytes", "train-ts")),
    ("... ... newer exporter", against_pytorch("live_peak_bytes", "train-dy")),
    ("... phase of the peak, both", against_pytorch("peak_phase", *BOTH)),
    ("... peak of training, inference exports (batch norm folded), dropout given", against_pytorch("live_peak_bytes", "eval-ts")),
    ("... peak of inference, all exports", against_pytorch("live_peak_bytes", *BOTH, "eval-ts", training=False)),
    ("memory of the process (nvidia-smi)", lambda l: l["quantity"] in PROCESS),
    ("... PyTorch, timm's networks (GPUMemNet)", in_file("gpumemnet-timm-memory", *PROCESS)),
    ("... PyTorch, perceptrons (GPUMemNet)", in_file("gpumemnet-mlp-memory", *PROCESS)),
    ("... PyTorch, SchedTune", in_file("schedtune-memory", *PROCESS)),
    ("... PyTorch 2.11 on H100 (calibrate/measure)", in_file("h100-networks-memory", *PROCESS)),
    ("... ... on H200", in_file("h200-networks-memory", *PROCESS)),
    ("... ... with CUDA graphs on H100", lambda l: in_file("h100-graphs-memory", *PROCESS)(l) and compiled(l)),
    ("... five frameworks, inference (DLInfBench)", in_file("dlinfbench-memory", *PROCESS)),
    ("... Torch7 and PyTorch, DenseNets (G. Huang, G. Pleiss)", in_file("densenet-memory", *PROCESS)),
    ("... taken of the card, PyTorch and TensorFlow (Torres)", in_file("seeds-torres-memory", *PROCESS)),
    ("... what an image more takes, from batch 64 to 128 (GPUMemNet)", lambda l: l["quantity"] == "mb_per_image"),
    ("memory in tensors, as frameworks count it", lambda l: l["quantity"] in ("peak_allocated_mb", "train_memory_gb") and not is_fresh(l)),
    ("... Caffe2, detectors (Detectron's model zoo)", in_file("detectron-model-zoo", "train_memory_gb")),
    ("... TensorFlow (Salus)", in_file("salus-workloads-memory", "peak_allocated_mb")),
    ("... PyTorch 2.11 on H100, training", lambda l: in_file("h100-networks-memory", "peak_allocated_mb")(l) and training(l)),
    ("... ... forward passes", lambda l: in_file("h100-networks-memory", "peak_allocated_mb")(l) and not training(l)),
    ("share of feature maps in all memory (TBD)", in_file("seeds-tbd", "feature_map_fraction_of_memory_pct")),
    ("scratch memory of a convolution (errors: above 1 MiB): cuDNN 9.10's plans, engine and tile given, no tensor cores, 6.1, 7.0",
     lambda l: scratch("given")(l) and l["device"] != "sm_75"),
    ("... ... 7.5", lambda l: scratch("given")(l) and l["device"] == "sm_75"),
    ("... of its first plan, where the tables have the layer, 6.1 to 9.0", scratch("first")),
    ("... by the rule alone, 62 networks in five folds, fp32, 6.1 (exact: to 512 B): forward", scratch("rule fprop")),
    ("... ... backward to data", scratch("rule dgrad")),
    ("... ... backward to weights", scratch("rule wgrad")),
    ("... ... largest of a network at batch 32 (exact: to 4 MiB)", scratch("largest")),
    ("... above 1 MiB that an H100 gave out, TF32 and 16 bits", scratch("used")),
    ("storages of Torch7's modules, plain and shared (optnet)", in_file("optnet-memory", "total_mb")),
    ("memory of the host's process", lambda l: l["quantity"] == "host_mb" and l["device"] != "host"),
    ("step or forward pass, one GPU", is_step),
    ("... on cards whose kernels were measured (TITAN X, Xp, P100, M40, 1080 Ti), fp32", calibrated),
    ("... ... training steps alone", lambda l: calibrated(l) and training(l)),
    ("... on cards in no calibration, fp32", uncalibrated),
    ("... ... training steps alone", lambda l: uncalibrated(l) and training(l)),
    ("... of PyTorch 2.11 on H100, fp32 and TF32",
     lambda l: steps_on_h100(l) and "16" not in l["dtype"]),
    ("... ... in 16 bits", lambda l: steps_on_h100(l) and "16" in l["dtype"]),
    ("... ... on H200, whose kernels no fit has seen, all", in_file("h200-networks", "total_ms")),
    ("... published since 2020", of_today()),
    ("... ... RTX 3090", of_today(device="rtx-3090")),
    ("... ... RTX 4090", of_today(device="rtx-4090")),
    ("... ... A100", of_today(device="a100")),
    ("... ... V100", of_today(device="tesla-v100")),
    ("... ... RTX 2080 Ti", of_today(device="rtx-2080-ti")),
    ("... ... training", of_today(mode="train")),
    ("... ... inference", of_today(mode="inference")),
    ("... ... batches of 1 to 8", lambda l: of_today()(l) and l["run"]["batch"] <= 8),
    ("... ... small batches on H100, by operators", lambda l: in_file("h100-graphs", "total_ms")(l) and not compiled(l)),
    ("... ... ... with CUDA graphs", lambda l: in_file("h100-graphs", "total_ms")(l) and compiled(l)),
    ("forward pass compiled by torch.compile, published, RTX 4090 and A100",
     lambda l: l["run"].get("compile") and l["quantity"] == "total_ms" and not is_fresh(l)),
    ("... gain over the same network run by operators", lambda l: l["quantity"] == "compiled_gain"),
    ("step or forward pass in 16 bits", lambda l: is_step(l) and ("16" in l["dtype"] or l["dtype"] == "apex-o2")),
    ("... in 64 bits", lambda l: is_step(l) and l["dtype"] == "fp64"),
    ("step, several GPUs and one beside them", on_several),
    ("... batches lie ready", replicated),
    ("... ... training", lambda l: replicated(l) and training(l)),
    ("... decoded or proposed by the host in the step (Gavel, Detectron)", input_bound),
    ("fresh tables, one GPU (tests/measured/steps3-*.json)", fresh(n_gpus=1)),
    ("... timm's newer tables and networks", fresh("timm")),
    ("... ... inference by operators", of_timm("inference")),
    ("... ... training", of_timm("train")),
    ("... ... ... NCHW", lambda l: of_timm("train")(l) and l["run"]["layout"] != CHANNELS_LAST),
    ("... ... ... channels last", lambda l: of_timm("train")(l) and l["run"]["layout"] == CHANNELS_LAST),
    ("... ... compiled", of_timm("compiled")),
    ("... ... channels last, all", fresh("timm", layout=CHANNELS_LAST)),
    ("... Lambda, training", fresh("lambda")),
    ("... ... fp32 and TF32", fresh("lambda", dtype=("fp32", "tf32"))),
    ("... torchvision at batch 12, PyTorch 1.0 to 1.7: forward and backward", fresh("pgb", n_gpus=1, mode="train_no_update")),
    ("... ... inference", fresh("pgb", n_gpus=1, mode="inference")),
    ("... DLPerf, V100", fresh("dlperf", n_gpus=1)),
    ("... one denoising step", fresh("diffusers")),
    ("... detection and segmentation, one V100", lambda l: fresh("detectron2", n_gpus=1)(l) or fresh("mmseg", n_gpus=1)(l)),
    ("fresh tables, several GPUs: nn.DataParallel, 2 to 4", fresh("pgb-scaling")),
    ("... ... forward and backward", fresh("pgb-scaling", mode="train_no_update")),
    ("... ... inference", fresh("pgb-scaling", mode="inference")),
    ("... DLPerf, 2 to 8 V100", fresh("dlperf-scaling")),
    ("... Detectron2, 8 V100", fresh("detectron2", n_gpus=8)),
    ("fresh tables, memory in tensors: Detectron2 and mmsegmentation", fresh_memory),
    ("forward part of a step", lambda l: l["quantity"] == "forward_ms"),
    ("backward part of a step", lambda l: l["quantity"] == "backward_ms"),
    ("one layer in a framework", lambda l: l["kind"] == "layer"),
    ("all-reduce", lambda l: l["kind"] == "scaling" and l["quantity"] == "time_ms"),
    ("element-wise kernels above 0.15 ms", lambda l: rows(l, "elementwise")),
    ("layer norm above 0.15 ms", lambda l: rows(l, "layernorm")),
    ("softmax above 0.15 ms", lambda l: rows(l, "softmax")),
    ("convolutions", lambda l: kernel(l, "conv") and l["device"] != H100),
    ("... cuDNN 9 on H100, fp32, TF32 and 16 bits", lambda l: kernel(l, "conv") and l["device"] == H100 and not grouped(l)),
    ("... ... depthwise", lambda l: kernel(l, "conv") and l["device"] == H100 and depthwise(l)),
    ("... ... other groups", lambda l: kernel(l, "conv") and l["device"] == H100 and grouped(l) and not depthwise(l)),
    ("matrix products", lambda l: kernel(l, "gemm") and l["device"] != H100),
    ("... CUDA 13 on H100, fp32, TF32 and 16 bits", lambda l: kernel(l, "gemm") and l["device"] == H100),
    ("recurrent layers", lambda l: recurrent(l) and l["device"] != H100),
    ("... cuDNN 9 on H100, each algorithm", lambda l: recurrent(l) and l["device"] == H100),
]

# The rows that README.md shows, by title; what each is called there.
SHOWN = {
    "against PyTorch's own dispatch, training exports: weights, buffers, gradients, optimizer state": "sizes of weights, buffers, gradients and optimizer state, compared with PyTorch's",
    "... peak of live tensors, TorchScript exporter": "peak of live tensors in training, compared with PyTorch's",
    "memory of the process (nvidia-smi)": "memory of the process (nvidia-smi), all frameworks",
    "... published since 2020": "time of a step or forward pass, published since 2020 (3090, 4090, A100, V100, 2080 Ti)",
    "... batches lie ready": "step of several GPUs, without data loading",
}


# What was read from fresh tables: from which PyTorch on a host's row holds, and what a replica costs nn.DataParallel.
READ_FROM_FRESH = {"steps3-pgb": ["hosts"], "steps3-pgb-scaling": ["hosts", "replicas", "links"]}


def saw(l):
    """What was chosen with a line's record among others."""
    if l["kind"] == "kernel":
        return ["kernels"]
    if l["quantity"] in PROCESS:
        return ["contexts"]
    if l["kind"] == "scaling" and l["quantity"] == "time_ms":
        return ["links"]
    if is_fresh(l):
        return READ_FROM_FRESH.get(l["source"], [])
    if l["quantity"] == "total_ms" and not compiled(l) and l["kind"] in ("model", "scaling"):
        return ["hosts", "carrying over"] if l["source"].startswith("steps2-") else ["hosts"]
    return []


# Kernels predicted by fits that did not see them: five-fold, as the calibrations record it.
TENSOR = ("tf32_tensor", "f16_tensor")
ELEMENTWISE = ("add", "mul", "div", "pow", "relu", "gelu", "tanh")
FIVE_FOLD = [
    ("matrix products, left out of the fit", "gemm", None, 0, 1199),
    ("... CUDA 12, random odd sizes", "gemm", None, 1200, 1299),
    ("... CUDA 13 on H100", "gemm", None, 1300, 9999),
    ("... ... TF32 and 16 bits", "gemm", None, 1300, 9999, TENSOR),
    ("convolutions forward, left out", "conv", "forward", 0, 799),
    ("... cuDNN 8, random odd sizes", "conv", "forward", 800, 899),
    ("convolutions backward to data, left out", "conv", "backward_data", 0, 799),
    ("convolutions backward to weights, left out", "conv", "backward_weights", 0, 799),
    ("convolutions of cuDNN 9 on H100, all passes, left out", "conv", None, 900, 9999),
    ("... TF32 and 16 bits", "conv", None, 900, 9999, TENSOR),
    ("... depthwise, whatever they multiply in", "depthwise", None, 900, 9999, ("any",)),
    ("... of several groups, one shape of eight left out", "grouped", None, 900, 9999, ("any",)),
    ("element-wise kernels above 0.15 ms, left out", "rows", ELEMENTWISE, 800, 899),
    ("layer norm above 0.15 ms, left out", "rows", "layer_norm", 800, 899),
    ("softmax above 0.15 ms, left out", "rows", "softmax", 800, 899),
    ("memory-bound kernels above 0.15 ms on H100, left out", "rows", None, 900, 9999),
    ("recurrent layers, left out", "recurrent", None, 0, 899),
    ("... cuDNN 9 on H100", "recurrent", None, 900, 9999),
    ("... ... in one persistent kernel", "persistent", None, 900, 9999),
]
