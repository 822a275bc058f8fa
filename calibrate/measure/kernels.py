"""Kernels of PyTorch's libraries, one by one: matrix products, convolutions, memory-bound work and
attention, each on the problems that hwdb/calibrations/measured already holds of other cards and on
those of networks.

    python3 kernels.py gemm conv rows attention --seconds 300 > measured.jsonl
"""

import argparse
import pathlib
import random

import torch
import torch.nn.functional as F

from timing import Clock, Deadline, copies, environment, kernels_of, say, transcription, workspace

MEASURED = pathlib.Path(__file__).resolve().parents[2] / "hwdb/calibrations/measured"
DTYPES = {"f32": torch.float32, "tf32_tensor": torch.float32, "f16_tensor": torch.float16,
          "bf16_tensor": torch.bfloat16}


ONLY = []  # arithmetic asked for; empty: all


def wanted(*arithmetic):
    return [a for a in arithmetic if not ONLY or a in ONLY]


def use(arithmetic):
    """Switches TF32 as `arithmetic` needs; the dtype of its operands."""
    torch.backends.cuda.matmul.allow_tf32 = arithmetic == "tf32_tensor"
    torch.backends.cudnn.allow_tf32 = arithmetic == "tf32_tensor"
    return DTYPES[arithmetic]


def made(shape, dtype):
    return torch.randn(shape, device="cuda", dtype=dtype)


def sample(problems, count, seed=7):
    problems = sorted(problems)
    random.Random(seed).shuffle(problems)
    return problems[:count]


# --- matrix products ---

# Tokens, width, inner width and vocabulary of transformers; classifiers of image networks.
NETWORK_PRODUCTS = [
    (1, tokens, n, k) for tokens in (512, 2048, 8192, 32768)
    for n, k in ((768, 768), (3072, 768), (768, 3072), (1024, 1024), (4096, 1024), (1024, 4096),
                 (2304, 768), (30522, 768))] + [
    (1, batch, n, k) for batch in (1, 8, 32, 128, 256)
    for n, k in ((1000, 2048), (4096, 25088), (4096, 4096), (1000, 4096), (1000, 512))]


def gemm_problems():
    known = {tuple(int(r[c]) for c in ("batch", "m", "n", "k", "a_t", "b_t"))
             for r in transcription(MEASURED / "gemm.csv") if r["source"] == "deepbench"}
    odd = {tuple(int(r[c]) for c in ("batch", "m", "n", "k", "a_t", "b_t"))
           for r in transcription(MEASURED / "gemm.csv") if r["source"] == "neusight"}
    network = {(*p, a_t, b_t) for p in NETWORK_PRODUCTS for a_t, b_t in ((0, 0), (0, 1), (1, 0))}
    return sorted(known) + sample(network, 130) + sample(odd, 300)


def gemm(clock, deadline):
    for arithmetic in wanted("f16_tensor", "f32", "tf32_tensor", "bf16_tensor"):
        dtype = use(arithmetic)
        problems = gemm_problems()
        if arithmetic == "bf16_tensor":
            problems = sample(problems, 100)
        for batch, m, n, k, a_t, b_t in problems:
            if deadline.passed():
                return say("stopped", at="gemm " + arithmetic)
            lead = (batch,) if batch > 1 else ()
            nbytes = dtype.itemsize * batch * (m * k + k * n + m * n)
            if nbytes > 12 << 30 or 2 * batch * m * n * k > 6e12:
                continue
            calls = []
            for _ in range(copies(nbytes)):
                a = made(lead + ((k, m) if a_t else (m, k)), dtype)
                b = made(lead + ((n, k) if b_t else (k, n)), dtype)
                a, b = a.mT if a_t else a, b.mT if b_t else b
                calls.append(lambda a=a, b=b: a @ b)
            say("gemm", arithmetic=arithmetic, batch=batch, m=m, n=n, k=k, a_t=a_t, b_t=b_t,
                accumulate=0, time_ms=clock.seconds(calls) * 1e3)


# --- convolutions ---

NETWORKS = ("resnet50", "vgg16", "densenet121", "mobilenet_v2", "efficientnet_b0", "convnext_tiny",
            "inception_v3", "regnet_x_3_2gf", "alexnet", "shufflenet_v2_x1_0")
PROBLEM = ("n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "groups")


def network_convolutions(batch):
    import torchvision
    found = set()
    for name in NETWORKS:
        options = {"init_weights": False} if name == "inception_v3" else {}
        net = torchvision.models.get_model(name, weights=None, **options).to("meta")

        def note(module, inputs, _):
            n, c, h, w = inputs[0].shape
            if max(module.dilation) == 1:
                found.add((n, c, h, w, module.out_channels, *module.kernel_size, *module.padding,
                           *module.stride, module.groups))

        for module in net.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_hook(note)
        side = 299 if name == "inception_v3" else 224
        net(torch.empty(batch, 3, side, side, device="meta"))
    return found


def conv_problems():
    rows = list(transcription(MEASURED / "conv.csv"))
    known = {tuple(int(r[c]) for c in PROBLEM) for r in rows if r["source"] == "deepbench"}
    odd = {tuple(int(r[c]) for c in PROBLEM) for r in rows if r["source"] == "neusight"}
    return (sample(network_convolutions(32), 170) + sorted(known) +
            sample(network_convolutions(128), 40) + sample(odd, 50))


def conv_calls(p, dtype, layout):
    n, c, h, w, k, r, s, ph, pw, sh, sw, groups = p
    form = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}[layout]
    out = ((h + 2 * ph - r) // sh + 1, (w + 2 * pw - s) // sw + 1)
    nbytes = dtype.itemsize * (n * c * h * w + n * k * out[0] * out[1] + k * c // groups * r * s)
    sets = {"forward": [], "backward_data": [], "backward_weights": []}
    for _ in range(copies(nbytes)):
        x = made((n, c, h, w), dtype).contiguous(memory_format=form)
        f = made((k, c // groups, r, s), dtype).contiguous(memory_format=form)
        y = made((n, k, *out), dtype).contiguous(memory_format=form)
        at = ([sh, sw], [ph, pw], [1, 1], False, [0, 0], groups)
        sets["forward"].append(lambda x=x, f=f: torch.ops.aten.convolution(x, f, None, *at))
        for name, mask in (("backward_data", [True, False, False]),
                           ("backward_weights", [False, True, False])):
            sets[name].append(lambda x=x, f=f, y=y, mask=mask: torch.ops.aten.convolution_backward(
                y, x, f, None, *at, mask))
    return sets, nbytes


def conv(clock, deadline):
    problems = conv_problems()
    plans = [("tf32_tensor", "nchw", False, problems), ("f16_tensor", "nchw", False, problems),
             ("f32", "nchw", False, sample(problems, 180)),
             ("f16_tensor", "nhwc", False, sample(problems, 150)),
             ("tf32_tensor", "nchw", True, sample(problems, 70)),
             ("f16_tensor", "nchw", True, sample(problems, 70)),
             ("f32", "nchw", True, sample(problems, 50)),
             ("bf16_tensor", "nchw", False, sample(problems, 40))]
    for arithmetic, layout, benchmark, chosen in plans:
        if arithmetic not in wanted(arithmetic):
            continue
        dtype = use(arithmetic)
        torch.backends.cudnn.benchmark = benchmark
        for p in chosen:
            if deadline.passed():
                return say("stopped", at=f"conv {arithmetic} {layout} {benchmark}")
            sets, nbytes = conv_calls(p, dtype, layout)
            if nbytes > 8 << 30:
                continue
            for name, calls in sets.items():
                say("conv", arithmetic=arithmetic, layout=layout, autotuned=benchmark, **{"pass": name},
                    **dict(zip(PROBLEM, p)), time_ms=clock.seconds(calls) * 1e3,
                    workspace_bytes=workspace(calls[0]))


# --- memory-bound work: rows x columns elements, `tensors` of them moved ---

def pointwise(op, rows, columns, dtype):
    x, y, g = (made((rows, columns), dtype) for _ in range(3))
    weight, bias = made((columns,), dtype), made((columns,), dtype)
    if op in ("add", "mul", "div"):
        call = getattr(torch, op)
        return {"forward": (3, lambda: call(x, y))}
    if op in ("addu", "mulu"):
        call = getattr(torch, op[:-1])
        return {"forward": (2, lambda: call(x, 2.5))}
    if op == "relu":
        return {"forward": (2, lambda: torch.relu(x)),
                "backward": (3, lambda: torch.ops.aten.threshold_backward(g, x, 0))}
    if op == "gelu":
        return {"forward": (2, lambda: F.gelu(x)),
                "backward": (3, lambda: torch.ops.aten.gelu_backward(g, x))}
    if op == "tanh":
        return {"forward": (2, lambda: torch.tanh(x)),
                "backward": (3, lambda: torch.ops.aten.tanh_backward(g, x))}
    if op == "dropout":
        return {"forward": (2, lambda: torch.ops.aten.native_dropout(x, .1, True))}
    if op == "layer_norm":
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, [columns], weight, bias, 1e-5)
        return {"forward": (2, lambda: torch.ops.aten.native_layer_norm(x, [columns], weight, bias, 1e-5)),
                "backward": (3, lambda: torch.ops.aten.native_layer_norm_backward(
                    g, x, [columns], mean, rstd, weight, bias, [True, True, True]))}
    if op == "softmax":
        return {"forward": (2, lambda: torch.softmax(x, -1)),
                "backward": (3, lambda: torch.ops.aten._softmax_backward_data(g, y, -1, dtype))}
    if op == "reduce":
        return {"forward": (1, lambda: x.sum(0))}
    if op == "cast":
        to = torch.float16 if dtype == torch.float32 else torch.float32
        return {"forward": (2, lambda: x.to(to))}
    if op == "transpose":
        return {"forward": (2, lambda: x.t().contiguous())}
    if op == "concat":
        return {"forward": (4, lambda: torch.cat((x, y), 1))}
    if op == "gather":
        index = torch.randint(rows, (rows,), device="cuda")
        return {"forward": (2, lambda: F.embedding(index, x)),
                "backward": (2, lambda: torch.ops.aten.embedding_dense_backward(g, index, rows, -1, False))}
    raise ValueError(op)


def image(op, n, c, side, dtype):
    """Operators on maps: `rows` n * c, `columns` side * side."""
    x, g = made((n, c, side, side), dtype), made((n, c, side, side), dtype)
    if op == "batch_norm":
        weight, bias, mean, var = (torch.ones(c, device="cuda") for _ in range(4))
        call = lambda: torch.ops.aten.cudnn_batch_norm(x, weight, bias, mean, var, True, .1, 1e-5)
        y, m, v, reserve = call()
        return {"forward": (2, call), "backward": (3, lambda: torch.ops.aten.cudnn_batch_norm_backward(
            x, g, weight, mean, var, m, v, 1e-5, reserve))}
    if op == "max_pool":
        y, index = torch.ops.aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])
        gy = torch.randn_like(y)
        return {"forward": (2, lambda: torch.ops.aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])),
                "backward": (2, lambda: torch.ops.aten.max_pool2d_with_indices_backward(
                    gy, x, [3, 3], [2, 2], [1, 1], [1, 1], False, index))}
    if op == "avg_pool":
        y = F.avg_pool2d(x, 2)
        gy = torch.randn_like(y)
        return {"forward": (2, lambda: F.avg_pool2d(x, 2)),
                "backward": (2, lambda: torch.ops.aten.avg_pool2d_backward(
                    gy, x, [2, 2], [2, 2], [0, 0], False, True, None))}
    raise ValueError(op)


def rows(clock, deadline):
    draw = random.Random(11)
    sizes = [(int(2 ** draw.uniform(3, 17)), int(2 ** draw.uniform(5, 13))) for _ in range(60)]
    sizes = [(r, c) for r, c in sizes if 1 << 14 < r * c < 1 << 28][:40]
    maps = [(n, c, s) for n in (8, 32, 128) for c, s in
            ((64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7))]
    ops = ("add", "mul", "div", "addu", "relu", "gelu", "tanh", "dropout", "layer_norm", "softmax",
           "reduce", "cast", "transpose", "concat", "gather")
    for arithmetic in wanted("f32", "f16_tensor"):
        dtype = use(arithmetic)
        jobs = [(op, r, c, None) for op in ops for r, c in sizes]
        jobs += [(op, n * c, s * s, (n, c, s)) for op in ("batch_norm", "max_pool", "avg_pool") for n, c, s in maps]
        for op, r, c, m in jobs:
            if deadline.passed():
                return say("stopped", at="rows " + arithmetic)
            sets = [image(op, *m, dtype) if m else pointwise(op, r, c, dtype)
                    for _ in range(copies(3 * dtype.itemsize * r * c))]
            for name in sets[0]:
                tensors = sets[0][name][0]
                say("rows", arithmetic=arithmetic[:3], op=op, **{"pass": name}, rows=r, columns=c,
                    tensors=tensors, maps=m, time_ms=clock.seconds([s[name][1] for s in sets]) * 1e3)


def update(clock, deadline):
    """A whole optimizer's step over the tensors of networks."""
    import torchvision
    for name in ("resnet50", "vgg16", "densenet121", "vit_b_16"):
        net = torchvision.models.get_model(name, weights=None).cuda()
        for optimizer in (torch.optim.SGD(net.parameters(), .01),
                          torch.optim.SGD(net.parameters(), .01, momentum=.9),
                          torch.optim.Adam(net.parameters()), torch.optim.AdamW(net.parameters())):
            for p in net.parameters():
                p.grad = torch.randn_like(p)
            for _ in range(3):
                optimizer.step()
            torch.cuda.synchronize()
            found = kernels_of(optimizer.step)
            say("update", network=name, optimizer=type(optimizer).__name__ + str(optimizer.defaults.get("momentum", "")),
                launches=found["launches"], gpu_ms=found["gpu_ms"],
                parameters=sum(p.numel() for p in net.parameters()), tensors=len(list(net.parameters())))
            del optimizer


# --- attention ---

# batch, heads, heads of keys and values, queries, keys, head size
ATTENTION = ((32, 12, 12, 128, 128, 64), (32, 12, 12, 512, 512, 64), (8, 12, 12, 1024, 1024, 64), (64, 12, 12, 197, 197, 64),
             (8, 16, 16, 2048, 2048, 64), (4, 16, 16, 4096, 4096, 128), (2, 32, 32, 8192, 8192, 128), (1, 12, 12, 128, 128, 64),
             (128, 3, 3, 197, 197, 64), (8, 32, 32, 1024, 1024, 80), (16, 8, 8, 77, 77, 40), (256, 4, 4, 49, 49, 32),
             (16, 8, 2, 512, 512, 64), (4, 32, 8, 2048, 2048, 128), (16, 12, 12, 300, 300, 96), (8, 8, 8, 1500, 1500, 64),
             (16, 8, 8, 4096, 77, 40), (32, 8, 8, 30, 50, 64), (8, 16, 16, 500, 500, 192))


def attention(clock, deadline):
    """Times, and the scratch memory of both passes, which no dispatch on fake tensors sees."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    forms = {"flash": SDPBackend.FLASH_ATTENTION, "memory_efficient": SDPBackend.EFFICIENT_ATTENTION,
             "library": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH}
    problems = [(shape, seen) for shape in ATTENTION for seen in ("all", "causal", "masked")]
    for arithmetic in wanted("f16_tensor", "bf16_tensor", "f32", "tf32_tensor"):
        dtype = use(arithmetic)
        for form, backend in forms.items():
            for (b, h, kv, s, t, d), seen in problems:
                if deadline.passed():
                    return say("stopped", at="attention " + arithmetic)
                if form == "math" and b * h * s * t > 1 << 29:
                    continue
                q, k, v, g = (made((b, heads, n, d), dtype) for heads, n in ((h, s), (kv, t), (kv, t), (h, s)))
                options = {"is_causal": seen == "causal", "enable_gqa": kv != h}
                if seen == "masked":
                    options["attn_mask"] = made((b, 1, s, t), dtype)

                def attend(*operands):
                    return F.scaled_dot_product_attention(*operands, **options)

                try:
                    with sdpa_kernel(backend):
                        forward = clock.seconds([lambda: attend(q, k, v)])
                        q2, k2, v2 = (x.detach().requires_grad_() for x in (q, k, v))
                        both = clock.seconds([lambda: torch.autograd.grad(attend(q2, k2, v2), (q2, k2, v2), g)])
                        scratch = workspace(lambda: attend(q2, k2, v2))
                        y = attend(q2, k2, v2)
                        scratch_back = workspace(lambda: torch.autograd.grad(y, (q2, k2, v2), g, retain_graph=True))
                        del y
                except RuntimeError:
                    torch.cuda.synchronize()
                    continue
                say("attention", arithmetic=arithmetic, form=form, batch=b, heads=h, kv_heads=kv, tokens=s, keys=t, head_size=d,
                    causal=int(seen == "causal"), masked=int(seen == "masked"), forward_ms=forward * 1e3,
                    backward_ms=(both - forward) * 1e3, forward_workspace=scratch, backward_workspace=scratch_back)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = {"gemm": gemm, "conv": conv, "rows": rows, "update": update, "attention": attention}
    parser.add_argument("kinds", nargs="+", choices=kinds)
    parser.add_argument("--seconds", type=float, default=600, help="of each kind")
    parser.add_argument("--arithmetic", help="these alone, comma-separated")
    arguments = parser.parse_args()
    if arguments.arithmetic:
        ONLY.extend(arguments.arithmetic.split(","))
    environment()
    clock = Clock()
    for kind in arguments.kinds:
        kinds[kind](clock, Deadline(arguments.seconds))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
