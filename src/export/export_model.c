#include "export/export_model.h"

#include "core/status.h"

ssm2d_status model_export_available(ssm2d_error *error)
{
    (void)error;
    return SSM2D_OK;
}

ssm2d_status model_export_onnx(ssm2d_context *context, const model_export *what, ssm2d_error *error)
{
    const model_config *c = what->config;
    const model_family *family = c->model->family;
    graph *g = NULL;
    const int depth = family->depth ? family->depth(c) : 0;
    onnx_output outputs[2] = {{"logits", NULL}, {"features", NULL}};
    if (what->features && !family->tokens)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "models of the family %s cannot export tokens",
                    family->name);
    if (what->features < 0 || what->features > depth)
        return fail(error, SSM2D_ERROR_ARGUMENT, "features=%d: the model has blocks 1 to %d",
                    what->features, depth);
    ssm2d_status status = graph_create(context, 0, &g, error);
    if (status) return status;
    /* if the batch is not fixed, any size will do */
    outputs[0].value = model_build(g, c, what->batch ? what->batch : 1);
    /* a second graph from the images; nodes that both have in common are written once */
    if (what->features && !g->status)
        outputs[1].value = family->tokens(g, c, graph_find(g, "images"), what->features);
    onnx_file file = what->file;
    file.name = c->model->name;
    file.outputs = what->features ? 2 : 1;
    file.output = outputs;
    file.any_batch = !what->batch;
    status = onnx_graph_write(context, g, what->params, &file, error);
    graph_destroy(g);
    return status;
}
