#!/usr/bin/env python3
"""onnx_quantize.py FOLDER NAME - writes FOLDER/NAME-int8-WAY.onnx, in 8 bits, for every way that
ONNX Runtime's own tools have, and prints the names. Run by onnxruntime_vit.py in the root that
debian13.sh makes, which has these tools.

    static      QuantizeLinear and DequantizeLinear around the products with weights, with ranges
                from FOLDER/images.npy; weights by output
    operators   the same with QLinearMatMul
    everything  every operator that can be, attention's products included
    dynamic     ranges found anew in every run (MatMulInteger)"""
import os
import sys

import numpy
import onnx
import onnx.reference  # noqa: F401  before ONNX Runtime, which adds operators of equal names
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_dynamic, quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process


class Images(CalibrationDataReader):
    """The batch as often as it is asked for: shapes in the file are fixed."""

    def __init__(self, images):
        self.left = [{"images": images}]

    def get_next(self):
        return self.left.pop() if self.left else None


def products_with_weights(model) -> list:
    weights = {tensor.name for tensor in model.graph.initializer}
    return [node.name for node in model.graph.node
            if node.op_type == "Gemm" or (node.op_type == "MatMul" and node.input[1] in weights)]


def main() -> None:
    folder, name = sys.argv[1:]
    source, ready = (os.path.join(folder, name + end) for end in (".onnx", "-ready.onnx"))
    quant_pre_process(source, ready, skip_symbolic_shape=True)
    images = numpy.load(os.path.join(folder, "images.npy"))
    linear = products_with_weights(onnx.load(ready))
    types = dict(weight_type=QuantType.QInt8, per_channel=True)
    fixed = dict(types, activation_type=QuantType.QUInt8)
    ways = {
        "static": lambda out: quantize_static(
            ready, out, Images(images), quant_format=QuantFormat.QDQ,
            nodes_to_quantize=linear, **fixed),
        "operators": lambda out: quantize_static(
            ready, out, Images(images), quant_format=QuantFormat.QOperator,
            nodes_to_quantize=linear, **fixed),
        "everything": lambda out: quantize_static(
            ready, out, Images(images), quant_format=QuantFormat.QDQ, **fixed),
        "dynamic": lambda out: quantize_dynamic(ready, out, nodes_to_quantize=linear, **types),
    }
    for way, write in ways.items():
        out = f"{name}-int8-{way}"
        try:
            write(os.path.join(folder, out + ".onnx"))
            print(out, flush=True)
        except Exception as error:  # a way that cannot be written is not tried
            print(f"  {out}: {type(error).__name__}: {error}".split("\n")[0], file=sys.stderr)
    os.unlink(ready)


if __name__ == "__main__":
    main()
