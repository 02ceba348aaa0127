/* registry - the table of model families, and models by name. */
#include "core/status.h"
#include "core/suggest.h"
#include "io/text.h"
#include "models/model.h"

#include <stdio.h>
#include <string.h>

extern const model_family family_vit, family_swin, family_mega, family_convnext;

static const model_family *const families[] = {&family_vit, &family_swin, &family_mega,
                                               &family_convnext};

enum { FAMILIES = sizeof families / sizeof *families, MAX_MODELS = 64 };

const model *model_any(int i)
{
    for (int f = 0; f < FAMILIES; f++)
        for (const model *m = families[f]->models; m->name; m++)
            if (i-- == 0) return m;
    return NULL;
}

const model *model_at(int i)
{
    const model *m;
    for (int k = 0; (m = model_any(k)); k++)
        if (!m->hidden && i-- == 0) return m;
    return NULL;
}

ssm2d_status model_find(const char *name, const model **found, ssm2d_error *error)
{
    const char *names[MAX_MODELS + 1] = {0};
    char shown[40], list[256] = "";
    const model *m;
    for (int i = 0; (m = model_any(i)) && i < MAX_MODELS; i++) {
        const size_t used = strlen(list);
        *found = m;
        if (!strcmp(name, m->name)) return SSM2D_OK;
        names[i] = m->name;
        snprintf(list + used, sizeof list - used, "%s%s", i ? model_any(i + 1) ? ", " : " or " : "",
                 m->name);
    }
    *found = NULL;
    const char *near = closest_name(name, names);
    text_show(name, strlen(name), shown, sizeof shown);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no model \"%s\": did you mean \"%s\"?",
                    shown, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "there is no model \"%s\": use %s", shown, list);
}

const layer_kind *model_default_mixer(const model *m) { return m->mixer ? m->mixer : &layer_ssm2d; }

tensor *model_build(graph *g, const model_config *c, size_t batch)
{
    const size_t shape[] = {batch, (size_t)c->channels, (size_t)c->image[0], (size_t)c->image[1]};
    const model_family *family = c->model->family;
    tensor *images = graph_input(g, "images", 4, shape);
    if (!c->head) return family->build(g, c, images);
    return c->head(g, c, family->tokens(g, c, images, family->depth(c)));
}
