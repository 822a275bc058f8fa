"""A graph under construction, for wild_models.py: layers that count their weights as they are written, in any of the forms
in which tools write weights, and the list of networks."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, BFLOAT, DOUBLE, INT8, INT64, BOOL = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.INT8, TensorProto.INT64,
    TensorProto.BOOL)


def tensor(name, shape, dtype=FLOAT, value=0.0):
    array = np.full(shape, value, helper.tensor_dtype_to_np_dtype(dtype))
    return numpy_helper.from_array(array, name)


class Net:
    """`weights` is how it writes them: "initializer", "constant" (a Constant node each, as
    paddle2onnx and spox do), "of_shape" (ConstantOfShape), "input" (initializers that are inputs too, as before IR 4),
    "external"."""

    def __init__(self, weights="initializer", opset=17, dtype=FLOAT, domains=(), outer=None):
        self.form, self.opset, self.dtype, self.domains = weights, opset, dtype, list(domains)
        self.nodes, self.initializers, self.inputs, self.outputs, self.functions = [], [], [], [], []
        self.parameters = 0
        self.outer = outer  # of a branch or a body: names are the outer graph's
        self.names = outer.names if outer else {"next": 0}

    def name(self, stem="v"):
        self.names["next"] += 1
        return f"{stem}_{self.names['next']}"

    def input(self, name, shape, dtype=None):
        self.inputs.append(helper.make_tensor_value_info(name, dtype or self.dtype, shape))
        return name

    def output(self, name, dtype=None, shape=None):
        self.outputs.append(helper.make_tensor_value_info(name, dtype or self.dtype, shape))
        return name

    def op(self, op, *inputs, outputs=1, domain="", name="", **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def add(self, tensor_, form):
        if form == "constant":
            self.nodes.append(helper.make_node("Constant", [], [tensor_.name], value=tensor_))
        elif form == "of_shape":
            shape = self.name("shape")
            self.nodes.append(helper.make_node("Constant", [], [shape], value=helper.make_tensor(
                shape, INT64, [len(tensor_.dims)], list(tensor_.dims))))
            self.nodes.append(helper.make_node("ConstantOfShape", [shape], [tensor_.name], value=helper.make_tensor(
                "value", tensor_.data_type, [1], [0.0])))
        else:
            if form == "input":
                self.inputs.append(helper.make_tensor_value_info(tensor_.name, tensor_.data_type, list(tensor_.dims)))
            if form == "external":
                tensor_.ClearField("raw_data")
                tensor_.data_location = TensorProto.EXTERNAL
                tensor_.external_data.add(key="location", value="weights.bin")
            self.initializers.append(tensor_)
        return tensor_.name

    def weight(self, *shape, name="", dtype=None):
        self.parameters += int(np.prod(shape))
        return self.add(tensor(name or self.name("w"), shape, dtype or self.dtype), self.form)

    def buffer(self, *shape, value=0.0, name=""):
        return self.add(tensor(name or self.name("buffer"), shape, self.dtype, value), self.form)

    def number(self, *values, dtype=INT64, scalar=False):
        array = np.array(values[0] if scalar else values, helper.tensor_dtype_to_np_dtype(dtype))
        return self.add(numpy_helper.from_array(array, self.name("c")),
                        "constant" if self.form in ("constant", "of_shape") else "initializer")

    def scalar(self, value, dtype=None):
        return self.number(value, dtype=dtype or self.dtype, scalar=True)

    # Layers.
    def conv(self, x, inner, outer, kernel=3, bias=True, groups=1, **attributes):
        inputs = [x, self.weight(outer, inner // groups, kernel, kernel)] + ([self.weight(outer)] if bias else [])
        return self.op("Conv", *inputs, group=groups, kernel_shape=[kernel] * 2,
                       pads=attributes.pop("pads", [kernel // 2] * 4), **attributes)

    def norm(self, x, channels):
        return self.op("BatchNormalization", x, self.weight(channels), self.weight(channels), self.buffer(channels),
                       self.buffer(channels, value=1.0))

    def linear(self, x, inner, outer, bias=True):
        y = self.op("MatMul", x, self.weight(inner, outer))
        return self.op("Add", y, self.weight(outer)) if bias else y

    def pooled(self, x):
        return self.op("Flatten", self.op("GlobalAveragePool", x))

    def layer_norm(self, x, width):
        """As exporters wrote it before opset 17."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.scalar(2.0)), axes=[-1])
        y = self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, self.scalar(1e-5))))
        return self.op("Add", self.op("Mul", y, self.weight(width)), self.weight(width))

    def attention(self, x, width, heads):
        def split(y):
            y = self.op("Reshape", y, self.number(0, -1, heads, width // heads))
            return self.op("Transpose", y, perm=[0, 2, 1, 3])
        query, key, value = (split(self.linear(x, width, width)) for _ in range(3))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Softmax", self.op("Mul", scores, self.scalar((width // heads) ** -0.5)), axis=-1)
        y = self.op("Transpose", self.op("MatMul", scores, value), perm=[0, 2, 1, 3])
        return self.linear(self.op("Reshape", y, self.number(0, -1, width)), width, width)

    def graph(self, name="net"):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)

    def body(self, **inputs):
        """A Net inside this one; its weights are counted here once it is taken."""
        inner = Net(self.form, self.opset, self.dtype, outer=self)
        for name, (shape, dtype) in inputs.items():
            inner.input(name, shape, dtype)
        return inner

    def take(self, inner, name):
        self.parameters += inner.parameters
        return inner.graph(name)

    def model(self):
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in self.domains]
        model = helper.make_model(self.graph(), opset_imports=opsets, functions=self.functions)
        model.ir_version = 3 if self.form == "input" else 9
        return model


WILD = {}      # name -> its maker


def wild(function):
    WILD[function.__name__] = function
    return function


def answer(net, y, dtype=None, **more):
    net.output(y, dtype)
    return net.model(), {"parameters": net.parameters, **more}


def doubted(net, y, code):
    """What is trained is not known; that it is not must be said."""
    net.output(y)
    return net.model(), {"said": code}


def refused(net, y, code, dtype=None):
    net.output(y, dtype)
    return net.model(), {"refused": code}


def small_cnn(net, x, channels=(3, 16, 32), classes=10, norm=True):
    for inner, outer in zip(channels, channels[1:]):
        x = net.conv(x, inner, outer, bias=not norm, strides=[2, 2])
        x = net.op("Relu", net.norm(x, outer) if norm else x)
    return net.linear(net.pooled(x), channels[-1], classes)


def image(net, channels=3, size=32):
    return net.input("x", ["batch", channels, size, size])
