/* weights_file - weights from and to safetensors files. */
#include "core/context.h"
#include "core/status.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "models/weights.h"
#include "models/weights_match.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct loading {
    const weights *w;
    const char *path;
    const safetensors *file;
    const safetensors_array **found; /* for each array of the model */
    weights_options options;
    weights_report report;
    float *params;
} loading;

static const safetensors_array *found_for(const loading *l, const param_array *a)
{
    return l->found[a - l->w->arrays];
}

static ssm2d_status check_finite(const loading *l, const param_array *a, ssm2d_error *error)
{
    const float *x = l->params + a->offset;
    for (size_t i = 0; i < a->count; i++)
        if (!isfinite(x[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s[%zu] is %g: weights must be finite",
                        text_path(l->path), a->name, i, (double)x[i]);
        else if (a->spec.nonnegative && x[i] < 0)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s[%zu] is %g: it cannot be negative",
                        text_path(l->path), a->name, i, (double)x[i]);
    return SSM2D_OK;
}

/* ---- arrays that depend on the grid ---------------------------------------------------------- */

/* The cells that an array has rows for, and their axis. */
typedef struct grid_axis {
    int axis, prefix, cells[2];
} grid_axis;

static grid_axis grid_axis_of(const param_spec *spec)
{
    const int rows = grid_rows(spec->grid.shape), cols = grid_cols(spec->grid.shape);
    if (spec->resize == PARAM_RELATIVE) return (grid_axis){0, 0, {2 * rows - 1, 2 * cols - 1}};
    if (spec->resize == PARAM_OFFSETS) return (grid_axis){0, 0, {rows, cols}};
    return (grid_axis){spec->rank - 2, spec->grid.first, {rows, cols}};
}

/* Whether the array has the model's shape except for its grid, which has two axes. */
static int fits_except_grid(const param_array *a, const safetensors_array *found)
{
    const grid_axis g = grid_axis_of(&a->spec);
    int same =
        a->spec.resize != PARAM_KEEP && a->spec.grid.shape.axes == 2 && a->rank == found->rank;
    for (int i = 0; same && i < a->rank; i++) same = i == g.axis || a->shape[i] == found->shape[i];
    return same && found->shape[g.axis] > (size_t)g.prefix;
}

/* "7x13" */
static int parse_cells(const char *text, int cells[2])
{
    int end = 0;
    return text && sscanf(text, "%5dx%5d%n", &cells[0], &cells[1], &end) == 2 && !text[end]
           && cells[0] > 0 && cells[1] > 0;
}

/* The cells of an array in the file as the caller or the file states them; returns 0 if neither
 * does. */
static int stated_cells(const loading *l, const param_array *a, int cells[2])
{
    if (a->spec.resize == PARAM_RELATIVE)
        return parse_cells(safetensors_metadata(l->file, a->name), cells);
    memcpy(cells, l->options.old_grid, sizeof l->options.old_grid);
    return cells[0] != 0;
}

/* Whether the array depends on the grid of tokens, which files state. */
static int has_grid(const param_array *a)
{
    return a->spec.resize == PARAM_GRID || a->spec.resize == PARAM_OFFSETS;
}

/* Whether the array has to be interpolated. A grid with as many cells but other sides counts only
 * if the caller or the file states it. */
static int other_grid(const loading *l, const param_array *a, const safetensors_array *found)
{
    int stated[2];
    if (!fits_except_grid(a, found)) return 0;
    const grid_axis g = grid_axis_of(&a->spec);
    return found->shape[g.axis] != a->shape[g.axis]
           || (stated_cells(l, a, stated) && memcmp(stated, g.cells, sizeof stated));
}

/* Whether an array with this many rows fits a grid; a table of offsets may cover more tokens. */
static int holds_grid(const param_array *a, size_t count, const int cells[2])
{
    const size_t all = (size_t)cells[0] * (size_t)cells[1];
    if (cells[0] < 1 || cells[1] < 1) return 0;
    return a->spec.resize == PARAM_OFFSETS ? count % 2 && all <= (count + 1) / 2 : all == count;
}

/* The cells of the array in the file: those stated by the caller or the file, else a square. */
static int old_cells(const loading *l, const param_array *a, const safetensors_array *found,
                     int cells[2])
{
    const grid_axis g = grid_axis_of(&a->spec);
    const size_t count = found->shape[g.axis] - (size_t)g.prefix;
    const size_t all = a->spec.resize == PARAM_OFFSETS ? (count + 1) / 2 : count;
    if (!stated_cells(l, a, cells)) cells[0] = cells[1] = (int)sqrt((double)all);
    return holds_grid(a, count, cells);
}

/* Interpolates an array of another grid to the model's. */
static void resize_array(const param_array *a, const float *old, size_t old_count,
                         const int old_grid[2], float *out)
{
    const grid_axis g = grid_axis_of(&a->spec);
    if (a->spec.resize == PARAM_OFFSETS)
        offsets_resize(old, (int)((old_count + 1) / 2), old_grid, out, (int)((a->count + 1) / 2),
                       g.cells);
    else
        grid_resize(old, old_grid, out, g.cells, g.prefix, a->count / a->shape[g.axis]);
}

static ssm2d_status load_resized(loading *l, const param_array *a, const safetensors_array *found,
                                 ssm2d_error *error)
{
    const grid_axis g = grid_axis_of(&a->spec);
    int cells[2];
    char one[64];
    if (!old_cells(l, a, found, cells))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: %s has the shape %s, which is not a known grid: the model needs %d x %d "
                    "%s",
                    text_path(l->path), a->name,
                    npy_shape_text(found->rank, found->shape, one, sizeof one), g.cells[0],
                    g.cells[1], a->spec.resize == PARAM_RELATIVE ? "offsets" : "patches");
    float *old = mem_alloc(l->w->context, found->count * sizeof *old);
    if (!old) return fail_memory(error, "%s: %s", text_path(l->path), a->name);
    ssm2d_status status = safetensors_read_float(l->file, found, old, error);
    if (!status) resize_array(a, old, found->count, cells, l->params + a->offset);
    if (a->spec.resize == PARAM_RELATIVE) {
        l->report.resized_tables++;
    } else if (!l->report.resized++) {
        memcpy(l->report.old_grid, cells, sizeof cells);
        memcpy(l->report.grid, g.cells, sizeof g.cells);
    }
    mem_free(l->w->context, old);
    return status;
}

/* ---- one array ------------------------------------------------------------------------------- */

static int same_shape(const param_array *a, const safetensors_array *found)
{
    int same = a->rank == found->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->shape[i] == found->shape[i];
    return same;
}

/* Whether it is a head that fits the model except for its number of outputs. */
static int other_head(const param_array *a, const safetensors_array *found)
{
    if (a->spec.part != PARAM_HEAD || a->rank != found->rank || a->shape[0] == found->shape[0])
        return 0;
    return a->rank == 1 || a->shape[1] == found->shape[1];
}

static ssm2d_status load_array(loading *l, const param_array *a, ssm2d_error *error)
{
    char one[64], two[64];
    const safetensors_array *found = found_for(l, a);
    if (!found && a->spec.part == PARAM_MIXER) {
        l->report.new_mixer_arrays++;
        return SSM2D_OK;
    }
    if (!found && a->spec.part == PARAM_HEAD && l->options.new_head) {
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
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s is for %zu outputs, the model has %zu",
                        text_path(l->path), a->name, found->shape[0], a->shape[0]);
        l->report.new_head = 1;
        return SSM2D_OK;
    } else {
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s has the shape %s, the model needs %s",
                    text_path(l->path), a->name,
                    npy_shape_text(found->rank, found->shape, one, sizeof one),
                    npy_shape_text(a->rank, a->shape, two, sizeof two));
    }
    return status ? status : check_finite(l, a, error);
}

/* Refuses a file that has only some arrays of mixers: the result would be neither the file's mixer
 * nor a new one. */
static ssm2d_status check_mixers(const loading *l, ssm2d_error *error)
{
    int mixers = 0;
    const char *first = NULL;
    for (int i = 0; i < l->w->count; i++) {
        const param_array *a = &l->w->arrays[i];
        mixers += a->spec.part == PARAM_MIXER;
        if (a->spec.part == PARAM_MIXER && !first && !found_for(l, a)) first = a->name;
    }
    if (l->report.new_mixer_arrays && l->report.new_mixer_arrays != mixers)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: the array %s is missing, but other arrays of mixers are present",
                    text_path(l->path), first);
    return SSM2D_OK;
}

/* The metadata of our files: the grid of the first array that depends on one, and, under the names
 * of tables of relative positions that are not square, their sides. */
static const char grid_note[] = "grid";

static const param_array *first_with_grid(const weights *w)
{
    for (int i = 0; i < w->count; i++)
        if (has_grid(&w->arrays[i])) return &w->arrays[i];
    return NULL;
}

static void read_grid(loading *l)
{
    const param_array *a = first_with_grid(l->w);
    const safetensors_array *found = a ? found_for(l, a) : NULL;
    int grid[2];
    if (l->options.old_grid[0] || !found || !fits_except_grid(a, found)
        || !parse_cells(safetensors_metadata(l->file, grid_note), grid))
        return;
    const grid_axis g = grid_axis_of(&a->spec);
    if (holds_grid(a, found->shape[g.axis] - (size_t)g.prefix, grid))
        memcpy(l->options.old_grid, grid, sizeof grid);
}

static ssm2d_status check_kind(const loading *l, ssm2d_error *error)
{
    const char *format = safetensors_metadata(l->file, "format");
    if (!format || strncmp(format, "ssm2d checkpoint", 16)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: is a checkpoint, for --resume: use model.safetensors in the same folder",
                text_path(l->path));
}

static ssm2d_status load_arrays(loading *l, ssm2d_error *error)
{
    const weights *w = l->w;
    int parts = 0; /* to be initialised */
    ssm2d_status status = check_kind(l, error);
    if (!status) status = weights_match(w, l->path, l->file, l->options.quantized, l->found, error);
    if (status) return status;
    read_grid(l);
    for (int i = 0; i < w->count && !status; i++) status = load_array(l, &w->arrays[i], error);
    if (!status) status = check_mixers(l, error);
    if (l->report.new_mixer_arrays) parts |= PARAM_MIXER;
    if (l->report.new_head) parts |= PARAM_HEAD;
    return status ? status : weights_init(w, parts, l->options.seed, l->params, error);
}

ssm2d_status weights_read(const weights *w, const char *path, const safetensors *file,
                          const weights_options *options, float *params, weights_report *report,
                          ssm2d_error *error)
{
    loading l = {.w = w, .path = path, .file = file, .params = params};
    if (options) l.options = *options;
    l.found = mem_alloc(w->context, (size_t)w->count * sizeof *l.found);
    const ssm2d_status status =
        l.found ? load_arrays(&l, error)
                : fail_memory(error, "%s: names of %d arrays", text_path(path), w->count);
    if (!status && report) *report = l.report;
    mem_free(w->context, l.found);
    return status;
}

ssm2d_status weights_load(const weights *w, const char *path, const weights_options *options,
                          float *params, weights_report *report, ssm2d_error *error)
{
    safetensors *file;
    ssm2d_status status = safetensors_open(w->context, path, &file, error);
    if (status) return status;
    status = weights_read(w, path, file, options, params, report, error);
    safetensors_close(file);
    return status;
}

size_t weights_notes(const weights *w, safetensors_note *notes, char (*texts)[WEIGHTS_NOTE])
{
    const param_array *first = first_with_grid(w);
    size_t count = 0;
    notes[count++] =
        (safetensors_note){"format", "pt"}; /* expected by readers of PyTorch weights */
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        const grid_axis g = grid_axis_of(&a->spec);
        const int is_table = a->spec.resize == PARAM_RELATIVE && g.cells[0] != g.cells[1];
        if (a != first && !is_table) continue;
        snprintf(texts[count], WEIGHTS_NOTE, "%dx%d", g.cells[0], g.cells[1]);
        notes[count] = (safetensors_note){is_table ? a->name : grid_note, texts[count]};
        count++;
    }
    return count;
}

static ssm2d_status save(const weights *w, const char *path, const float *values, int with_state,
                         ssm2d_error *error)
{
    const size_t arrays = (size_t)w->count;
    size_t count = 0;
    safetensors_item *items = mem_alloc(w->context, arrays * sizeof *items);
    safetensors_note *notes = mem_alloc(w->context, (arrays + 1) * sizeof *notes);
    char(*texts)[WEIGHTS_NOTE] = mem_alloc(w->context, (arrays + 1) * sizeof *texts);
    ssm2d_status status = SSM2D_OK;
    if (!items || !notes || !texts)
        status = fail_memory(error, "%s: names of %d arrays", text_path(path), w->count);
    for (int i = 0; i < w->count && !status; i++) {
        const param_array *a = &w->arrays[i];
        if (!with_state && a->spec.group == PARAM_STATE) continue;
        items[count] = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = values + a->offset};
        memcpy(items[count++].shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    }
    if (!status)
        status = safetensors_write(w->context, path, count, items, weights_notes(w, notes, texts),
                                   notes, error);
    mem_free(w->context, items);
    mem_free(w->context, notes);
    mem_free(w->context, texts);
    return status;
}

ssm2d_status weights_save(const weights *w, const char *path, const float *params,
                          ssm2d_error *error)
{
    return save(w, path, params, 1, error);
}

ssm2d_status weights_save_gradients(const weights *w, const char *path, const float *grads,
                                    ssm2d_error *error)
{
    return save(w, path, grads, 0, error);
}

ssm2d_status weights_resize(const weights *from, const float *params, const weights *to, float *out,
                            ssm2d_error *error)
{
    for (int i = 0; i < to->count; i++) {
        const param_array *b = &to->arrays[i], *a = weights_find(from, b->name);
        int same =
            a && from->count == to->count && a->rank == b->rank && a->spec.resize == b->spec.resize;
        const grid_axis new = grid_axis_of(&b->spec);
        for (int k = 0; same && k < b->rank; k++)
            same = (b->spec.resize != PARAM_KEEP && k == new.axis) || a->shape[k] == b->shape[k];
        if (!same)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s differs between the two models: only the image size may", b->name);
        const grid_axis old = grid_axis_of(&a->spec);
        if (b->spec.resize != PARAM_KEEP && memcmp(old.cells, new.cells, sizeof old.cells))
            resize_array(b, params + a->offset, a->count, old.cells, out + b->offset);
        else
            memcpy(out + b->offset, params + a->offset, b->count * sizeof *out);
    }
    return SSM2D_OK;
}
