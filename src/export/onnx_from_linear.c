/* onnx_from_linear - linear layers, in float or with 8-bit factors. */
#include "core/context.h"
#include "export/onnx_ops.h"
#include "models/quantized.h"

/* x as it is when it is stored in 8 bits: QuantizeLinear and DequantizeLinear, which runtimes fuse
 * with the product. */
static const char *in_8_bits(onnx_builder *b, const char *x, const quantized_linear *q)
{
    const uint8_t zero = (uint8_t)q->zero;
    const char *scale = onnx_scalar(b, (double)q->scale), *at = onnx_uint8(b, 0, NULL, &zero);
    x = onnx_node(b, "QuantizeLinear", 3, (const char *[]){x, scale, at}, NULL);
    return onnx_node(b, "DequantizeLinear", 3, (const char *[]){x, scale, at}, NULL);
}

/* The weights as integers, [in][out], which a product reads without transposing them, and their
 * scales. */
static const char *weights_in_8_bits(onnx_builder *b, const tensor *w, const quantized_linear *q)
{
    const onnx_attribute axis[] = {{.name = "axis", .kind = ONNX_INT, .integer = 1}, {0}};
    const size_t n = w->shape[0], k = w->shape[1], shape[] = {k, n};
    const float *from = onnx_params(b, w);
    int8_t *rows = onnx_scratch(b, w->count, 1), *columns = onnx_scratch(b, w->count, 1),
           *zeros = onnx_scratch(b, n, 1);
    const char *value = NULL;
    if (from && rows && columns && zeros) {
        quantize_weights(from, n, k, q->weight_scales, rows);
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < k; l++) columns[l * n + i] = rows[i * k + l];
        const char *in[] = {
            onnx_int8(b, w->name, 2, shape, columns),
            onnx_array(b, onnx_text(b, "%s.scale", w->name), 1, &n, q->weight_scales),
            onnx_int8(b, NULL, 1, &n, zeros)};
        value = onnx_node(b, "DequantizeLinear", 3, in, axis);
    }
    mem_free(onnx_context(b), rows);
    mem_free(onnx_context(b), columns);
    mem_free(onnx_context(b), zeros);
    return value;
}

/* W stays as it is in files, [out][in]: runtimes transpose it once. */
const char *onnx_from_linear(onnx_builder *b, const node *n)
{
    const quantized_linear *q = onnx_quantized(b, n->in[1]);
    if (q) {
        const char *product = onnx_join(b, "MatMul", in_8_bits(b, onnx_in(b, n, 0), q),
                                        weights_in_8_bits(b, n->in[1], q));
        return n->in[2] ? onnx_join(b, "Add", product, onnx_in(b, n, 2)) : product;
    }
    const char *in[] = {onnx_in(b, n, 0), onnx_in(b, n, 1), n->in[2] ? onnx_in(b, n, 2) : NULL};
    if (n->in[0]->rank == 2) {
        const onnx_attribute a[] = {{.name = "transB", .kind = ONNX_INT, .integer = 1}, {0}};
        return onnx_node(b, "Gemm", in[2] ? 3 : 2, in, a);
    }
    const char *y = onnx_join(b, "MatMul", in[0], onnx_transpose(b, in[1], ONNX_SHAPE(1, 0)));
    return in[2] ? onnx_join(b, "Add", y, in[2]) : y;
}
