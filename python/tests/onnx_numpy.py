"""The operators of ONNX that exported layers and models have, in NumPy: they are simple enough to
be right, and need no runtime."""
import math

import numpy as np


def conv(x, w, bias, attributes):
    """Cross-correlation, as ONNX has it: one channel per group, or all of them in one group."""
    group, stride = attributes["group"], attributes.get("strides", [1, 1])
    assert set(attributes.get("dilations", [1])) == {1} and group in (1, x.shape[1])
    top, left, bottom, right = attributes["pads"]
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows = (x.shape[2] - w.shape[2]) // stride[0] + 1
    cols = (x.shape[3] - w.shape[3]) // stride[1] + 1
    y = np.zeros((x.shape[0], w.shape[0], rows, cols), x.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            part = x[:, :, i::stride[0], j::stride[1]][:, :, :rows, :cols]
            if group == x.shape[1]:
                y += w[None, :, 0, i, j, None, None] * part
            else:
                y += np.einsum("bchw,oc->bohw", part, w[:, :, i, j])
    return y if bias is None else y + bias[None, :, None, None]


def reshape(x, shape):
    """0 keeps an axis, -1 is what remains."""
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def slice_axes(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        x = x[(slice(None),) * (axis % x.ndim) + (slice(start, end, step),)]
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


def batch_norm(x, scale, bias, mean, variance, attributes):
    assert not attributes.get("training_mode")
    side = [1, -1] + [1] * (x.ndim - 2)
    scale, bias, mean, variance = (v.reshape(side) for v in (scale, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + attributes["epsilon"]) * scale + bias


def gemm(a, b, c, attributes):
    a, b = a.T if attributes.get("transA") else a, b.T if attributes.get("transB") else b
    return attributes.get("alpha", 1.0) * (a @ b) + attributes.get("beta", 1.0) * c


def erf(x):
    return np.fromiter(map(math.erf, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)


def divide(a, b):
    return a // b if a.dtype.kind == "i" else a / b  # of sizes, which are not negative


UNARY = {"Sqrt": np.sqrt, "Identity": lambda x: x, "Erf": erf,
         "Sigmoid": lambda x: (1 / (1 + np.exp(-x.astype("float64")))).astype(x.dtype),
         "Shape": lambda x: np.array(x.shape, np.int64)}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": divide,
          "Pow": np.power, "MatMul": np.matmul, "Reshape": reshape, "Pad": pad, "Equal": np.equal,
          "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
          "Expand": lambda x, shape: x * np.ones(shape, x.dtype)}


def quantize(x, scale, zero):
    kept = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, kept.min, kept.max).astype(zero.dtype)


def dequantize(q, scale, zero, axis=1):
    side = [1] * q.ndim
    if scale.ndim:
        side[axis] = -1
    return (q.astype("f4") - zero.reshape(side).astype("f4")) * scale.reshape(side)


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
    if kind == "Split":
        return np.split(values[0], np.cumsum(values[1])[:-1], attributes.get("axis", 0))
    if kind == "Flatten":
        return values[0].reshape(int(np.prod(values[0].shape[:attributes["axis"]])), -1)
    if kind == "Softmax":
        return softmax(values[0], attributes.get("axis", -1))
    if kind == "LayerNormalization" and attributes["axis"] == -1:
        return layer_norm(*values, attributes["epsilon"])
    if kind == "BatchNormalization":
        return batch_norm(*values, attributes)
    if kind == "Gemm":
        return gemm(*values[:2], values[2] if len(values) > 2 else 0, attributes)
    if kind == "QuantizeLinear":
        return quantize(*values)
    if kind == "DequantizeLinear":
        return dequantize(*values, attributes.get("axis", 1))
    if kind == "Conv":
        return conv(*values[:2], values[2] if len(values) > 2 else None, attributes)
    if kind == "Cast":
        return values[0].astype({1: "f4", 7: "i8", 9: "?"}[attributes["to"]])
    if kind == "ConstantOfShape":
        value = attributes.get("value", np.zeros(1, "f4"))
        return np.full(values[0], value[0], value.dtype)
    if kind == "Where":
        return np.where(*values)
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
        made = compute(node, [known[n] for n in node.input], attributes)
        known.update(zip(node.output, made if len(node.output) > 1 else [made]))
    return {output.name: known[output.name] for output in graph.output}


def run(path: str, u: np.ndarray) -> np.ndarray:
    """The output of a model of one input and one output."""
    import onnx
    model = onnx.load(path)
    onnx.checker.check_model(model)
    constants = {t.name for t in model.graph.initializer}
    name = next(i.name for i in model.graph.input if i.name not in constants)
    return evaluate(model, {name: u})[model.graph.output[0].name]
