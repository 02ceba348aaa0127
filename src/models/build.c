#include "models/build.h"

tensor *model_build(graph *g, const model_config *c, size_t batch)
{
    const size_t shape[] = {batch, (size_t)c->channels, (size_t)c->image[0], (size_t)c->image[1]};
    return c->model->build(g, c, graph_input(g, "images", 4, shape));
}
