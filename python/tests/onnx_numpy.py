"""The operators of ONNX that exported layers and models have, in NumPy: they are simple enough to
be right, and need no runtime."""
import math

import numpy as np


def conv(x, w, pads, group):
    """Cross-correlation, as ONNX has it; stride and dilation 1, one channel per group."""
    assert w.shape[0] == group == x.shape[1] and w.shape[1] == 1
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, cols = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    y = np.zeros((*x.shape[:2], rows, cols), x.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            y += w[None, :, 0, i, j, None, None] * x[:, :, i:i + rows, j:j + cols]
    return y


def reshape(x, shape):
    """0 keeps an axis, -1 is what remains."""
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def slice_axes(x, starts, ends, axes):
    for start, end, axis in zip(starts, ends, axes):
        x = x[(slice(None),) * (axis % x.ndim) + (slice(start, end),)]
    return x


def pad(x, pads):
    half = len(pads) // 2
    return np.pad(x, list(zip(pads[:half], pads[half:])))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, gamma, beta, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma + beta


def erf(x):
    return np.fromiter(map(math.erf, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)


UNARY = {"Sqrt": np.sqrt, "Identity": lambda x: x, "Erf": erf,
         "Sigmoid": lambda x: (1 / (1 + np.exp(-x.astype("float64")))).astype(x.dtype)}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
          "Pow": np.power, "MatMul": np.matmul, "Reshape": reshape, "Pad": pad}


def compute(node, values: list, attributes: dict):
    kind = node.op_type
    if kind in UNARY:
        return UNARY[kind](*values)
    if kind in BINARY:
        return BINARY[kind](*values)
    if kind == "Transpose":
        return values[0].transpose(attributes["perm"])
    if kind == "Constant":
        return attributes["value"]
    if kind == "ReduceMean":
        keep = bool(attributes.get("keepdims", 1))
        return values[0].mean(tuple(attributes["axes"]), keepdims=keep)
    if kind == "Slice":
        return slice_axes(*values)
    if kind == "Gather":
        return values[0].take(values[1], attributes.get("axis", 0))
    if kind == "Concat":
        return np.concatenate(values, attributes["axis"])
    if kind == "Softmax":
        return softmax(values[0], attributes.get("axis", -1))
    if kind == "LayerNormalization" and attributes["axis"] == -1:
        return layer_norm(*values, attributes["epsilon"])
    if kind == "Gemm" and attributes == {"transB": 1}:
        return values[0] @ values[1].T + (values[2] if len(values) == 3 else 0)
    if kind == "Conv" and set(attributes.get("strides", [1]) + attributes.get("dilations", [1])
                              ) == {1}:
        return conv(*values, attributes["pads"], attributes["group"])
    raise NotImplementedError(f"{kind} {attributes}")


def evaluate(model, inputs: dict) -> dict:
    """The outputs of a model by their names."""
    import onnx
    from onnx import helper, numpy_helper
    graph = model.graph
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    known.update(inputs)
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        for name, value in attributes.items():
            if isinstance(value, onnx.TensorProto):
                attributes[name] = numpy_helper.to_array(value)
        known[node.output[0]] = compute(node, [known[n] for n in node.input], attributes)
    return {output.name: known[output.name] for output in graph.output}


def run(path: str, u: np.ndarray) -> np.ndarray:
    """The output of a model of one input and one output."""
    import onnx
    model = onnx.load(path)
    onnx.checker.check_model(model)
    constants = {t.name for t in model.graph.initializer}
    name = next(i.name for i in model.graph.input if i.name not in constants)
    return evaluate(model, {name: u})[model.graph.output[0].name]
