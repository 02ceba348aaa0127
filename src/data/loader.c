#include "data/loader.h"

#include "core/arith.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/status.h"
#include "data/keyed_rng.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_AHEAD = 64 };
enum { MAX_REPLACEMENTS = 100 }; /* attempts to replace an unreadable image */

typedef struct slot {
    float *images, *targets;
    epoch_sample *samples; /* [batch] */
    uint8_t *left_out;     /* [batch]: unreadable images of an evaluation */
    uint32_t *wanted;      /* [batch]: positions of the images to prepare */
    size_t wanted_count;
    loader_batch batch;
    size_t started, done; /* images that workers have started, and finished */
    size_t bad;           /* position of the first image that could not be read */
    ssm2d_status status;
    ssm2d_error error;
    int ready;
} slot;

typedef struct worker {
    loader *loader;
    augment *augment;
    pthread_t thread;
    int started;
} worker;

/* A ring of slots. Each worker takes the next image that has not been started; the caller takes
 * complete slots in order, and returns a slot by taking the next. Batches are counted from the last
 * seek; batch t is in slot t % slot_count. */
struct loader {
    const ssm2d_context *context;
    const dataset *data;
    loader_options options;
    size_t batches, length;
    slot *slots;
    size_t slot_count;
    worker workers[MAX_WORKERS];

    /* One worker at a time mixes a batch, because there is one scratch buffer. */
    pthread_mutex_t mixing;
    augment *batch_augment;

    pthread_mutex_t lock;
    pthread_cond_t batch_ready, work, idle;
    atomic_int abandon; /* images in preparation are no longer needed */
    /* The lock protects everything below. */
    epoch_order order;
    uint64_t opened, taken, returned; /* counts of batches */
    uint32_t *partners;               /* [batch], scratch of list_wanted */
    uint64_t epoch;                   /* of the batch that is opened next */
    size_t index;                     /* of that batch in its epoch */
    int busy;                         /* workers that are preparing an image or a batch */
    int seeking;                      /* workers must wait */
    int failed;                       /* an image could not be read: no more images are started */
    int stop;                         /* workers must end */
    double waited;
    uint8_t *is_bad;             /* [images of the data set]: could not be read */
    size_t bad_count, first_bad; /* first_bad: index in the data set */
    ssm2d_error first_error;     /* of first_bad */
};

/* ---- workers --------------------------------------------------------------------------------- */

/* This loader's part of a training batch. */
static augment_range own_range(const loader *l)
{
    const size_t count = l->options.batch / l->options.shares;
    return (augment_range){l->options.share * count, count};
}

/* Lists the images to prepare: all, or this loader's share and the images mixed into it. */
static void list_wanted(loader *l, slot *s)
{
    const loader_options *o = &l->options;
    s->wanted_count = 0;
    if (o->shares == 1 || !o->train) {
        for (size_t i = 0; i < s->batch.count; i++) s->wanted[s->wanted_count++] = (uint32_t)i;
        return;
    }
    const augment_range own = own_range(l);
    const augment_needs needs =
        augment_partners(l->batch_augment, s->batch.epoch, s->batch.index, o->batch, l->partners);
    /* left_out, which is otherwise unused in training, marks the wanted images */
    memset(s->left_out, needs == AUGMENT_NEEDS_ALL, o->batch);
    for (size_t i = own.first; i < own.first + own.count; i++) {
        s->left_out[i] = 1;
        if (needs == AUGMENT_NEEDS_PARTNERS) s->left_out[l->partners[i]] = 1;
    }
    for (size_t i = 0; i < o->batch; i++)
        if (s->left_out[i]) s->wanted[s->wanted_count++] = (uint32_t)i;
    memset(s->left_out, 0, o->batch);
}

static size_t first_batch(const loader *l) { return l->options.train ? 0 : l->options.share; }

/* Starts the next batch: lists its images. */
static void open_batch(loader *l, slot *s)
{
    const loader_options *o = &l->options;
    const size_t first = l->index * o->batch;
    s->batch = (loader_batch){.images = s->images,
                              .targets = s->targets,
                              .samples = s->samples,
                              .count = min_size(l->length - first, o->batch),
                              .epoch = l->epoch,
                              .index = l->index};
    for (size_t i = 0; i < s->batch.count; i++)
        s->samples[i] = o->train ? epoch_order_at(&l->order, l->epoch, first + i)
                                 : (epoch_sample){(uint32_t)(first + i), 0};
    list_wanted(l, s);
    s->started = s->done = 0;
    s->bad = SIZE_MAX;
    s->status = SSM2D_OK;
    s->ready = 0;
    l->opened++;
    l->index += l->options.train ? 1 : l->options.shares;
    if (l->index >= l->batches) {
        l->index = first_batch(l);
        l->epoch++;
    }
}

/* Returns a slot with an image that has not been started, or NULL. */
static slot *find_work(loader *l)
{
    if (l->seeking || l->failed || first_batch(l) >= l->batches) return NULL;
    slot *last = l->opened ? &l->slots[(l->opened - 1) % l->slot_count] : NULL;
    if (last && last->started < last->wanted_count) return last;
    if (l->opened - l->returned == l->slot_count) return NULL;
    slot *next = &l->slots[l->opened % l->slot_count];
    open_batch(l, next);
    return next;
}

static void note_bad(loader *l, size_t image, const ssm2d_error *why)
{
    pthread_mutex_lock(&l->lock);
    if (!l->bad_count || image < l->first_bad) {
        l->first_bad = image;
        l->first_error = *why;
    }
    l->bad_count += !l->is_bad[image];
    l->is_bad[image] = 1;
    pthread_mutex_unlock(&l->lock);
}

/* Reads the sample's image. With skip_bad, an unreadable image is left out in evaluation, and in
 * training replaced by one drawn at random, depending only on the position in the epoch; it becomes
 * the sample. */
static ssm2d_status fetch(loader *l, augment *a, slot *s, size_t i, ssm2d_error *error)
{
    const loader_options *o = &l->options;
    const uint64_t position = s->batch.index * o->batch + i;
    rng r = keyed_rng(o->seed, RNG_REPLACEMENT, s->batch.epoch, position);
    ssm2d_status status = SSM2D_OK;
    for (int n = 0; n < MAX_REPLACEMENTS; n++) {
        const size_t image = s->samples[i].image;
        augment_begin(a, s->batch.epoch, ((uint64_t)s->samples[i].repeat << 32) + image);
        status = dataset_fetch(l->data, image, augment_resize(a), augment_pixels(a), error);
        if (!status || !o->skip_bad || status == SSM2D_ERROR_MEMORY) return status;
        note_bad(l, image, error);
        s->left_out[i] = !o->train;
        if (!o->train) return SSM2D_OK;
        s->samples[i].image = (uint32_t)rng_below(&r, l->order.count);
    }
    return status;
}

/* Makes the target of image i of a batch, after its pixels. */
static ssm2d_status make_target(const loader *l, augment *a, const slot *s, size_t i,
                                ssm2d_error *error)
{
    const loader_options *o = &l->options;
    const target_format *format = &o->targets;
    const size_t size = o->rows * o->cols * (size_t)o->channels, index = s->samples[i].image;
    float *target = s->targets + i * format->elements;
    ssm2d_status status = SSM2D_OK;
    memset(target, 0, format->elements * sizeof *target);
    if (format->source == TARGET_FROM_LABELS) dataset_target(l->data, index, target);
    if (format->source == TARGET_FROM_MAP) {
        status =
            dataset_fetch_map(l->data, index, augment_map_resize(a), augment_map_pixels(a), error);
        if (!status) augment_map_end(a, target);
    }
    if (status || !format->make) return status;
    target_image image = {.rows = o->rows,
                          .cols = o->cols,
                          .channels = o->channels,
                          .pixels = s->images + i * size,
                          .random = keyed_rng(o->seed, RNG_TARGET, s->batch.epoch,
                                              ((uint64_t)s->samples[i].repeat << 32) + index)};
    format->make(format, &image, target);
    return SSM2D_OK;
}

static ssm2d_status make_image(loader *l, augment *a, slot *s, size_t i, ssm2d_error *error)
{
    const loader_options *o = &l->options;
    const size_t size = o->rows * o->cols * (size_t)o->channels;
    s->left_out[i] = 0;
    ssm2d_status status = fetch(l, a, s, i, error);
    if (status || s->left_out[i]) return status;
    augment_end(a, s->images + i * size);
    return make_target(l, a, s, i, error);
}

/* Closes the gaps of images that are left out; returns the number of images. */
static size_t close_gaps(const loader *l, slot *s)
{
    const size_t elements = l->options.targets.elements;
    const size_t size = l->options.rows * l->options.cols * (size_t)l->options.channels;
    size_t n = 0;
    for (size_t i = 0; i < s->batch.count; i++) {
        if (s->left_out[i]) continue;
        if (n < i) {
            memcpy(s->images + n * size, s->images + i * size, size * sizeof(float));
            memcpy(s->targets + n * elements, s->targets + i * elements, elements * sizeof(float));
            s->samples[n] = s->samples[i];
        }
        n++;
    }
    return n;
}

static void mix_batch(loader *l, slot *s, size_t count)
{
    pthread_mutex_lock(&l->mixing);
    const augment_range own = l->options.shares == 1 ? (augment_range){0, count} : own_range(l);
    augment_batch(l->batch_augment, s->batch.epoch, s->batch.index, count, own, s->images,
                  s->targets);
    pthread_mutex_unlock(&l->mixing);
}

/* Of several failures keeps that of the first image in the batch, whatever the threads' order. */
static void note_failure(loader *l, slot *s, size_t i, ssm2d_status status, const ssm2d_error *why)
{
    l->failed = 1;
    if (i > s->bad) return;
    s->bad = i;
    s->status = status;
    s->error = *why;
}

/* Prepares an image of the slot, and completes the batch after its last image. The caller holds the
 * lock, which is released meanwhile. */
static void make_one(loader *l, worker *w, slot *s)
{
    const size_t i = s->wanted[s->started++];
    ssm2d_error why;
    l->busy++;
    pthread_mutex_unlock(&l->lock);
    const int wanted = !atomic_load(&l->abandon);
    const ssm2d_status status = wanted ? make_image(l, w->augment, s, i, &why) : SSM2D_OK;
    pthread_mutex_lock(&l->lock);
    if (status) note_failure(l, s, i, status, &why);
    /* after a failure the batch is complete once every started image has finished */
    const int last = ++s->done == (s->status ? s->started : s->wanted_count);
    if (last && !s->status && !atomic_load(&l->abandon)) {
        pthread_mutex_unlock(&l->lock);
        const size_t count = close_gaps(l, s);
        mix_batch(l, s, count);
        pthread_mutex_lock(&l->lock);
        s->batch.count = count;
    }
    if (last) {
        s->ready = 1;
        pthread_cond_signal(&l->batch_ready);
    }
    if (--l->busy == 0) pthread_cond_broadcast(&l->idle);
}

static void *run(void *arg)
{
    worker *w = arg;
    loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        slot *s = find_work(l);
        if (s)
            make_one(l, w, s);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- creation -------------------------------------------------------------------------------- */

loader_options loader_options_default(const dataset *d)
{
    const dataset_info *info = dataset_about(d);
    return (loader_options){
        .batch = 128,
        .rows = info->rows,
        .cols = info->cols,
        .channels = info->channels,
        .augment = augment_options_default(),
        .targets = {.elements = (size_t)info->label_count, .source = TARGET_FROM_LABELS},
        .norm = info->norm,
        .ahead = 2,
        .workers = 1,
        .repeats = 1,
        .shares = 1};
}

static ssm2d_status check(const loader_options *o, size_t count, size_t length, ssm2d_error *error)
{
    if (o->batch < 1 || o->batch > UINT32_MAX)
        return fail(error, SSM2D_ERROR_ARGUMENT, "batch=%zu: use 1 or more", o->batch);
    if (count > UINT32_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "the data set has %zu images: at most %u are supported", count, UINT32_MAX);
    if (o->workers < 1 || o->workers > MAX_WORKERS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "workers=%d: use 1 to %d", o->workers,
                    MAX_WORKERS);
    if (o->repeats < 1 || o->repeats > MAX_REPEATS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "repeats=%d: use 1 to %d", o->repeats,
                    MAX_REPEATS);
    if (o->train && length < o->batch)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch=%zu: an epoch has only %zu images to train on: use a smaller batch",
                    o->batch, length);
    if (o->shares > 1 && (o->share >= o->shares || (o->train && o->batch % o->shares)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch=%zu: cannot be shared by %zu processes: use a multiple", o->batch,
                    o->shares);
    if (!(o->targets.smoothing >= 0 && o->targets.smoothing < 1))
        return fail(error, SSM2D_ERROR_ARGUMENT, "smoothing=%g: use a number from 0 to below 1",
                    o->targets.smoothing);
    if (o->ahead < 1 || o->ahead > MAX_AHEAD)
        return fail(error, SSM2D_ERROR_ARGUMENT, "ahead=%d: use 1 to %d", o->ahead, MAX_AHEAD);
    return SSM2D_OK;
}

/* Refuses a target format that does not fit the data or the image size. */
static ssm2d_status check_targets(const loader_options *o, const dataset_info *info,
                                  ssm2d_error *error)
{
    const target_format *f = &o->targets;
    const size_t area = o->rows * o->cols;
    if (f->source == TARGET_FROM_LABELS && f->elements < (size_t)info->label_count)
        return fail(error, SSM2D_ERROR_ARGUMENT, "targets of %zu elements: the data have %d labels",
                    f->elements, info->label_count);
    if (f->source == TARGET_FROM_MAP && !info->maps)
        return fail(error, SSM2D_ERROR_ARGUMENT, "the data set has no maps of labels");
    if ((f->source == TARGET_FROM_MAP && f->elements < area)
        || (f->mixing == TARGET_MAP && (!area || f->elements % area)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "targets of %zu elements: images have %zu x %zu pixels", f->elements, o->rows,
                    o->cols);
    return SSM2D_OK;
}

static ssm2d_status alloc_buffers(loader *l, ssm2d_error *error)
{
    const loader_options *o = &l->options;
    const size_t size = o->rows * o->cols * (size_t)o->channels, row = o->batch * sizeof(float);
    size_t image_bytes, target_bytes;
    int good = !__builtin_mul_overflow(row, size, &image_bytes)
               && !__builtin_mul_overflow(row, o->targets.elements, &target_bytes);
    l->slots = mem_alloc(l->context, l->slot_count * sizeof *l->slots);
    uint32_t *order =
        o->train ? mem_alloc(l->context, l->order.count * sizeof *l->order.permutation) : NULL;
    l->order.permutation = order;
    l->partners = mem_alloc(l->context, o->batch * sizeof *l->partners);
    l->is_bad = mem_alloc(l->context, dataset_about(l->data)->count);
    good = good && l->slots && l->partners && l->is_bad && (order || !o->train);
    for (size_t i = 0; good && i < l->slot_count; i++) {
        slot *s = &l->slots[i];
        s->images = mem_alloc(l->context, image_bytes);
        s->targets = mem_alloc(l->context, target_bytes);
        s->samples = mem_alloc(l->context, o->batch * sizeof *s->samples);
        s->left_out = mem_alloc(l->context, o->batch);
        s->wanted = mem_alloc(l->context, o->batch * sizeof *s->wanted);
        good = s->images && s->targets && s->samples && s->left_out && s->wanted;
    }
    if (good) return SSM2D_OK;
    return fail_memory(error, "%zu batches of %zu images of %zu x %zu x %d", l->slot_count,
                       o->batch, o->rows, o->cols, o->channels);
}

/* Each worker has its own augment for images; batches share one. */
static ssm2d_status make_augments(loader *l, ssm2d_error *error)
{
    const loader_options *o = &l->options;
    augment_setup setup = {.options = &o->augment,
                           .when = o->train ? AUGMENT_TRAINING : AUGMENT_EVALUATION,
                           .seed = o->seed,
                           .norm = o->norm,
                           .rows = o->rows,
                           .cols = o->cols,
                           .channels = o->channels,
                           .targets = o->targets.elements,
                           .mixing = o->targets.mixing,
                           .with_map = o->targets.source == TARGET_FROM_MAP};
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < o->workers && !status; i++)
        status = augment_create(l->context, &setup, &l->workers[i].augment, error);
    setup.batch = o->batch;
    return status ? status : augment_create(l->context, &setup, &l->batch_augment, error);
}

/* The threads block all signals, so that the program's own threads receive them. */
static ssm2d_status start(loader *l, ssm2d_error *error)
{
    sigset_t all, before;
    int bad = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < l->options.workers && !bad; i++) {
        worker *w = &l->workers[i];
        w->loader = l;
        bad = pthread_create(&w->thread, NULL, run, w);
        w->started = !bad;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad)
        return fail(error, SSM2D_ERROR_SYSTEM, "cannot start the loader's threads: %s",
                    strerror(bad));
    return SSM2D_OK;
}

ssm2d_status loader_create(const ssm2d_context *context, const dataset *d,
                           const loader_options *options, loader **out, ssm2d_error *error)
{
    const loader_options *o = options;
    const dataset_info *info = dataset_about(d);
    const epoch_order order = {.seed = o->seed,
                               .count = info->count,
                               .repeats = (size_t)max_int(o->repeats, 1),
                               .kind = o->repeat_kind};
    const size_t length = o->train ? epoch_order_length(&order) : info->count;
    *out = NULL;
    ssm2d_status status = check(o, info->count, length, error);
    if (!status) status = check_targets(o, info, error);
    if (status) return status;
    loader *l = mem_alloc(context, sizeof *l);
    if (!l) return fail_memory(error, "loader");
    l->context = context;
    l->data = d;
    l->options = *o;
    l->options.shares = max_size(o->shares, 1);
    l->index = first_batch(l);
    l->order = order;
    l->length = length;
    if (!o->train) l->options.targets.smoothing = 0;
    l->batches = o->train ? length / o->batch : div_up_size(length, o->batch);
    l->slot_count = (size_t)o->ahead + 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->mixing, NULL);
    pthread_cond_init(&l->batch_ready, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->idle, NULL);
    status = make_augments(l, error);
    if (!status) status = alloc_buffers(l, error);
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
    pthread_mutex_lock(&l->lock);
    l->stop = 1;
    atomic_store(&l->abandon, 1);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->options.workers; i++)
        if (l->workers[i].started) pthread_join(l->workers[i].thread, NULL);
    pthread_cond_destroy(&l->batch_ready);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->idle);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->mixing);
    for (size_t i = 0; l->slots && i < l->slot_count; i++) {
        mem_free(l->context, l->slots[i].images);
        mem_free(l->context, l->slots[i].targets);
        mem_free(l->context, l->slots[i].samples);
        mem_free(l->context, l->slots[i].left_out);
        mem_free(l->context, l->slots[i].wanted);
    }
    for (int i = 0; i < l->options.workers; i++) augment_destroy(l->workers[i].augment);
    mem_free(l->context, l->slots);
    mem_free(l->context, l->partners);
    mem_free(l->context, l->order.permutation);
    mem_free(l->context, l->is_bad);
    augment_destroy(l->batch_augment);
    mem_free(l->context, l);
}

/* ---- use ------------------------------------------------------------------------------------- */

size_t loader_batches(const loader *l) { return l->batches; }
double loader_waited(const loader *l) { return l->waited; }

size_t loader_skipped(loader *l, ssm2d_error *first)
{
    pthread_mutex_lock(&l->lock);
    const size_t count = l->bad_count;
    *first = l->first_error;
    pthread_mutex_unlock(&l->lock);
    return count;
}

const uint8_t *loader_bad_images(const loader *l, size_t *images)
{
    *images = dataset_about(l->data)->count;
    return l->is_bad;
}

/* Whether the batch that the caller takes next is complete. */
static int is_ready(const loader *l)
{
    return l->opened > l->taken && l->slots[l->taken % l->slot_count].ready;
}

ssm2d_status loader_next(loader *l, loader_batch *batch, ssm2d_error *error)
{
    pthread_mutex_lock(&l->lock);
    if (l->returned != l->taken) { /* the caller no longer needs the previous batch */
        l->returned = l->taken;
        pthread_cond_broadcast(&l->work);
    }
    if (!is_ready(l)) {
        const double start = clock_seconds();
        while (!is_ready(l)) pthread_cond_wait(&l->batch_ready, &l->lock);
        l->waited += clock_seconds() - start;
    }
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

ssm2d_status loader_seek(loader *l, uint64_t epoch, size_t index, ssm2d_error *error)
{
    if (index > l->batches)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch %zu of an epoch of %zu batches: the data or the batch size changed",
                    index, l->batches);
    pthread_mutex_lock(&l->lock);
    l->seeking = 1;
    atomic_store(&l->abandon, 1);
    while (l->busy) pthread_cond_wait(&l->idle, &l->lock); /* workers write to the slots */
    atomic_store(&l->abandon, 0);
    l->seeking = 0;
    l->opened = l->taken = l->returned = 0;
    l->epoch = index == l->batches ? epoch + 1 : epoch;
    l->index = index == l->batches ? first_batch(l) : first_batch(l) + index;
    l->failed = 0;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return SSM2D_OK;
}
