/* weights_file - weights from and to safetensors files. */
#include "core/context.h"
#include "core/status.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "models/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct loading {
    const weights *w;
    const char *path;
    const safetensors *file;
    weights_options options;
    weights_report report;
    float *params;
} loading;

static const char *shape_text(int rank, const size_t *shape, char *text, size_t size)
{
    return npy_shape_text(rank, shape, text, size);
}

static ssm2d_status check_finite(const loading *l, const weights_array *a, ssm2d_error *error)
{
    const float *x = l->params + a->offset;
    for (size_t i = 0; i < a->count; i++)
        if (!isfinite(x[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s[%zu] is %g: weights must be finite",
                        text_path(l->path), a->name, i, (double)x[i]);
    return SSM2D_OK;
}

/* The grid of a position embedding with other tokens than the model's: what the caller said, else a
 * square. */
static int old_grid_of(const loading *l, const safetensors_array *found, int grid[2])
{
    const size_t patches = found->shape[1] - 1;
    memcpy(grid, l->options.old_grid, 2 * sizeof *grid);
    if (!grid[0]) grid[0] = grid[1] = (int)lround(sqrt((double)patches));
    return grid[0] > 0 && grid[1] > 0 && (size_t)grid[0] * (size_t)grid[1] == patches;
}

static void grid_of(const model_config *c, int grid[2])
{
    grid[0] = c->image[0] / c->patch;
    grid[1] = c->image[1] / c->patch;
}

/* Whether pos_embed has to be interpolated; a grid of as many patches but other sides counts only
 * when the caller said so. */
static int other_grid(const loading *l, const weights_array *a, const safetensors_array *found)
{
    int grid[2];
    grid_of(&l->w->config, grid);
    if (strcmp(a->name, "pos_embed") || found->rank != 3 || found->shape[0] != 1
        || found->shape[1] < 2 || found->shape[2] != a->shape[2])
        return 0;
    return found->shape[1] != a->shape[1]
           || (l->options.old_grid[0]
               && (l->options.old_grid[0] != grid[0] || l->options.old_grid[1] != grid[1]));
}

static ssm2d_status load_resized(loading *l, const weights_array *a, const safetensors_array *found,
                                 ssm2d_error *error)
{
    int grid[2];
    char one[64];
    grid_of(&l->w->config, grid);
    if (!old_grid_of(l, found, l->report.old_grid))
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "%s: pos_embed has %s, which is no grid that is known: the model needs %d x %d patches",
            text_path(l->path), shape_text(found->rank, found->shape, one, sizeof one), grid[0],
            grid[1]);
    float *old = mem_alloc(l->w->context, found->count * sizeof *old);
    if (!old)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for pos_embed", text_path(l->path));
    ssm2d_status status = safetensors_read_float(l->file, found, old, error);
    if (!status)
        pos_embed_resize(old, l->report.old_grid, l->params + a->offset, grid, a->shape[2]);
    l->report.resized = 1;
    mem_free(l->w->context, old);
    return status;
}

static int same_shape(const weights_array *a, const safetensors_array *found)
{
    int same = a->rank == found->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->shape[i] == found->shape[i];
    return same;
}

/* A head that fits the model but for its classes. */
static int other_head(const weights_array *a, const safetensors_array *found)
{
    if (a->part != WEIGHTS_HEAD || a->rank != found->rank || a->shape[0] == found->shape[0])
        return 0;
    return a->rank == 1 || a->shape[1] == found->shape[1];
}

static ssm2d_status load_array(loading *l, const weights_array *a, ssm2d_error *error)
{
    char one[64], two[64];
    const safetensors_array *found = safetensors_find(l->file, a->name);
    if (!found && a->part == WEIGHTS_MIXERS) {
        l->report.new_mixer_arrays++;
        return SSM2D_OK;
    }
    if (!found && a->part == WEIGHTS_HEAD && l->options.new_head) {
        l->report.new_head = 1;
        return SSM2D_OK;
    }
    if (!found)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the array %s is missing", text_path(l->path),
                    a->name);
    ssm2d_status status;
    if (other_grid(l, a, found)) {
        status = load_resized(l, a, found, error);
    } else if (same_shape(a, found)) {
        status = safetensors_read_float(l->file, found, l->params + a->offset, error);
    } else if (other_head(a, found)) {
        if (!l->options.new_head)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s is for %zu classes, the model has %zu",
                        text_path(l->path), a->name, found->shape[0], a->shape[0]);
        l->report.new_head = 1;
        return SSM2D_OK;
    } else {
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s has the shape %s, the model needs %s",
                    text_path(l->path), a->name,
                    shape_text(found->rank, found->shape, one, sizeof one),
                    shape_text(a->rank, a->shape, two, sizeof two));
    }
    return status ? status : check_finite(l, a, error);
}

/* All of a mixer or nothing: half of one would be neither the file's nor ours. */
static ssm2d_status check_mixers(const loading *l, ssm2d_error *error)
{
    int mixers = 0;
    const char *first = NULL;
    for (int i = 0; i < l->w->count; i++) {
        const weights_array *a = &l->w->arrays[i];
        mixers += a->part == WEIGHTS_MIXERS;
        if (a->part == WEIGHTS_MIXERS && !first && !safetensors_find(l->file, a->name))
            first = a->name;
    }
    if (l->report.new_mixer_arrays && l->report.new_mixer_arrays != mixers)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: the array %s is missing, other arrays of mixers are there",
                    text_path(l->path), first);
    return SSM2D_OK;
}

/* The setting that makes the difference, when it is plain which. */
static const char *hint_for(const loading *l, const char *name)
{
    if (strstr(name, ".mixer."))
        return l->w->config.mixer.kind == &mixer_none ? ": it was made with a mixer"
                                                      : ": its mixer has other settings";
    if (!strcmp(name, "pos_embed")) return ": it was made with pos_embed=true";
    if (strstr(name, "qkv.bias")) return ": it was made with qkv_bias=true";
    if (strstr(name, "dist")) return ": it is a distilled model's, which there is not yet";
    return "";
}

static ssm2d_status check_extra(const loading *l, ssm2d_error *error)
{
    char shown[64];
    for (size_t i = 0; i < safetensors_count(l->file); i++) {
        const char *name = safetensors_get(l->file, i)->name;
        if (!weights_find(l->w, name))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: has the array %s, which the model does not have%s", text_path(l->path),
                        text_show(name, strlen(name), shown, sizeof shown), hint_for(l, name));
    }
    return SSM2D_OK;
}

/* What files of ours say in their metadata. */
static const char grid_note[] = "grid";

static void read_grid(loading *l)
{
    const char *text = safetensors_metadata(l->file, grid_note);
    const safetensors_array *pos = safetensors_find(l->file, "pos_embed");
    int grid[2], end = 0;
    if (l->options.old_grid[0] || !text || !pos || pos->rank != 3) return;
    if (sscanf(text, "%5dx%5d%n", &grid[0], &grid[1], &end) != 2 || text[end] || grid[0] < 1
        || grid[1] < 1)
        return;
    if ((size_t)grid[0] * (size_t)grid[1] + 1 == pos->shape[1])
        memcpy(l->options.old_grid, grid, sizeof grid);
}

static ssm2d_status check_kind(const loading *l, ssm2d_error *error)
{
    const char *format = safetensors_metadata(l->file, "format");
    if (!format || strncmp(format, "ssm2d checkpoint", 16)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: is a checkpoint, for --resume: use the model.safetensors beside it",
                text_path(l->path));
}

ssm2d_status weights_load(const weights *w, const char *path, const weights_options *options,
                          float *params, weights_report *report, ssm2d_error *error)
{
    safetensors *file;
    loading l = {.w = w, .path = path, .params = params};
    if (options) l.options = *options;
    int parts = 0; /* to be initialised */
    ssm2d_status status = safetensors_open(w->context, path, &file, error);
    if (status) return status;
    l.file = file;
    read_grid(&l);
    status = check_kind(&l, error);
    if (!status) status = check_extra(&l, error);
    for (int i = 0; i < w->count && !status; i++) status = load_array(&l, &w->arrays[i], error);
    if (!status) status = check_mixers(&l, error);
    if (l.report.new_mixer_arrays) parts |= WEIGHTS_MIXERS;
    if (l.report.new_head) parts |= WEIGHTS_HEAD;
    if (!status) status = weights_init(w, (weights_part)parts, l.options.seed, params, error);
    if (!status && report) *report = l.report;
    safetensors_close(file);
    return status;
}

ssm2d_status weights_save(const weights *w, const char *path, const float *params,
                          ssm2d_error *error)
{
    char text[32];
    int grid[2];
    grid_of(&w->config, grid);
    snprintf(text, sizeof text, "%dx%d", grid[0], grid[1]);
    /* "pt": what readers of PyTorch weights look for */
    const safetensors_note notes[] = {{"format", "pt"}, {grid_note, text}};
    safetensors_item *items = mem_alloc(w->context, (size_t)w->count * sizeof *items);
    if (!items)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for the names of %d arrays",
                    text_path(path), w->count);
    for (int i = 0; i < w->count; i++) {
        const weights_array *a = &w->arrays[i];
        items[i] = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = params + a->offset};
        memcpy(items[i].shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    }
    ssm2d_status status =
        safetensors_write(w->context, path, (size_t)w->count, items, 2, notes, error);
    mem_free(w->context, items);
    return status;
}

ssm2d_status weights_resize(const weights *from, const float *params, const weights *to, float *out,
                            ssm2d_error *error)
{
    int old_grid[2], grid[2];
    grid_of(&from->config, old_grid);
    grid_of(&to->config, grid);
    for (int i = 0; i < to->count; i++) {
        const weights_array *b = &to->arrays[i], *a = weights_find(from, b->name);
        const int is_pos = !strcmp(b->name, "pos_embed");
        if (!a || from->count != to->count
            || (is_pos ? a->shape[2] != b->shape[2] : a->count != b->count))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s differs between the two models: only the image size may", b->name);
        if (is_pos && (grid[0] != old_grid[0] || grid[1] != old_grid[1]))
            pos_embed_resize(params + a->offset, old_grid, out + b->offset, grid, b->shape[2]);
        else
            memcpy(out + b->offset, params + a->offset, b->count * sizeof *out);
    }
    return SSM2D_OK;
}
