#include "case.h"

#include "io/json.h"
#include "io/layer_config.h"
#include "io/npy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GOLDEN is the folder, from the build. */
static cJSON *read_json(const char *folder, char *path, size_t size)
{
    cJSON *root;
    ssm2d_error error;
    ssm2d_context *context = context_of(1);
    snprintf(path, size, GOLDEN "/%s/case.json", folder);
    ssm2d_status status = json_read(context, path, &root, &error);
    ssm2d_context_destroy(context);
    if (status) fail_msg("%s", error.line);
    return root;
}

int each_case(const char *kind, void (*visit)(const char *folder, void *arg), void *arg)
{
    struct dirent **list;
    int count = scandir(GOLDEN, &list, NULL, alphasort), visited = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        if (strchr(list[i]->d_name, '.') == NULL) { /* README.md, . and .. have one */
            cJSON *root = read_json(list[i]->d_name, path, sizeof path);
            const cJSON *is = cJSON_GetObjectItemCaseSensitive(root, "kind");
            if (cJSON_IsString(is) && strcmp(is->valuestring, kind) == 0) {
                visited++;
                visit(list[i]->d_name, arg);
            }
            cJSON_Delete(root);
        }
        free(list[i]);
    }
    if (count >= 0) free(list);
    return visited;
}

double *case_array(ssm2d_context *context, const char *folder, const char *name, int rank,
                   const size_t *shape)
{
    char path[512];
    npy_array array;
    ssm2d_error error;
    snprintf(path, sizeof path, GOLDEN "/%s/%s.npy", folder, name);
    if (npy_read(context, path, &array, &error)) fail_msg("%s", error.line);
    int same = array.rank == rank;
    for (int i = 0; same && i < rank; i++) same = array.shape[i] == shape[i];
    if (!same) fail_msg("%s has another shape than expected", path);
    double *x = doubles(array.count);
    npy_to_double(&array, x);
    npy_free(context, &array);
    return x;
}

/* u, dy, y and du are stored channel-first. */
static double *channel_last(ssm2d_context *context, const char *folder, const char *name,
                            const problem *p)
{
    size_t H = (size_t)p->config.channels, cells = p->rows * p->cols,
           shape[] = {p->batch, H, p->rows, p->cols};
    double *from = case_array(context, folder, name, 4, shape), *to = doubles(p->cells);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t c = 0; c < H; c++)
            for (size_t i = 0; i < cells; i++)
                to[(b * cells + i) * H + c] = from[(b * H + c) * cells + i];
    free(from);
    return to;
}

golden_case case_read(ssm2d_context *context, const char *folder)
{
    static const char *const others[] = {"kind", "name", "seed",   "batch",
                                         "L1",   "L2",   "arrays", NULL};
    char path[512];
    cJSON *root = read_json(folder, path, sizeof path);
    ssm2d_error error;
    golden_case c = {.problem.config = ssm2d_config_default()};
    problem *p = &c.problem;
    int batch = 0, rows = 0, cols = 0;
    if (layer_config_from_json(path, root, others, &p->config, &error)
        || json_get_int(path, root, "batch", JSON_REQUIRED, 1, 1 << 20, &batch, &error)
        || json_get_int(path, root, "L1", JSON_REQUIRED, 1, 1 << 20, &rows, &error)
        || json_get_int(path, root, "L2", JSON_REQUIRED, 1, 1 << 20, &cols, &error))
        fail_msg("%s", error.line);
    rng none = rng_seed(0);
    *p = problem_make(p->config, (size_t)batch, (size_t)rows, (size_t)cols, &none);
    free(p->u);
    free(p->dy);
    p->u = channel_last(context, folder, "u", p);
    p->dy = channel_last(context, folder, "dy", p);
    c.y = channel_last(context, folder, "y", p);
    c.du = channel_last(context, folder, "du", p);
    size_t shape[] = {(size_t)p->config.directions, (size_t)p->config.channels, p->rows, p->cols};
    c.kernel = case_array(context, folder, "K", 4, shape);
    c.dkernel = case_array(context, folder, "dK", 4, shape);

    int used = 6; /* u, dy, y, du, K, dK, then two for each parameter */
    c.dparams = doubles(p->total);
    ssm2d_param q;
    for (int i = 0; ssm2d_param_get(&p->config, i, &q); i++, used += 2) {
        /* the golden arrays' word for D */
        const char *name = strcmp(q.name, "D") == 0 ? "omega" : q.name;
        char gradient[64];
        snprintf(gradient, sizeof gradient, "d%s", name);
        double *x = case_array(context, folder, name, q.rank, q.shape),
               *dx = case_array(context, folder, gradient, q.rank, q.shape);
        memcpy(p->params + q.offset, x, q.size * sizeof *x);
        memcpy(c.dparams + q.offset, dx, q.size * sizeof *dx);
        free(x);
        free(dx);
    }
    int stored = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "arrays"));
    cJSON_Delete(root);
    if (stored != used)
        fail_msg("%s lists %d arrays, the layer's parameter table accounts for %d", path, stored,
                 used);
    return c;
}

void case_free(golden_case *c)
{
    problem_free(&c->problem);
    free(c->kernel), free(c->y), free(c->dkernel), free(c->du), free(c->dparams);
}
