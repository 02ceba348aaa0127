#include "data/loader.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/keyed_rng.h"
#include "data/targets.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_AHEAD = 64 };

typedef struct slot {
    float *images, *targets;
    int *labels;
    loader_batch batch;
    ssm2d_status status;
    ssm2d_error error;
} slot;

/* A ring of slots between two threads: the loader's thread makes batches, the caller takes them,
 * and gives a slot back by taking the next. Batches are counted from the last seek on; batch t is
 * in slot t % slot_count. */
struct loader {
    const ssm2d_context *context;
    const dataset *data;
    loader_options options;
    size_t batches, count;
    label_kind labels;
    int classes;
    slot *slots;
    size_t slot_count;

    /* used by the loader's thread alone */
    augment *augment;
    uint32_t *order; /* [count], the images as they come in order_epoch */
    uint64_t order_epoch;
    int order_known;

    pthread_t thread;
    int started;
    pthread_mutex_t lock;
    pthread_cond_t batch_made, slot_free;
    atomic_int abandon; /* the batch that is being made is no longer wanted */
    /* The rest is read and written under the lock. */
    uint64_t made, taken, given_back; /* numbers of batches */
    uint64_t epoch;                   /* of the batch that is made next */
    size_t number;                    /* of that batch in its epoch */
    uint64_t seeks;                   /* how many there were */
    int failed;                       /* the batch made last is an error: nothing follows it */
    int stop;                         /* the thread is to end */
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* The order of an epoch, a Fisher-Yates shuffle of all images. */
static void shuffle(loader *l, uint64_t epoch)
{
    if (l->order_known && l->order_epoch == epoch) return;
    rng r = keyed_rng(l->options.seed, RNG_ORDER, epoch, 0);
    for (size_t i = 0; i < l->count; i++) l->order[i] = (uint32_t)i;
    for (size_t i = l->count; i > 1; i--) {
        size_t k = (size_t)rng_below(&r, i);
        uint32_t image = l->order[i - 1];
        l->order[i - 1] = l->order[k];
        l->order[k] = image;
    }
    l->order_epoch = epoch;
    l->order_known = 1;
}

/* Fills a slot. Returns early, with the slot half full, when the batch is abandoned. */
static void make_batch(loader *l, slot *s, uint64_t epoch, size_t number)
{
    const loader_options *o = &l->options;
    size_t first = number * o->batch, left = l->count - first,
           size = o->rows * o->cols * (size_t)o->channels;
    const double smoothing = o->train ? o->smoothing : 0;
    s->batch = (loader_batch){.images = s->images,
                              .targets = s->targets,
                              .labels = s->labels,
                              .count = min_size(left, o->batch),
                              .epoch = epoch,
                              .number = number};
    s->status = SSM2D_OK;
    if (o->train) shuffle(l, epoch);
    for (size_t i = 0; i < s->batch.count && !s->status; i++) {
        size_t image = o->train ? l->order[first + i] : first + i;
        if (atomic_load(&l->abandon)) return;
        augment_begin(l->augment, epoch, image);
        s->status = dataset_fetch(l->data, image, augment_resize(l->augment),
                                  augment_pixels(l->augment), &s->error);
        if (s->status) return;
        augment_end(l->augment, s->images + i * size);
        float *target = s->targets + i * (size_t)l->classes;
        if (s->labels) s->labels[i] = dataset_label(l->data, image);
        dataset_target(l->data, image, target);
        target_smooth(l->labels, l->classes, smoothing, target);
    }
    augment_batch(l->augment, epoch, number, s->batch.count, s->images, s->targets);
}

static void *run(void *arg)
{
    loader *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->failed || l->made - l->given_back == l->slot_count) {
            pthread_cond_wait(&l->slot_free, &l->lock);
            continue;
        }
        slot *s = &l->slots[l->made % l->slot_count];
        uint64_t seeks = l->seeks, epoch = l->epoch;
        size_t number = l->number;
        atomic_store(&l->abandon, 0);
        pthread_mutex_unlock(&l->lock);
        make_batch(l, s, epoch, number);
        pthread_mutex_lock(&l->lock);
        if (seeks != l->seeks) continue; /* it was for the position before the seek */
        l->failed = s->status != SSM2D_OK;
        l->made++;
        if (++l->number == l->batches) {
            l->number = 0;
            l->epoch++;
        }
        pthread_cond_signal(&l->batch_made);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- the caller ------------------------------------------------------------------------------ */

loader_options loader_options_default(const dataset *d)
{
    const dataset_info *info = dataset_about(d);
    return (loader_options){.batch = 128,
                            .rows = info->rows,
                            .cols = info->cols,
                            .channels = info->channels,
                            .augment = augment_options_default(),
                            .norm = info->norm,
                            .ahead = 2};
}

static ssm2d_status check(const loader_options *o, size_t count, ssm2d_error *error)
{
    if (o->batch < 1 || o->batch > UINT32_MAX)
        return fail(error, SSM2D_ERROR_ARGUMENT, "batch=%zu: use 1 or more", o->batch);
    if (count > UINT32_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "the data set has %zu images: at most %u are used", count, UINT32_MAX);
    if (o->train && count < o->batch)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch=%zu: the data set has only %zu images to train on: use a smaller batch",
                    o->batch, count);
    if (!(o->smoothing >= 0 && o->smoothing < 1))
        return fail(error, SSM2D_ERROR_ARGUMENT, "smoothing=%g: use a number from 0 to below 1",
                    o->smoothing);
    if (o->ahead < 1 || o->ahead > MAX_AHEAD)
        return fail(error, SSM2D_ERROR_ARGUMENT, "ahead=%d: use 1 to %d", o->ahead, MAX_AHEAD);
    return SSM2D_OK;
}

static ssm2d_status take_memory(loader *l, ssm2d_error *error)
{
    const loader_options *o = &l->options;
    const size_t size = o->rows * o->cols * (size_t)o->channels, row = o->batch * sizeof(float);
    size_t image_bytes, target_bytes;
    int good = !__builtin_mul_overflow(row, size, &image_bytes)
               && !__builtin_mul_overflow(row, (size_t)l->classes, &target_bytes);
    l->slots = mem_alloc(l->context, l->slot_count * sizeof *l->slots);
    l->order = o->train ? mem_alloc(l->context, l->count * sizeof *l->order) : NULL;
    good = good && l->slots && (l->order || !o->train);
    for (size_t i = 0; good && i < l->slot_count; i++) {
        slot *s = &l->slots[i];
        s->images = mem_alloc(l->context, image_bytes);
        s->targets = mem_alloc(l->context, target_bytes);
        good = s->images && s->targets;
        if (l->labels != LABEL_CLASS) continue;
        s->labels = mem_alloc(l->context, o->batch * sizeof *s->labels);
        good = good && s->labels;
    }
    if (good) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_MEMORY,
                "no memory for %zu batches of %zu images of %zu x %zu x %d", l->slot_count,
                o->batch, o->rows, o->cols, o->channels);
}

/* The thread blocks all signals, so that they are delivered to the threads of the program. */
static ssm2d_status start(loader *l, ssm2d_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int bad = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad)
        return fail(error, SSM2D_ERROR_SYSTEM, "the loader's thread cannot be started: %s",
                    strerror(bad));
    l->started = 1;
    return SSM2D_OK;
}

ssm2d_status loader_create(const ssm2d_context *context, const dataset *d,
                           const loader_options *options, loader **out, ssm2d_error *error)
{
    const loader_options *o = options;
    const dataset_info *info = dataset_about(d);
    const size_t count = info->count;
    *out = NULL;
    ssm2d_status status = check(o, count, error);
    if (status) return status;
    loader *l = mem_alloc(context, sizeof *l);
    if (!l) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a loader");
    l->context = context;
    l->data = d;
    l->options = *o;
    l->count = count;
    l->labels = info->labels;
    l->classes = info->classes;
    l->batches = o->train ? count / o->batch : div_up_size(count, o->batch);
    l->slot_count = (size_t)o->ahead + 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->batch_made, NULL);
    pthread_cond_init(&l->slot_free, NULL);
    const augment_setup setup = {.options = &o->augment,
                                 .when = o->train ? AUGMENT_TRAINING : AUGMENT_EVALUATION,
                                 .seed = o->seed,
                                 .norm = o->norm,
                                 .rows = o->rows,
                                 .cols = o->cols,
                                 .channels = o->channels,
                                 .batch = o->batch,
                                 .classes = info->classes};
    status = augment_create(context, &setup, &l->augment, error);
    if (!status) status = take_memory(l, error);
    if (!status) status = start(l, error);
    if (status) {
        loader_destroy(l);
        return status;
    }
    *out = l;
    return SSM2D_OK;
}

void loader_destroy(loader *l)
{
    if (!l) return;
    if (l->started) {
        pthread_mutex_lock(&l->lock);
        l->stop = 1;
        atomic_store(&l->abandon, 1);
        pthread_cond_signal(&l->slot_free);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->batch_made);
    pthread_cond_destroy(&l->slot_free);
    pthread_mutex_destroy(&l->lock);
    for (size_t i = 0; l->slots && i < l->slot_count; i++) {
        mem_free(l->context, l->slots[i].images);
        mem_free(l->context, l->slots[i].targets);
        mem_free(l->context, l->slots[i].labels);
    }
    mem_free(l->context, l->slots);
    mem_free(l->context, l->order);
    augment_destroy(l->augment);
    mem_free(l->context, l);
}

size_t loader_batches(const loader *l) { return l->batches; }
label_kind loader_labels(const loader *l) { return l->labels; }

ssm2d_status loader_next(loader *l, loader_batch *batch, ssm2d_error *error)
{
    pthread_mutex_lock(&l->lock);
    if (l->given_back != l->taken) { /* the batch before this one is done with */
        l->given_back = l->taken;
        pthread_cond_signal(&l->slot_free);
    }
    while (l->made == l->taken) pthread_cond_wait(&l->batch_made, &l->lock);
    const slot *s = &l->slots[l->taken % l->slot_count];
    ssm2d_status status = s->status;
    if (status) {
        fail(error, status, "%s", s->error.line);
    } else {
        *batch = s->batch;
        l->taken++;
    }
    pthread_mutex_unlock(&l->lock);
    return status;
}

ssm2d_status loader_seek(loader *l, uint64_t epoch, size_t number, ssm2d_error *error)
{
    if (number > l->batches)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch number %zu of an epoch that has %zu: the data or the batch size changed",
                    number, l->batches);
    pthread_mutex_lock(&l->lock);
    l->seeks++;
    l->made = l->taken = l->given_back = 0;
    l->epoch = number == l->batches ? epoch + 1 : epoch;
    l->number = number == l->batches ? 0 : number;
    l->failed = 0;
    atomic_store(&l->abandon, 1);
    pthread_cond_signal(&l->slot_free);
    pthread_mutex_unlock(&l->lock);
    return SSM2D_OK;
}
