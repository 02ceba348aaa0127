#include "train/options.h"

#include "core/status.h"
#include "optim/optimizer.h"
#include "train/schedule.h"

#include <string.h>

static const char *const train_schedule_names[] = {"cosine", "constant", "linear", NULL};
static const char *const train_schedule_start_names[] = {"warmup", "run", NULL};
static const char *const train_lr_scaled_names[] = {"peak", "all", NULL};
static const char *const train_lr_every_names[] = {"step", "epoch", NULL};
static const char *const train_repeat_names[] = {"passes", "images", NULL};
static const char *const train_bad_images_names[] = {"stop", "skip", "few", NULL};
static const char *const train_switch_names[] = {"false", "true", NULL};
static const char *const train_memory_names[] = {"normal", "low", NULL};
static const char *const train_precision_names[] = {"float32", "bf16", "auto", "bf16-tiles", NULL};
static const char *const train_decay_names[] = {"all", "matrices", "paper", "everything", NULL};
static const char *const train_reduce_names[] = {"ordered", "unordered", NULL};

const ssm2d_field train_fields[] = {
#define OPTION(kind, field, default_value, low, high, names, help)                                 \
    {#field, help, SSM2D_KIND_##kind, offsetof(train_options, field), low, high, default_value,    \
     names,  NULL},
#include "train/options.def"
#undef OPTION
    {0}};

void train_options_default(train_options *options)
{
    memset(options, 0, sizeof *options);
    for (const ssm2d_field *f = train_fields; f->name; f++) field_set_default(f, options);
}

ssm2d_status train_options_set(train_options *options, const char *field, const char *text,
                               ssm2d_error *error)
{
    const ssm2d_field *f = field_find(train_fields, field);
    if (!f) return fail(error, SSM2D_ERROR_ARGUMENT, "there is no setting %.40s", field);
    return field_parse((field_source){.where = FIELD_OPTION}, f, text, options, error);
}

train_rates train_learning_rates(const train_options *o)
{
    const double scale = o->lr_batch ? (double)o->batch / o->lr_batch : 1;
    const double others = o->lr_scaled == TRAIN_LR_SCALED_ALL ? scale : 1;
    return (train_rates){o->lr * scale, o->lr_start * others, o->lr_final * others};
}

long train_epochs(const train_options *o) { return (long)o->epochs + o->cooldown_epochs; }

double train_smoothing(const train_options *o, const task *t)
{
    double smoothing;
    if (!t->smoothing) return 0;
    memcpy(&smoothing, (const char *)o + field_find(train_fields, t->smoothing)->offset,
           sizeof smoothing);
    return smoothing;
}

void train_options_complete(train_options *o)
{
    if (o->reduce == TRAIN_REDUCE_ORDERED && !o->slices) o->slices = 1;
}

ssm2d_status train_options_check(const train_options *options, ssm2d_error *error)
{
    /* lr is compared before scaling: a small batch may scale it below lr_final, as in timm */
    if (options->lr_start > options->lr && (options->warmup > 0 || options->warmup_epochs > 0))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "lr_start=%g is above lr=%g: the warm-up must rise from lr_start to lr",
                    options->lr_start, options->lr);
    if (options->lr_final > options->lr && options->schedule != SCHEDULE_CONSTANT)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "lr_final=%g is above lr=%g: the %s schedule must fall from lr to lr_final",
                    options->lr_final, options->lr, train_schedule_names[options->schedule]);
    if (options->slices && options->reduce == TRAIN_REDUCE_UNORDERED)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "slices=%d: with reduce=unordered every process has one slice: leave it out",
                    options->slices);
    if (options->slices && options->batch % options->slices)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "slices=%d: batch=%d is not a multiple of it: use one that is", options->slices,
                    options->batch);
    if (options->warmup_epochs > options->epochs)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "warmup_epochs=%g: the run has only %d epochs: use fewer",
                    options->warmup_epochs, options->epochs);
    return SSM2D_OK;
}

split_options train_options_split(const train_options *options)
{
    return (split_options){.val_fraction = options->val_fraction,
                           .train_fraction = options->train_fraction,
                           .seed = (uint64_t)options->split_seed};
}
