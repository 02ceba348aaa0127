#include "kernels.h"

#include "core/context.h"
#include "core/status.h"
#include "draw/heatmap.h"
#include "io/text.h"
#include "tools/progress.h"
#include "train/run_receptive_field.h"

#include <stdio.h>
#include <string.h>

enum { TITLE = 160 };

/* One run's part of the figure. */
typedef struct field {
    run_receptive_field computed;
    char title[TITLE];
} field;

static ssm2d_status field_of(ssm2d_context *context, const kernels_field *what, const char *folder,
                             field *out, ssm2d_error *error)
{
    run_model m;
    char mixed[TITLE];
    ssm2d_status status = run_model_open(context, folder, what->weights, NULL, &m, error);
    if (status) return status;
    const model_config *c = &m.settings.model;
    progress p = progress_start("ssm2d kernels: image", 1);
    const run_receptive_field_request request = {.folder = folder,
                                                 .m = &m,
                                                 .images = what->images,
                                                 .count = (size_t)what->count,
                                                 .block = what->block,
                                                 .user = &p,
                                                 .progress = progress_hook};
    status = run_receptive_field_compute(context, &request, &out->computed, error);
    progress_end(&p);
    if (!status) {
        const run_receptive_field *f = &out->computed;
        char half[QUARTILES_TEXT], most[QUARTILES_TEXT], all[QUARTILES_TEXT];
        mixer_config_text(&c->mixer, mixed, sizeof mixed);
        snprintf(out->title, sizeof out->title, "%s, %s", c->model->name, c->mixer.kind->name);
        text_print(stdout, folder);
        printf(": %s, %s: half of the derivatives' squares are within %s pixels of the centre "
               "token, 90 %% within %s, 99 %% within %s",
               c->model->name, mixed, quartiles_text(f->radius[0], f->images, half),
               quartiles_text(f->radius[1], f->images, most),
               quartiles_text(f->radius[2], f->images, all));
        if (f->images > 1) printf("; medians over %zu images", f->images);
        printf("\n");
    }
    run_model_close(&m);
    return status;
}

static heat_mark mark_of(const run_receptive_field *f)
{
    return (heat_mark){f->centre.row, f->centre.col, f->centre.rows, f->centre.cols};
}

static ssm2d_status draw(ssm2d_context *context, const kernels_field *what, const field *fields,
                         ssm2d_error *error)
{
    const int count = what->runs.count;
    char note[512];
    static const char *const no_row[] = {""};
    heat_panel *panels = mem_alloc(context, (size_t)count * sizeof *panels);
    const char **titles = mem_alloc(context, (size_t)count * sizeof *titles);
    ssm2d_status status = panels && titles ? SSM2D_OK : fail_memory(error, "picture");
    for (int i = 0; i < count && !status; i++) {
        titles[i] = what->titles ? what->titles[i] : fields[i].title;
        panels[i] = (heat_panel){.values = fields[i].computed.values,
                                 .rows = fields[i].computed.rows,
                                 .cols = fields[i].computed.cols,
                                 .map = COLOUR_SEQUENTIAL,
                                 .logarithmic = 1,
                                 .mark = mark_of(&fields[i].computed),
                                 .row_label = "row",
                                 .col_label = "column"};
        if (fields[i].computed.rows != fields[0].computed.rows
            || fields[i].computed.cols != fields[0].computed.cols)
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: its images are %d x %d, those of %s %d x %d: draw them one by one",
                          text_path(what->runs.words[i]), fields[i].computed.rows,
                          fields[i].computed.cols, text_path(what->runs.words[0]),
                          fields[0].computed.rows, fields[0].computed.cols);
    }
    snprintf(note, sizeof note,
             "Derivatives of the centre token's output by each pixel: the root of their mean "
             "square over %zu image%s, each image's squares adding up to 1; as a share of the "
             "largest, on a logarithmic scale. The frame is the centre token.",
             fields[0].computed.images, fields[0].computed.images == 1 ? "" : "s");
    const heat_figure figure = {.title = what->no_title ? NULL : "Effective receptive fields",
                                .note = what->no_title ? NULL : note,
                                .grid_rows = 1,
                                .grid_cols = count,
                                .panels = panels,
                                .row_titles = no_row,
                                .col_titles = titles,
                                .shared_scale = 1};
    for (int i = 0; what->outputs[i] && !status; i++)
        status = heatmap_draw(context, what->outputs[i], &figure, error);
    mem_free(context, panels);
    mem_free(context, titles);
    return status;
}

ssm2d_status kernels_field_draw(ssm2d_context *context, const kernels_field *what,
                                ssm2d_error *error)
{
    const int count = what->runs.count;
    field *fields = mem_alloc(context, (size_t)count * sizeof *fields);
    if (!fields) return fail_memory(error, "receptive fields");
    memset(fields, 0, (size_t)count * sizeof *fields);
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < count && !status; i++)
        status = field_of(context, what, what->runs.words[i], &fields[i], error);
    if (!status) status = draw(context, what, fields, error);
    for (int i = 0; i < count; i++) run_receptive_field_destroy(context, &fields[i].computed);
    mem_free(context, fields);
    return status;
}
