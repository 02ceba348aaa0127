#include "train/run_images.h"

ssm2d_status run_images_data(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, dataset **data, dataset_split *split,
                             ssm2d_error *error)
{
    const train_options *o = &m->settings.options;
    const split_options parts = train_options_split(o);
    char found[SSM2D_TEXT];
    int splits = 0;
    *data = NULL;
    *split = DATASET_TEST;
    if (!where) {
        run_find_data(folder, o->data, found);
        where = found;
    }
    ssm2d_status status = run_names_data(folder, where, error);
    if (!status) status = dataset_splits(where, &splits, error);
    if (!status && splits == DATASET_HAS(TRAIN)) *split = DATASET_VAL;
    if (!status) status = split_open(context, where, &parts, *split, data, error);
    if (!status) dataset_limit_pixels(*data, (size_t)o->max_pixels);
    return status;
}

loader_options run_loader_options(const run_model *m, const dataset *data)
{
    const train_settings *s = &m->settings;
    const task_shape shape = task_shape_of(&s->model);
    loader_options o = loader_options_default(data);
    o.rows = (size_t)s->model.image[0];
    o.cols = (size_t)s->model.image[1];
    o.channels = s->model.channels;
    o.targets = task_targets(m->data.task, &shape, 0);
    o.norm = m->data.norm;
    o.augment = s->augment;
    o.workers = s->options.workers;
    o.skip_bad = s->options.bad_images != TRAIN_BAD_STOP;
    return o;
}

ssm2d_status run_images_open(ssm2d_context *context, const char *folder, const run_model *m,
                             const char *where, run_images *images, ssm2d_error *error)
{
    *images = (run_images){0};
    ssm2d_status status =
        run_images_data(context, folder, m, where, &images->data, &images->split, error);
    if (!status) status = run_data_matches(&m->data, dataset_about(images->data), error);
    if (status) return status;
    const loader_options o = run_loader_options(m, images->data);
    images->batch = o.batch;
    return loader_create(context, images->data, &o, &images->loader, error);
}

void run_images_close(run_images *images)
{
    loader_destroy(images->loader);
    dataset_close(images->data);
    *images = (run_images){0};
}
