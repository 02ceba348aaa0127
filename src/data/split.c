#include "data/split.h"

#include "core/context.h"
#include "core/status.h"
#include "data/keyed_rng.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

const char *split_choice_name(split_choice choice)
{
    static const char *const names[] = {"test", "validation", "held-out"};
    return names[choice];
}

/* ---- choosing images ------------------------------------------------------------------------- */

enum { REST, HELD_OUT, TRAINED };

/* Sums over the labels so far, so that rounding errors do not accumulate. */
typedef struct running {
    double exact;
    size_t rounded;
} running;

typedef struct chooser {
    const dataset_info *info;
    const split_options *options;
    uint8_t *part;     /* [count], one of the above */
    uint32_t *members; /* [count], the images sorted by label */
    size_t *first;     /* [strata + 1], the first member of each label */
    int strata;        /* labels, or 1 with binary labels */
    running held, trained;
} chooser;

/* Sorts the images by label. */
static void gather(const dataset *d, chooser *c)
{
    const int by_label = c->info->labels == LABEL_CLASS;
    for (size_t i = 0; i < c->info->count; i++)
        c->first[(by_label ? dataset_label(d, i) : 0) + 1]++;
    for (int k = 0; k < c->strata; k++) c->first[k + 1] += c->first[k];
    for (size_t i = c->info->count; i-- > 0;) { /* backwards, which keeps the images' order */
        const int k = by_label ? dataset_label(d, i) : 0;
        c->members[--c->first[k + 1]] = (uint32_t)i;
    }
    /* now first[k + 1] is the first member of label k */
    memmove(c->first, c->first + 1, (size_t)c->strata * sizeof *c->first);
    c->first[c->strata] = c->info->count;
}

/* A fraction of count, rounded; at most count. */
static size_t share_of(running *sum, double fraction, size_t count)
{
    sum->exact += fraction * (double)count;
    const size_t now = (size_t)llround(sum->exact) - sum->rounded;
    sum->rounded += now;
    return now < count ? now : count;
}

static void choose_label(chooser *c, int k)
{
    uint32_t *members = c->members + c->first[k];
    const size_t count = c->first[k + 1] - c->first[k];
    const split_options *o = c->options;
    if (!count) return;
    rng r = keyed_rng(o->seed, RNG_SPLIT, (uint64_t)k, 0);
    rng_shuffle(&r, members, count);
    size_t held = share_of(&c->held, o->val_fraction, count);
    if (held == count) held--; /* leave one image to train on */
    size_t trained = share_of(&c->trained, o->train_fraction, count - held);
    if (!trained) trained = 1; /* keep every label */
    for (size_t i = 0; i < held; i++) c->part[members[i]] = HELD_OUT;
    for (size_t i = held; i < held + trained; i++) c->part[members[i]] = TRAINED;
}

/* Makes a data set of the images of a part, in order. */
static ssm2d_status make_part(dataset *d, const chooser *c, int part, dataset **out,
                              ssm2d_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < c->info->count; i++)
        if (c->part[i] == part) c->members[count++] = (uint32_t)i;
    if (!count)
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "val-fraction=%g of %zu images holds out none, because each label keeps an image "
            "for training: use a larger fraction, or more images per label",
            c->options->val_fraction, c->info->count);
    return dataset_subset(d, c->members, count, out, error);
}

/* Divides the training images; train or held may be NULL. */
static ssm2d_status divide(dataset *d, const split_options *o, dataset **train, dataset **held,
                           ssm2d_error *error)
{
    const dataset_info *info = dataset_about(d);
    chooser c = {.info = info, .options = o};
    if (info->count > UINT32_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "the data set has %zu images: at most %u are supported", info->count,
                    UINT32_MAX);
    const ssm2d_context *context = dataset_context(d);
    c.strata = info->labels == LABEL_CLASS ? info->label_count : 1;
    c.part = mem_alloc(context, info->count);
    c.members = mem_alloc(context, info->count * sizeof *c.members);
    c.first = mem_alloc(context, ((size_t)c.strata + 2) * sizeof *c.first);
    ssm2d_status status = SSM2D_OK;
    if (!c.part || !c.members || !c.first)
        status = fail_memory(error, "data: dividing %zu images", info->count);
    if (!status) gather(d, &c);
    for (int k = 0; !status && k < c.strata; k++) choose_label(&c, k);
    if (!status && train) status = make_part(d, &c, TRAINED, train, error);
    if (!status && held) status = make_part(d, &c, HELD_OUT, held, error);
    mem_free(context, c.part);
    mem_free(context, c.members);
    mem_free(context, c.first);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static ssm2d_status check(const split_options *o, ssm2d_error *error)
{
    if (!(o->val_fraction >= 0 && o->val_fraction < 1))
        return fail(error, SSM2D_ERROR_ARGUMENT, "val-fraction=%g: use a number from 0 to below 1",
                    o->val_fraction);
    if (!(o->train_fraction > 0 && o->train_fraction <= 1))
        return fail(error, SSM2D_ERROR_ARGUMENT, "train-fraction=%g: use a number above 0, up to 1",
                    o->train_fraction);
    return SSM2D_OK;
}

static ssm2d_status open_parts(const ssm2d_context *context, const char *where,
                               const split_options *o, dataset **train, dataset **held,
                               ssm2d_error *error)
{
    dataset *all = NULL;
    ssm2d_status status = check(o, error);
    if (!status) status = dataset_open(context, where, DATASET_TRAIN, &all, error);
    if (!status && !held && o->val_fraction <= 0 && o->train_fraction >= 1) {
        *train = all;
        return SSM2D_OK;
    }
    if (!status) status = divide(all, o, train, held, error);
    dataset_close(all);
    return status;
}

ssm2d_status split_open(const ssm2d_context *context, const char *where, const split_options *o,
                        dataset_split split, dataset **out, ssm2d_error *error)
{
    *out = NULL;
    if (split == DATASET_TRAIN) return open_parts(context, where, o, out, NULL, error);
    if (split == DATASET_VAL && o->val_fraction > 0)
        return open_parts(context, where, o, NULL, out, error);
    return dataset_open(context, where, split, out, error);
}

ssm2d_status split_open_training(const ssm2d_context *context, const char *where,
                                 const split_options *o, dataset **train, dataset **choose,
                                 split_choice *choice, ssm2d_error *error)
{
    int splits;
    *train = *choose = NULL;
    *choice = CHOICE_HELD_OUT;
    ssm2d_status status = dataset_splits(where, &splits, error);
    if (status) return status;
    if (o->val_fraction > 0) {
        status = open_parts(context, where, o, train, choose, error);
    } else {
        const int test = !(splits & DATASET_HAS(VAL));
        *choice = test ? CHOICE_TEST : CHOICE_VAL;
        status = open_parts(context, where, o, train, NULL, error);
        if (!status && splits == DATASET_HAS(TRAIN))
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: has no images to test on: hold some out with val-fraction=0.1",
                          text_path(where));
        if (!status)
            status = dataset_open(context, where, test ? DATASET_TEST : DATASET_VAL, choose, error);
    }
    if (!status) return SSM2D_OK;
    dataset_close(*train);
    dataset_close(*choose);
    *train = *choose = NULL;
    return status;
}
