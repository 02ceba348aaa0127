"""The few operators of ONNX that an exported layer has, in NumPy: they are simple enough to be
right, and need no runtime."""
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


def compute(node, values: list, attributes: dict):
    kind = node.op_type
    binary = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
              "Pow": np.power}
    if kind in binary:
        return binary[kind](*values)
    if kind == "Transpose":
        return values[0].transpose(attributes["perm"])
    if kind == "Sqrt":
        return np.sqrt(values[0])
    if kind == "Identity":
        return values[0]
    if kind == "Constant":
        return attributes["value"]
    if kind == "ReduceMean":
        keep = bool(attributes.get("keepdims", 1))
        return values[0].mean(tuple(attributes["axes"]), keepdims=keep)
    if kind == "Conv" and set(attributes["strides"]) == set(attributes["dilations"]) == {1}:
        return conv(*values, attributes["pads"], attributes["group"])
    raise NotImplementedError(kind)


def run(path: str, u: np.ndarray) -> np.ndarray:
    """The output of a model of one input and one output."""
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.load(path)
    onnx.checker.check_model(model)
    graph = model.graph
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    known[next(i.name for i in graph.input if i.name not in known)] = u
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        for name, value in attributes.items():
            if isinstance(value, onnx.TensorProto):
                attributes[name] = numpy_helper.to_array(value)
        known[node.output[0]] = compute(node, [known[n] for n in node.input], attributes)
    return known[graph.output[0].name]
