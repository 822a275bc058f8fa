"""Writes ONNX files as other tools than PyTorch's exporters write them, and what must come of each.

    pip install onnx spox skl2onnx
    python wild_models.py            # tests/golden/wild/NAME.onnx.gz and wild.json

No framework is needed: the files are built by hand in the manner of paddle2onnx, tf2onnx, Keras, quantisers and hand-written
scripts, by spox, and by skl2onnx from fitted models. Whoever builds a network here says of each tensor whether it is a
weight, so that what is expected is counted where the network is written, not read back from the file:

    {"NAME": {"parameters": 1234}}                what is trained
    {"NAME": {..., "branches": {"gate": "then"}}} with what the file leaves open: branches, trips, contents, assume, batch
    {"NAME": {..., "said": "W233"}}               a warning that stands beside the answer
    {"NAME": {"refused": "E256"}}                 no network: the code of the refusal
"""
import json

import numpy as np
from onnx import TensorProto, helper

from pack import GOLDEN, packed, write
import wild_networks  # noqa: F401, fills WILD
from wild_net import BOOL, FLOAT, INT8, INT64, WILD, Net, answer, doubted, image, refused, tensor, wild

LARGEST_KEPT = 64  # elements of a float tensor whose values stay


# Control flow on shapes and on data.

@wild
def branch_on_shape():
    net = Net(opset=13)
    x = net.input("x", ["batch", 16, 24])
    steps = net.op("Gather", net.op("Shape", x), net.number(1, scalar=True))
    long, short = net.body(), net.body()
    long.output(long.linear(x, 24, 8))
    short.output(short.linear(short.op("Relu", x), 24, 8))
    taken = long.parameters
    y = net.op("If", net.op("Greater", steps, net.number(8, scalar=True)), then_branch=long.graph("long"),
               else_branch=short.graph("short"))
    net.parameters += taken
    return answer(net, y)


@wild
def branch_on_data():
    net = Net(opset=13)
    x = net.input("x", ["batch", 24])
    level = net.op("ReduceMean", x, keepdims=0)
    loud, quiet = net.body(), net.body()
    loud.output(loud.linear(x, 24, 8))
    quiet.output(quiet.linear(quiet.op("Relu", quiet.linear(x, 24, 48)), 48, 8))
    y = net.op("If", net.op("Greater", level, net.scalar(0.5)), name="gate", then_branch=loud.graph("loud"),
               else_branch=quiet.graph("quiet"))
    net.parameters += loud.parameters
    return answer(net, y, branches={"gate": "then"})


@wild
def guessed_branch():
    model, expected = branch_on_data()
    return model, {"parameters": 24 * 48 + 48 + 48 * 8 + 8, "said": "W212"}


@wild
def loop_on_shape():
    """As many rounds as the input has steps."""
    net = Net(opset=13)
    x = net.input("x", [4, 6, 16])
    rounds = net.op("Gather", net.op("Shape", x), net.number(1, scalar=True))
    kernel = net.weight(16, 16)
    body = net.body(i=([], INT64), go=([], BOOL), state=([4, 16], FLOAT))
    step = body.op("Gather", x, "i", axis=1)
    body.output(body.op("Identity", "go"), BOOL, [])
    body.output(body.op("Relu", body.op("MatMul", body.op("Add", step, "state"), kernel)), shape=[4, 16])
    y = net.op("Loop", rounds, "", net.add(tensor(net.name("zero"), (4, 16)), "initializer"), body=net.take(body, "body"))
    return answer(net, y)


@wild
def loop_on_data():
    net = Net(opset=13)
    x, rounds = net.input("x", [4, 16]), net.input("rounds", [], INT64)
    kernel = net.weight(16, 16)
    body = net.body(i=([], INT64), go=([], BOOL), state=([4, 16], FLOAT))
    body.output(body.op("Identity", "go"), BOOL, [])
    body.output(body.op("Relu", body.op("MatMul", "state", kernel)), shape=[4, 16])
    y = net.op("Loop", rounds, "", x, name="rounds_of", body=net.take(body, "body"))
    return answer(net, y, trips={"rounds_of": 3})


@wild
def sequence_of_parts():
    net = Net(opset=13)
    x = net.input("x", ["batch", 48])
    parts = net.op("SplitToSequence", x, net.number(16, scalar=True), axis=1)
    first, last = (net.op("SequenceAt", parts, net.number(i, scalar=True)) for i in (0, 2))
    return answer(net, net.op("Add", net.linear(first, 16, 4), net.linear(last, 16, 4)))


@wild
def routed_experts():
    """Experts whose tokens are found by their content: parts of a Split that only data knows."""
    net = Net(opset=13)
    x = net.input("x", [32, 64])
    expert = net.op("ArgMax", net.op("MatMul", x, net.weight(64, 4)), axis=1, keepdims=0)
    chosen = net.op("OneHot", expert, net.number(4, scalar=True), net.number(0, 1), axis=-1)
    counts = net.op("ReduceSum", chosen, net.number(0), keepdims=0, name="count")
    _, order = net.op("TopK", net.op("Cast", expert, to=FLOAT), net.number(32), outputs=2, axis=0, largest=0)
    parts = net.op("Split", net.op("Gather", x, order, axis=0), counts, outputs=4, axis=0)
    parts = [net.linear(net.op("Relu", net.linear(p, 64, 256)), 256, 64) for p in parts]
    return answer(net, net.op("Concat", *parts, axis=0), contents={counts: [8, 8, 8, 8]})


@wild
def local_functions():
    """Functions of the model's own, one inside the other; weights come in as arguments and as Constants."""
    net = Net(opset=17, domains=["mine"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    dense = helper.make_function("mine", "Dense", ["x", "w"], ["y"], [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Constant", [], ["bias"], value=tensor("bias", (128,))),
        helper.make_node("Add", ["product", "bias"], ["y"])], opsets)
    block = helper.make_function("mine", "Block", ["x", "w"], ["y"], [
        helper.make_node("Dense", ["x", "w"], ["dense"], domain="mine"),
        helper.make_node("Relu", ["dense"], ["y"])], opsets)
    net.functions = [dense, block]
    x = net.op("Block", net.input("x", ["batch", 64]), net.weight(64, 128), domain="mine")
    net.parameters += 128
    x = net.op("Block", x, net.weight(128, 128), domain="mine")
    net.parameters += 128
    return answer(net, x)


# Quantised: what these train is in doubt, and said.

@wild
def quantised_layers():
    """QuantizeLinear and DequantizeLinear around a convolution."""
    net = Net(opset=13)
    x = image(net)
    scale, zero = net.scalar(0.02), net.number(0, dtype=INT8, scalar=True)
    x = net.op("DequantizeLinear", net.op("QuantizeLinear", x, scale, zero), scale, zero)
    weight = net.op("DequantizeLinear", net.weight(16, 3, 3, 3, dtype=INT8), net.scalar(0.01), zero)
    x = net.op("Conv", x, weight, net.weight(16), pads=[1] * 4)
    return doubted(net, net.linear(net.pooled(net.op("Relu", x)), 16, 10), "W233")


@wild
def integer_product():
    net = Net(opset=13)
    x, scale, zero = net.op("DynamicQuantizeLinear", net.input("x", ["batch", 64]), outputs=3)
    y = net.op("MatMulInteger", x, net.weight(64, 128, dtype=INT8), zero)
    y = net.op("Mul", net.op("Cast", y, to=FLOAT), scale)
    return doubted(net, net.op("Add", y, net.weight(128)), "W233")


# What is no network, or holds what no GPU trains.

@wild
def text_vectors():
    net = Net(opset=13)
    words = net.input("words", [8], TensorProto.STRING)
    y = net.op("StringNormalizer", words, case_change_action="LOWER")
    return refused(net, y, "E210", TensorProto.STRING)


@wild
def own_operator():
    net = Net(opset=17, domains=["acme"])
    return refused(net, net.op("Flash", net.input("x", ["batch", 64]), net.weight(64, 64), domain="acme"), "E210")


@wild
def own_operator_assumed():
    net = Net(opset=17, domains=["acme"])
    y = net.op("Swizzle", net.linear(net.input("x", ["batch", 64]), 64, 64), domain="acme")
    return answer(net, net.linear(y, 64, 8), assume={"Swizzle": "ELEMENTWISE"}, said="W210")


@wild
def open_loop():
    model, _ = loop_on_data()
    return model, {"refused": "E225"}


@wild
def lost_input():
    net = Net()
    return refused(net, net.op("Add", net.linear(net.input("x", ["batch", 8]), 8, 8), "nowhere"), "E221")


# By spox.

def from_spox(inputs, outputs, parameters):
    from spox import build
    return build(inputs, outputs), {"parameters": parameters}


@wild
def spox_perceptron():
    import spox.opset.ai.onnx.v17 as op
    from spox import Tensor, argument
    x = argument(Tensor(np.float32, ("batch", 64)))
    y = op.relu(op.add(op.matmul(x, op.const(np.zeros((64, 256), np.float32))), op.const(np.zeros(256, np.float32))))
    y = op.gemm(y, op.const(np.zeros((10, 256), np.float32)), op.const(np.zeros(10, np.float32)), transB=1)
    return from_spox({"x": x}, {"y": y}, 64 * 256 + 256 + 2560 + 10)


@wild
def spox_cnn():
    import spox.opset.ai.onnx.v17 as op
    from spox import Tensor, argument
    x = argument(Tensor(np.float32, ("batch", 3, 32, 32)))
    y = op.conv(x, op.const(np.zeros((16, 3, 3, 3), np.float32)), pads=[1] * 4)
    y = op.instance_normalization(y, *(op.const(np.full(16, value, np.float32)) for value in (1, 0)))
    y = op.flatten(op.global_average_pool(op.relu(y)))
    y = op.matmul(y, op.const(np.zeros((16, 10), np.float32)))
    return from_spox({"x": x}, {"y": y}, 16 * 27 + 32 + 160)


@wild
def spox_branch():
    """The condition is a shape's; both branches read constants of the outer graph."""
    import spox.opset.ai.onnx.v17 as op
    from spox import Tensor, argument
    x = argument(Tensor(np.float32, ("batch", 24)))
    kernel = op.const(np.zeros((24, 24), np.float32))
    wide = op.greater(op.gather(op.shape(x), op.const(np.int64(1))), op.const(np.int64(8)))
    y, = op.if_(wide, then_branch=lambda: [op.matmul(x, kernel)], else_branch=lambda: [op.relu(x)])
    return from_spox({"x": x}, {"y": y}, 24 * 24)


# By skl2onnx.

def fitted(model):
    random = np.random.default_rng(0)
    x = random.standard_normal((60, 12)).astype(np.float32)
    y = random.integers(0, 3, 60) if hasattr(model, "predict_proba") else random.standard_normal(60)
    return model.fit(x, y)


def from_sklearn(model, **options):
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType
    return convert_sklearn(model, initial_types=[("x", FloatTensorType([None, 12]))], target_opset=15, **options)


@wild
def sklearn_perceptron():
    from sklearn.neural_network import MLPRegressor
    model = fitted(MLPRegressor(hidden_layer_sizes=(32, 16), max_iter=2))
    return from_sklearn(model), {"parameters": sum(w.size for w in (*model.coefs_, *model.intercepts_))}


@wild
def sklearn_classifier():
    from sklearn.linear_model import LogisticRegression
    return from_sklearn(fitted(LogisticRegression())), {"refused": "E256"}


@wild
def sklearn_forest():
    from sklearn.ensemble import RandomForestRegressor
    return from_sklearn(fitted(RandomForestRegressor(3, max_depth=3))), {"refused": "E256"}


@wild
def sklearn_scaler():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.linear_model import Ridge
    return from_sklearn(fitted(make_pipeline(StandardScaler(), Ridge()))), {"refused": "E256"}


def shrink(graph):
    """Values of large tensors become zeros, which pack well; nothing reads them."""
    tensors = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                tensors.append(attribute.t)
            if attribute.HasField("g"):
                shrink(attribute.g)
    for t in tensors:
        count = int(np.prod(t.dims))
        if count > LARGEST_KEPT and t.HasField("raw_data"):
            t.raw_data = bytes(len(t.raw_data))


def main():
    expected = {}
    for name, make in WILD.items():
        model, expected[name] = make()
        model.producer_version = ""
        if any(not d.HasField("dim_value") for i in model.graph.input for d in i.type.tensor_type.shape.dim):
            expected[name]["batch"] = 4
        shrink(model.graph)
        write(GOLDEN / "wild" / f"{name}.onnx.gz", packed(model.SerializeToString(deterministic=True)))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in expected.items())
    write(GOLDEN / "wild.json", f"{{\n{lines}\n}}\n".encode())
    print(f"{len(expected)} files")


if __name__ == "__main__":
    main()
