#include "case.h"

#include "case_file.h"
#include "io/npy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int each_case(const char *kind, void (*visit)(const char *folder, void *arg), void *arg)
{
    struct dirent **list;
    int count = scandir(GOLDEN, &list, NULL, alphasort), visited = 0;
    for (int i = 0; i < count; i++) {
        if (strchr(list[i]->d_name, '.') == NULL /* skips README.md, . and .. */
            && strcmp(case_file_read(list[i]->d_name).kind, kind) == 0) {
            visited++;
            visit(list[i]->d_name, arg);
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
    const case_file file = case_file_read(folder);
    golden_case c;
    problem *p = &c.problem;
    rng none = rng_seed(0);
    *p = problem_make(file.config, (size_t)file.batch, (size_t)file.rows, (size_t)file.cols, &none);
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
    for (int i = 0; param_get(&p->config, i, &q); i++, used += 2) {
        /* the golden arrays' name for D */
        const char *name = strcmp(q.name, "D") == 0 ? "omega" : q.name;
        char gradient[64];
        snprintf(gradient, sizeof gradient, "d%s", name);
        double *x = case_array(context, folder, name, q.rank, q.shape),
               *dx = case_array(context, folder, gradient, q.rank, q.shape);
        memcpy(p->params + q.offset, x, q.count * sizeof *x);
        memcpy(c.dparams + q.offset, dx, q.count * sizeof *dx);
        free(x);
        free(dx);
    }
    if (file.arrays != used)
        fail_msg("%s lists %d arrays, the layer's parameter table accounts for %d", folder,
                 file.arrays, used);
    return c;
}

void case_free(golden_case *c)
{
    problem_free(&c->problem);
    free(c->kernel), free(c->y), free(c->dkernel), free(c->du), free(c->dparams);
}
