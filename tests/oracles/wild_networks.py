"""Networks by hand for wild_models.py: forms of weights, the manner of tf2onnx and Keras, and operators that image networks
lack."""
from onnx import TensorProto

from wild_net import BFLOAT, BOOL, DOUBLE, FLOAT, HALF, INT64, Net, answer, image, small_cnn, tensor, wild


# Weights as Constant, ConstantOfShape and older forms.

@wild
def paddle_cnn():
    net = Net("constant", opset=11)
    return answer(net, small_cnn(net, image(net)))


@wild
def paddle_zeros():
    net = Net("of_shape", opset=11)
    return answer(net, small_cnn(net, image(net)))


@wild
def paddle_transformer():
    net = Net("constant", opset=13)
    x = net.input("x", ["batch", 16, 64])
    for _ in range(2):
        x = net.layer_norm(net.op("Add", x, net.attention(x, 64, 4)), 64)
        y = net.op("Relu", net.linear(x, 64, 256))
        x = net.layer_norm(net.op("Add", x, net.linear(y, 256, 64)), 64)
    return answer(net, net.linear(x, 64, 100))


@wild
def paddle_mobile():
    net = Net("constant", opset=11)
    x = net.conv(image(net), 3, 16, bias=False, strides=[2, 2])
    x = net.norm(x, 16)
    gate = net.op("HardSigmoid", x, alpha=0.1666667, beta=0.5)
    x = net.op("Mul", x, gate)
    x = net.norm(net.conv(x, 16, 16, bias=False, groups=16), 16)
    squeezed = net.op("GlobalAveragePool", x)
    squeezed = net.op("Relu", net.conv(squeezed, 16, 4, kernel=1))
    x = net.op("Mul", x, net.op("HardSigmoid", net.conv(squeezed, 4, 16, kernel=1), alpha=0.2, beta=0.5))
    return answer(net, net.linear(net.pooled(x), 16, 10))


@wild
def paddle_embedding():
    net = Net("constant", opset=11)
    words = net.input("words", ["batch", 12], INT64)
    x = net.op("Gather", net.weight(1000, 32), words)
    return answer(net, net.linear(net.op("ReduceMean", x, axes=[1], keepdims=0), 32, 2))


@wild
def paddle_lstm():
    net = Net("constant", opset=11)
    x = net.op("Transpose", net.input("x", ["batch", 20, 24]), perm=[1, 0, 2])
    y, _, _ = net.op("LSTM", x, net.weight(1, 128, 24), net.weight(1, 128, 32), net.weight(1, 256), outputs=3, hidden_size=32)
    y = net.op("Transpose", net.op("Squeeze", y, axes=[1]), perm=[1, 0, 2])
    return answer(net, net.linear(y, 32, 37))


@wild
def old_inputs():
    """Before IR 4 every initializer is an input of the graph too."""
    net = Net("input", opset=8)
    return answer(net, small_cnn(net, image(net)))


@wild
def external_weights():
    """The file of the weights is not there."""
    net = Net("external")
    return answer(net, small_cnn(net, image(net)))


@wild
def tied_embedding():
    net = Net()
    words = net.input("words", ["batch", 16], INT64)
    table = net.weight(500, 48)
    x = net.layer_norm(net.op("Gather", table, words), 48)
    return answer(net, net.op("MatMul", x, net.op("Transpose", table, perm=[1, 0])))


@wild
def half_weights():
    """Weights in 16 bits, cast where they are read."""
    net = Net()
    x = net.input("x", ["batch", 64])
    x = net.op("MatMul", x, net.op("Cast", net.weight(64, 128, dtype=HALF), to=FLOAT))
    return answer(net, net.linear(net.op("Relu", x), 128, 10))


@wild
def half_network():
    net = Net(dtype=HALF)
    return answer(net, small_cnn(net, image(net), norm=False))


@wild
def bfloat_network():
    net = Net(dtype=BFLOAT)
    x = net.op("Relu", net.linear(net.input("x", ["batch", 64]), 64, 256))
    return answer(net, net.linear(x, 256, 8))


@wild
def double_network():
    net = Net(dtype=DOUBLE)
    x = net.op("Tanh", net.linear(net.input("x", ["batch", 64]), 64, 256))
    return answer(net, net.linear(x, 256, 1))


@wild
def weight_norm():
    """A weight that is computed from direction and length in every step."""
    net = Net()
    x = image(net)
    direction, length = net.weight(16, 3, 3, 3), net.weight(16, 1, 1, 1)
    size = net.op("ReduceL2", direction, axes=[1, 2, 3])
    x = net.op("Conv", x, net.op("Mul", direction, net.op("Div", length, size)), net.weight(16), pads=[1] * 4)
    return answer(net, net.linear(net.pooled(net.op("Relu", x)), 16, 10))


@wild
def standardised_weight():
    net = Net()
    x = image(net)
    weight = net.weight(16, 3, 3, 3)
    centred = net.op("Sub", weight, net.op("ReduceMean", weight, axes=[1, 2, 3]))
    scale = net.op("Sqrt", net.op("ReduceMean", net.op("Mul", centred, centred), axes=[1, 2, 3]))
    x = net.op("Conv", x, net.op("Div", centred, net.op("Add", scale, net.scalar(1e-5))), pads=[1] * 4)
    return answer(net, net.linear(net.pooled(net.op("Relu", x)), 16, 10))


@wild
def reshaped_weight():
    """Keras' depthwise kernels, [height, width, channels, 1], turned where they are read."""
    net = Net()
    x = image(net, 8)
    kernel = net.op("Transpose", net.weight(3, 3, 8, 1), perm=[2, 3, 0, 1])
    x = net.op("Conv", x, kernel, group=8, pads=[1] * 4)
    return answer(net, net.linear(net.pooled(net.op("Relu", x)), 8, 10))


@wild
def sliced_weight():
    """One matrix for query, key and value, cut where it is read."""
    net = Net(opset=13)
    x = net.input("x", ["batch", 16, 32])
    together = net.weight(32, 96)
    parts = [net.op("MatMul", x, net.op("Slice", together, net.number(32 * i), net.number(32 * (i + 1)), net.number(1)))
             for i in range(3)]
    scores = net.op("Softmax", net.op("MatMul", parts[0], net.op("Transpose", parts[1], perm=[0, 2, 1])), axis=-1)
    return answer(net, net.op("MatMul", scores, parts[2]))


# As tf2onnx and Keras write them.

@wild
def keras_nhwc():
    net = Net(opset=15)
    x = net.op("Transpose", net.input("x", ["batch", 32, 32, 3]), perm=[0, 3, 1, 2])
    x = net.op("Conv", x, net.weight(16, 3, 3, 3, name="model/conv2d/Conv2D/ReadVariableOp:0"), strides=[2, 2],
               auto_pad="SAME_UPPER")
    x = net.op("Relu", net.op("Add", x, net.weight(1, 16, 1, 1, name="model/conv2d/BiasAdd/ReadVariableOp:0")))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Reshape", net.op("Transpose", x, perm=[0, 2, 3, 1]), net.number(-1, 8 * 8 * 16))
    return answer(net, net.op("Softmax", net.linear(x, 8 * 8 * 16, 10)))


@wild
def keras_embedding():
    net = Net(opset=15)
    words = net.input("words", ["batch", 40], TensorProto.INT32)
    x = net.op("Gather", net.weight(2000, 16, name="model/embedding/embedding_lookup/Read:0"), words)
    y = net.op("Squeeze", net.op("ReduceMax", x, axes=[1], keepdims=1), net.number(1))
    return answer(net, net.op("Sigmoid", net.linear(y, 16, 1)))


@wild
def keras_bidirectional():
    net = Net(opset=15)
    x = net.op("Transpose", net.input("x", ["batch", 30, 8]), perm=[1, 0, 2])
    y, _, _ = net.op("LSTM", x, net.weight(2, 80, 8), net.weight(2, 80, 20), net.weight(2, 160), outputs=3, hidden_size=20,
                     direction="bidirectional")
    last = net.op("Gather", y, net.number(-1), axis=0)
    x = net.op("Reshape", net.op("Transpose", last, perm=[2, 0, 1, 3]), net.number(0, 40))
    return answer(net, net.linear(x, 40, 5))


@wild
def tensorflow_einsum():
    """Keras' MultiHeadAttention: projections by Einsum over heads."""
    net = Net(opset=15)
    x = net.input("x", ["batch", 16, 32])
    query, key, value = (net.op("Add", net.op("Einsum", x, net.weight(32, 4, 8), equation="abc,cde->abde"), net.weight(4, 8))
                         for _ in range(3))
    scores = net.op("Einsum", key, net.op("Mul", query, net.scalar(0.35)), equation="aecd,abcd->acbe")
    y = net.op("Einsum", net.op("Softmax", scores, axis=-1), value, equation="acbe,aecd->abcd")
    return answer(net, net.op("Add", net.op("Einsum", y, net.weight(4, 8, 32), equation="abcd,cde->abe"), net.weight(32)))


@wild
def tensorflow_loop():
    """tf.while_loop: the iterations are the steps of the input; weights lie outside the body."""
    net = Net(opset=13)
    x = net.input("x", [12, 4, 16])
    kernel, recurrent = net.weight(16, 24), net.weight(24, 24)
    body = net.body(i=([], INT64), go=([], BOOL), state=([4, 24], FLOAT))
    step = body.op("Gather", x, "i", axis=0)
    state = body.op("Tanh", body.op("Add", body.op("MatMul", step, kernel), body.op("MatMul", "state", recurrent)))
    body.output(body.op("Identity", "go"), BOOL, [])
    body.output(state, shape=[4, 24])
    y = net.op("Loop", net.number(12, scalar=True), net.number(True, dtype=BOOL, scalar=True),
               net.add(tensor(net.name("zero"), (4, 24)), "initializer"), body=net.take(body, "body"))
    return answer(net, net.linear(y, 24, 3))


# Recurrent, three-dimensional, normalised: operators that image networks lack.

@wild
def scan_cell():
    net = Net(opset=13)
    x = net.input("x", [10, 4, 8])
    body = net.body(state=([4, 8], FLOAT), step=([4, 8], FLOAT))
    state = body.op("Sigmoid", body.op("Add", body.op("MatMul", "step", net.weight(8, 8)), "state"))
    body.output(state, shape=[4, 8])
    body.output(body.op("Identity", state), shape=[4, 8])
    _, y = net.op("Scan", net.add(tensor(net.name("zero"), (4, 8)), "initializer"), x, outputs=2, num_scan_inputs=1,
                  body=net.take(body, "cell"))
    return answer(net, net.linear(y, 8, 2))


@wild
def gru_and_rnn():
    net = Net(opset=14)
    x = net.input("x", [15, "batch", 10])
    y, _ = net.op("GRU", x, net.weight(2, 36, 10), net.weight(2, 36, 12), net.weight(2, 72), outputs=2, hidden_size=12,
                  direction="bidirectional", linear_before_reset=1)
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.number(0, 0, 24))
    y, _ = net.op("RNN", y, net.weight(1, 6, 24), net.weight(1, 6, 6), net.weight(1, 12), outputs=2, hidden_size=6)
    return answer(net, net.op("Squeeze", y, net.number(1)))


@wild
def video():
    net = Net()
    x = net.input("x", ["batch", 3, 8, 16, 16])
    x = net.op("Relu", net.op("Conv", x, net.weight(8, 3, 3, 3, 3), net.weight(8), pads=[1] * 6))
    x = net.op("AveragePool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    return answer(net, net.linear(net.pooled(x), 8, 5))


@wild
def generator():
    net = Net()
    x = net.input("x", ["batch", 32, 4, 4])
    for inner, outer in ((32, 16), (16, 8)):
        x = net.op("ConvTranspose", x, net.weight(inner, outer, 4, 4), strides=[2, 2], pads=[1] * 4)
        x = net.op("InstanceNormalization", x, net.weight(outer), net.weight(outer))
        x = net.op("PRelu", x, net.weight(outer, 1, 1))
    return answer(net, net.op("Tanh", net.conv(x, 8, 3)))


@wild
def group_norm():
    net = Net(opset=21)
    x = net.conv(image(net), 3, 16)
    x = net.op("GroupNormalization", x, net.weight(16), net.weight(16), num_groups=4)
    return answer(net, net.conv(net.op("Relu", x), 16, 3))


@wild
def newest_operators():
    """Opset 23: RMSNormalization and Attention as operators."""
    net = Net(opset=23)
    x = net.input("x", ["batch", 16, 64])
    y = net.op("RMSNormalization", x, net.weight(64), axis=-1)
    query, key, value = (net.linear(y, 64, 64, bias=False) for _ in range(3))
    y = net.op("Attention", query, key, value, q_num_heads=4, kv_num_heads=4)
    x = net.op("Add", x, net.linear(y, 64, 64, bias=False))
    return answer(net, net.op("LayerNormalization", x, net.weight(64), net.weight(64), axis=-1))


@wild
def segmentation():
    net = Net()
    x = image(net)
    low = net.op("Relu", net.norm(net.conv(x, 3, 8, bias=False), 8))
    high = net.op("Relu", net.conv(net.op("MaxPool", low, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    up = net.op("Resize", high, "", net.number(1.0, 1.0, 2.0, 2.0, dtype=FLOAT), mode="nearest")
    return answer(net, net.conv(net.op("Concat", up, low, axis=1), 24, 5, kernel=1))


@wild
def anchors():
    """A detector's tables of anchors and strides are no weights."""
    net = Net()
    x = net.conv(image(net), 3, 16, strides=[4, 4])
    boxes = net.op("Transpose", net.op("Reshape", net.conv(x, 16, 4, kernel=1), net.number(0, 4, -1)), perm=[0, 2, 1])
    centres = net.add(tensor("/model.22/Constant_9_output_0", (1, 64, 2)), "constant")
    start, size = net.op("Split", boxes, net.number(2, 2), outputs=2, axis=-1)
    return answer(net, net.op("Concat", net.op("Sub", centres, start), net.op("Add", centres, size), axis=-1))


@wild
def spectrogram():
    """Audio: the window and the filter bank of the front end are Constants that the networks behind read."""
    net = Net(opset=17)
    x = net.input("x", ["batch", 4000, 1])
    window = net.add(tensor("window", (400,), value=0.5), "constant")
    y = net.op("STFT", x, net.number(160, scalar=True), window, net.number(400, scalar=True))
    y = net.op("ReduceSumSquare", y, axes=[-1], keepdims=0)
    y = net.op("Log", net.op("Add", y, net.scalar(1e-6)))
    return answer(net, net.linear(y, 201, 32))
