/* ssm2d curves - draws how a run went: losses and accuracies over its epochs. */
#include "command.h"
#include "draw/canvas.h"
#include "train/metrics.h"
#include "train/run_folder.h"

#include <stdio.h>

typedef struct values {
    const char *run, *output;
    int no_title;
} values;

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "picture to write: .png, .svg or .pdf",
     .value = "FILE", .letter = 'o', .required = 1},
    {"no-title", OPTION_FLAG, offsetof(values, no_title),
     "leave out the title, for a figure with a caption of its own"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    return canvas_check(((const values *)v)->output, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    char settings_path[RUN_PATH], path[RUN_PATH], title[256];
    train_settings s;
    metrics *m = NULL;
    ssm2d_status status = run_path(o->run, RUN_TRAIN, settings_path, error);
    if (!status) status = run_path(o->run, RUN_METRICS, path, error);
    if (!status) status = train_settings_default(&s, error);
    if (!status) status = train_settings_read(context, settings_path, 0, &s, error);
    if (!status) status = metrics_read(context, path, &m, error);
    if (status) return status;
    snprintf(title, sizeof title, "%s with mixer %s on %.120s", s.model.model->name,
             s.model.mixer.kind->name, s.options.data);
    status =
        metrics_draw(m, o->output, o->no_title ? NULL : title, train_epochs(&s.options), error);
    metrics_close(m);
    return status;
}

const command command_curves = {
    "curves",
    "draw losses and accuracies of a run over its epochs",
    "Draws the loss and the accuracy of a run over its epochs, in training and on the test images, "
    "from its metrics.jsonl. The run may still be training; it draws the same picture itself, as "
    "curves.svg, after each epoch.",
    options,
    check_values,
    run,
    0};
