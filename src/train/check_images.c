/* check_images - image files that cannot be read: before a new run, and after each epoch. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"
#include "train/trainer.h"

enum { FEW = 3, PER_CENT = 1 }; /* bad files that bad_images=few skips */

typedef struct checking {
    const run_control *control;
    size_t before, files; /* files of the data sets checked before this one; of all data sets */
} checking;

static int stop(void *user)
{
    const checking *c = user;
    return run_stop_requested(c->control);
}

static void progress(void *user, size_t done)
{
    const checking *c = user;
    if (c->control && c->control->checking)
        c->control->checking(c->control->user, c->before + done, c->files);
}

static ssm2d_status check_own_share(trainer *t, file_check *result, ssm2d_error *error)
{
    const dataset *const data[] = {t->train_data, t->choose_data};
    const size_t max_pixels = (size_t)t->settings.options.max_pixels;
    const char *path = t->control ? t->control->checked : NULL;
    checked_files checked = checked_files_read(t->context, path);
    checking c = {.control = t->control,
                  .files = dataset_about(data[0])->count + dataset_about(data[1])->count};
    const file_check_hooks how = {.user = &c,
                                  .stop = stop,
                                  .progress = progress,
                                  .checked = &checked,
                                  .share = (size_t)t->cluster->rank,
                                  .shares = (size_t)t->cluster->size};
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < 2 && !status && !result->stopped; i++) {
        status = file_check_all(t->context, data[i], max_pixels, &how, result, error);
        c.before += dataset_about(data[i])->count;
    }
    /* if the list cannot be written, the next run checks the files again */
    if (!status) checked_files_write(&checked, path);
    checked_files_free(&checked);
    return status;
}

/* Adds the results of all processes; messages are in the order of the ranks. */
static ssm2d_status sum_results(trainer *t, file_check *result, ssm2d_error *error)
{
    cluster *c = t->cluster;
    if (c->size == 1) return SSM2D_OK;
    file_check *all = mem_alloc(t->context, (size_t)c->size * sizeof *all);
    ssm2d_status status = all ? SSM2D_OK : fail_memory(error, "counting images");
    status = cluster_agree(c, status, error);
    if (!status) status = cluster_gather(c, result, sizeof *result, all, error);
    if (!status) *result = (file_check){0};
    for (int i = 0; i < c->size && !status; i++) {
        for (size_t k = 0; k < min_size(all[i].bad, FILE_CHECK_SHOWN); k++)
            if (result->bad + k < FILE_CHECK_SHOWN)
                result->first[result->bad + k] = all[i].first[k];
        result->files += all[i].files;
        result->bad += all[i].bad;
        result->stopped |= all[i].stopped;
    }
    mem_free(t->context, all);
    return status;
}

static int too_many(size_t bad, size_t files) { return bad > FEW && bad * 100 > files * PER_CENT; }

static ssm2d_status judge(const trainer *t, const file_check *r, ssm2d_error *error)
{
    const train_options *o = &t->settings.options;
    if (o->bad_images == TRAIN_BAD_STOP && r->bad)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%.300s (%zu of %zu images cannot be read; bad_images=skip leaves them out)",
                    r->first[0].line, r->bad, r->files);
    if (o->bad_images != TRAIN_BAD_FEW || !too_many(r->bad, r->files)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: %zu of %zu images cannot be read, more than %d %%: ssm2d data check lists "
                "them; remove them, or skip them with --bad-images skip. The first: %.200s",
                text_path(o->data), r->bad, r->files, PER_CENT, r->first[0].line);
}

ssm2d_status check_images(trainer *t, file_check *result, ssm2d_error *error)
{
    *result = (file_check){0};
    if (t->settings.options.bad_images == TRAIN_BAD_SKIP
        || dataset_about(t->train_data)->format != FORMAT_PHOTOS)
        return SSM2D_OK;
    ssm2d_status status = trainer_agree(t, check_own_share(t, result, error), error);
    if (!status) status = sum_results(t, result, error);
    return status || result->stopped ? status : judge(t, result, error);
}

ssm2d_status check_images_met(const trainer *t, ssm2d_error *error)
{
    ssm2d_error first, other;
    const size_t files = dataset_about(t->train_data)->count + dataset_about(t->choose_data)->count;
    if (t->settings.options.bad_images != TRAIN_BAD_FEW) return SSM2D_OK;
    const size_t train = loader_skipped(t->train_loader, &first);
    const size_t bad = train + loader_skipped(t->choose_loader, &other);
    if (!too_many(bad, files)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%zu of %zu images cannot be read, more than %d %%; step %ld is saved: resume when "
                "they are readable, or with --bad-images skip. The first: %.200s",
                bad, files, PER_CENT, t->state.step, train ? first.line : other.line);
}
