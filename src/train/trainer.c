#include "train/trainer.h"

#include "core/arith.h"
#include "core/rng.h"
#include "core/status.h"
#include "data/file_check.h"
#include "io/text.h"
#include "train/onednn.h"
#include "train/precision.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Uses of the run's seed; each has a seed derived from it. */
enum { SEED_WEIGHTS, SEED_DATA, SEED_GRAPH };

static uint64_t seed_for(long seed, int use)
{
    rng r = rng_seed((uint64_t)seed);
    uint64_t value = rng_next(&r);
    while (use--) value = rng_next(&r);
    return value;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Checks some of the image files, so that unreadable data are found before a long run starts. */
static ssm2d_status check_files(const dataset *d, const train_options *o, ssm2d_error *error)
{
    enum { LOOKS = 256 };
    size_t looked, bad;
    ssm2d_error why;
    file_check_some(d, LOOKS, (size_t)o->max_pixels, &looked, &bad, &why);
    if (!bad || (o->bad_images != TRAIN_BAD_STOP && bad < looked)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s (%zu of the %zu images checked cannot be read%s)",
                why.line, bad, looked,
                o->bad_images == TRAIN_BAD_STOP ? "; bad_images=skip leaves them out" : "");
}

static ssm2d_status open_data(trainer *t, ssm2d_error *error)
{
    const train_options *o = &t->settings.options;
    ssm2d_status status = data_defaults_open(&t->settings, &t->chosen, error);
    if (status) return status;
    const split_options split = train_options_split(o);
    status = split_open_training(t->context, o->data, &split, &t->train_data, &t->choose_data,
                                 &t->choice, error);
    if (status) return status;
    dataset_limit_pixels(t->train_data, (size_t)o->max_pixels);
    dataset_limit_pixels(t->choose_data, (size_t)o->max_pixels);
    if ((status = check_files(t->train_data, o, error))) return status;
    if ((status = check_files(t->choose_data, o, error))) return status;
    const dataset_info *train = dataset_about(t->train_data);
    if ((status = data_defaults_fit(&t->settings, train, &t->chosen, error))) return status;
    const int loss = t->settings.options.loss;
    status = train_settings_fit(&t->settings, train, error);
    t->loss_changed = t->settings.options.loss != loss;
    t->task = task_chosen(t->settings.options.task, train);
    return status;
}

/* Mean and standard deviation of the pixels: those of the settings if given, else of the data. */
static normalisation norm_of(const trainer *t)
{
    const train_options *o = &t->settings.options;
    normalisation n = dataset_norm(dataset_about(t->train_data), t->settings.model.channels);
    for (int c = 0; c < 3 && o->norm_std > 0; c++) {
        n.mean[c] = (float)o->norm_mean;
        n.std[c] = (float)o->norm_std;
    }
    return n;
}

static ssm2d_status make_loaders(trainer *t, ssm2d_error *error)
{
    const model_config *m = &t->settings.model;
    const double std = t->settings.options.norm_std;
    if (std > 0 && std < (double)FLT_MIN)
        return fail(error, SSM2D_ERROR_ARGUMENT, "norm_std=%g: use 0, or %g or more", std,
                    (double)FLT_MIN);
    const task_shape shape = task_shape_of(m);
    loader_options o = loader_options_default(t->train_data);
    o.batch = (size_t)t->settings.options.batch;
    o.rows = (size_t)m->image[0];
    o.cols = (size_t)m->image[1];
    o.channels = m->channels;
    o.norm = norm_of(t);
    o.workers = t->settings.options.workers;
    o.repeats = t->settings.options.repeats;
    o.repeat_kind = (repeat_kind)t->settings.options.repeat_kind;
    o.augment = t->settings.augment;
    o.targets = task_targets(t->task, &shape, train_smoothing(&t->settings.options, t->task));
    o.seed = seed_for(t->settings.options.seed, SEED_DATA);
    o.skip_bad = t->settings.options.bad_images != TRAIN_BAD_STOP;
    o.share = (size_t)t->cluster->rank;
    o.shares = (size_t)t->cluster->size;
    o.train = 1;
    ssm2d_status status = loader_create(t->context, t->train_data, &o, &t->train_loader, error);
    if (status) return status;
    o.train = 0;
    return loader_create(t->context, t->choose_data, &o, &t->choose_loader, error);
}

static ssm2d_status make_graph(trainer *t, ssm2d_error *error)
{
    const model_config *m = &t->settings.model;
    const size_t batch = (size_t)t->settings.options.batch, slice = batch / (size_t)t->slices;
    const task_shape of_task = task_shape_of(m);
    const size_t shape[] = {slice, task_targets(t->task, &of_task, 0).elements};
    ssm2d_status status = graph_create(t->context, 1, &t->graph, error);
    if (status) return status;
    graph *g = t->graph;
    g->seed = seed_for(t->settings.options.seed, SEED_GRAPH);
    if ((status = onednn_use(g, error))) return status;
    status = precision_use(g, (train_precision)t->settings.options.precision, NULL, error);
    if (status) return status;
    g->saves_memory = t->settings.options.memory == TRAIN_MEMORY_LOW;
    t->out = model_build(g, m, slice);
    t->targets = graph_input(g, "targets", 2, shape);
    t->loss = loss_at((loss_kind)t->settings.options.loss)->build(g, t->out, t->targets);
    if ((status = graph_finish(g, t->loss, error))) return status;
    t->images = graph_find(g, "images");
    return evaluator_create(t->context, m, (evaluator_precision){0}, batch, &t->evaluator, error);
}

int train_decays(const param_array *a, train_decay of)
{
    const param_role is = a->spec.role;
    if (a->spec.group == PARAM_STATE) return 0;
    switch (of) {
    case TRAIN_DECAY_ALL: return a->spec.group == PARAM_DECAY;
    case TRAIN_DECAY_MATRICES:
        return a->spec.group == PARAM_DECAY && a->rank > 1 && is != PARAM_TOKEN;
    case TRAIN_DECAY_PAPER: return is != PARAM_BIAS && is != PARAM_SCALE && is != PARAM_INNER;
    case TRAIN_DECAY_EVERYTHING: break;
    }
    return is != PARAM_INNER;
}

/* Adjacent arrays with the same learning rate and decay form one span; state is in none. */
static void make_spans(trainer *t)
{
    for (int i = 0; i < t->weights->count; i++) {
        const param_array *a = &t->weights->arrays[i];
        if (a->spec.group == PARAM_STATE) continue;
        const int decay = train_decays(a, (train_decay)t->settings.options.decay_of);
        param_span *last = t->span_count ? &t->spans[t->span_count - 1] : NULL;
        const double lr = a->spec.group == PARAM_SYSTEM ? t->settings.options.mixer_lr : 1;
        if (last && last->offset + last->count == a->offset && !last->decay == !decay
            && !(last->lr < lr) && !(last->lr > lr))
            last->count += a->count;
        else
            t->spans[t->span_count++] = (param_span){a->offset, a->count, decay, lr};
    }
}

static ssm2d_status make_state(trainer *t, ssm2d_error *error)
{
    const train_options *o = &t->settings.options;
    ssm2d_status status = weights_create(t->context, &t->settings.model, &t->weights, error);
    if (status) return status;
    const size_t count = t->weights->total, bytes = count * sizeof(float);
    train_arrays *s = &t->state.arrays;
    t->state.count = count;
    s->optimizer = optimizer_at(o->optimizer);
    s->weights = mem_alloc(t->context, bytes);
    int good = s->weights != NULL;
    for (int i = 0; i < optimizer_arrays(s->optimizer); i++)
        good &= (s->optimizer_arrays[i] = mem_alloc(t->context, bytes)) != NULL;
    s->average = o->ema > 0 ? mem_alloc(t->context, bytes) : NULL;
    t->gradients = mem_alloc(t->context, bytes);
    t->partial = mem_alloc(t->context, flat_pieces(count) * sizeof *t->partial);
    t->spans = mem_alloc(t->context, (size_t)t->weights->count * sizeof *t->spans);
    t->reports = mem_alloc(t->context, (size_t)t->cluster->size * sizeof *t->reports);
    t->losses = mem_alloc(t->context, 2 * (size_t)t->cluster->size * sizeof *t->losses);
    if (!good || (o->ema > 0 && !s->average) || !t->gradients || !t->partial || !t->spans
        || !t->reports || !t->losses)
        return fail_memory(error, "training %zu parameters", count);
    t->scores = t->losses + t->cluster->size;
    make_spans(t);
    const gradient_setup setup = {.context = t->context,
                                  .cluster = t->cluster,
                                  .graph = t->graph,
                                  .loss = t->loss,
                                  .weights = t->weights,
                                  .params = s->weights,
                                  .gradients = t->gradients,
                                  .slices = t->slices,
                                  .unordered = o->reduce == TRAIN_REDUCE_UNORDERED};
    if ((status = batch_gradient_create(&setup, &t->batch_gradient, error))) return status;
    if ((status = weights_init(t->weights, PARAM_ALL, seed_for(o->seed, SEED_WEIGHTS), s->weights,
                               error)))
        return status;
    if (s->average) memcpy(s->average, s->weights, bytes);
    return SSM2D_OK;
}

static ssm2d_status make_texts(trainer *t, ssm2d_error *error)
{
    normalisation norm = norm_of(t);
    cJSON *keys = model_config_to_json(&t->settings.model);
    t->settings_text = run_settings_text(&t->settings);
    t->model_text = keys ? cJSON_Print(keys) : NULL;
    t->data_text = run_data_text(t->task, dataset_about(t->train_data), &norm);
    cJSON_Delete(keys);
    if (!t->settings_text || !t->model_text || !t->data_text) return fail_memory(error, "settings");
    t->identity =
        (train_identity){t->settings_text, t->model_text, t->data_text, run_layout(t->weights)};
    return SSM2D_OK;
}

/* Chooses the number of slices if the settings leave it open, so that the run saves it, and refuses
 * one that the processes cannot share. */
static ssm2d_status choose_slices(trainer *t, ssm2d_error *error)
{
    enum { USUAL = 8 };
    train_options *o = &t->settings.options;
    const int size = t->cluster->size;
    if (o->reduce == TRAIN_REDUCE_UNORDERED) {
        t->slices = size;
        if (o->batch % size)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "batch=%d: is not a multiple of the %d processes", o->batch, size);
        return SSM2D_OK;
    }
    if (!o->slices && !t->cluster->launcher.name) o->slices = 1;
    if (!o->slices) {
        o->slices = max_int(USUAL, size);
        while (o->slices > size && o->batch % o->slices) o->slices /= 2;
    }
    t->slices = o->slices;
    if (o->batch % o->slices)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "batch=%d: cannot be shared by %d processes: use a multiple of them", o->batch,
                    o->slices);
    if (size & (size - 1) || o->slices % size)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "slices=%d: cannot be shared by %d processes: use a number of processes that "
                    "is a power of two and divides the slices, or start a run with other --slices "
                    "or --reduce unordered",
                    o->slices, size);
    return SSM2D_OK;
}

static ssm2d_status create(trainer *t, ssm2d_error *error)
{
    const train_options *o = &t->settings.options;
    ssm2d_status status;
    if ((status = open_data(t, error))) return status;
    if ((status = choose_slices(t, error))) return status;
    /* before the loaders: their threads allocate at any time, and oneDNN checks the free memory */
    if ((status = make_graph(t, error))) return status;
    if ((status = make_loaders(t, error))) return status;
    if ((status = make_state(t, error))) return status;
    if ((status = make_texts(t, error))) return status;
    t->epoch_steps = (long)loader_batches(t->train_loader);
    const long steps = o->epochs * t->epoch_steps;
    const double warmup = o->warmup_epochs > 0 ? o->warmup_epochs * (double)t->epoch_steps
                                               : o->warmup * (double)steps;
    const train_rates rates = train_learning_rates(o);
    t->schedule = (schedule){.kind = (schedule_kind)o->schedule,
                             .lr = rates.peak,
                             .start = rates.start,
                             .final = rates.final,
                             .warmup = lround(warmup),
                             .steps = steps,
                             .from_start = o->schedule_start == TRAIN_SCHEDULE_FROM_RUN,
                             .unit = o->lr_every == TRAIN_LR_EVERY_EPOCH ? t->epoch_steps : 1};
    t->optimizer = (optimizer_settings){.decay = o->decay,
                                        .beta1 = o->beta1,
                                        .beta2 = o->beta2,
                                        .eps = o->eps,
                                        .momentum = o->momentum,
                                        .nesterov = o->nesterov};
    return SSM2D_OK;
}

/* All processes must have the same settings, and data with the same description; the paths of the
 * data may differ from machine to machine. */
static ssm2d_status check_others(trainer *t, ssm2d_error *error)
{
    train_settings s = t->settings;
    memset(s.options.data, 0, sizeof s.options.data);
    memset(s.options.start, 0, sizeof s.options.start);
    char *text = run_settings_text(&s);
    ssm2d_status status = text ? SSM2D_OK : fail_memory(error, "settings");
    status = cluster_agree(t->cluster, status, error);
    if (!status) status = cluster_same(t->cluster, "settings", text, strlen(text), error);
    cJSON_free(text);
    if (!status)
        status = cluster_same(t->cluster, "data", t->data_text, strlen(t->data_text), error);
    return status;
}

/* Replaces auto, by what the first process measures. */
static ssm2d_status choose_precision(trainer *t, ssm2d_error *error)
{
    int *precision = &t->settings.options.precision;
    ssm2d_status status = SSM2D_OK;
    if (*precision != TRAIN_PRECISION_AUTO) return SSM2D_OK;
    if (t->cluster->rank == 0) status = precision_choose(t->context, precision, error);
    status = trainer_agree(t, status, error);
    return status || t->cluster->size == 1
               ? status
               : cluster_broadcast(t->cluster, precision, sizeof *precision, error);
}

ssm2d_status trainer_create(ssm2d_context *context, cluster *c, const train_settings *settings,
                            const run_control *control, trainer *t, ssm2d_error *error)
{
    *t = (trainer){.context = context,
                   .cluster = c,
                   .settings = *settings,
                   .control = control,
                   .saved_path = "none",
                   .save_at = INFINITY};
    ssm2d_status status = choose_precision(t, error);
    if (!status) status = trainer_agree(t, create(t, error), error);
    return status || c->size == 1 ? status : check_others(t, error);
}

void trainer_destroy(trainer *t)
{
    loader_destroy(t->train_loader);
    loader_destroy(t->choose_loader);
    dataset_close(t->train_data);
    dataset_close(t->choose_data);
    evaluator_destroy(t->evaluator);
    batch_gradient_destroy(t->batch_gradient);
    graph_destroy(t->graph);
    weights_destroy(t->weights);
    train_arrays *a = &t->state.arrays;
    for (int i = 0; i < OPTIMIZER_ARRAYS; i++) mem_free(t->context, a->optimizer_arrays[i]);
    void *const memory[] = {a->weights, a->average, t->gradients, t->partial,
                            t->spans,   t->reports, t->losses};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(t->context, memory[i]);
    cJSON_free(t->settings_text);
    cJSON_free(t->model_text);
    cJSON_free(t->data_text);
    *t = (trainer){0};
}

ssm2d_status trainer_start(trainer *t, weights_report *report, ssm2d_error *error)
{
    const train_options *o = &t->settings.options;
    const weights_options how = {.seed = seed_for(o->seed, SEED_WEIGHTS), .new_head = 1};
    train_arrays *s = &t->state.arrays;
    *report = (weights_report){0};
    if (!strcmp(o->start, "random")) return SSM2D_OK;
    ssm2d_status status = weights_load(t->weights, o->start, &how, s->weights, report, error);
    if (!status && s->average) memcpy(s->average, s->weights, t->state.count * sizeof *s->average);
    return status;
}

ssm2d_status trainer_share_state(trainer *t, ssm2d_error *error)
{
    train_state *s = &t->state;
    if (t->cluster->size == 1) return SSM2D_OK;
    const train_arrays own = s->arrays; /* pointers, which are valid in this process only */
    ssm2d_status status = cluster_broadcast(t->cluster, s, sizeof *s, error);
    s->arrays = own;
    const named_arrays list = train_arrays_list(&s->arrays);
    for (const named_array *a = list.at; a->name && !status; a++)
        status = cluster_broadcast(t->cluster, a->values, s->count * sizeof *a->values, error);
    return status;
}

ssm2d_status trainer_seek(trainer *t, ssm2d_error *error)
{
    return loader_seek(t->train_loader, (uint64_t)(t->state.step / t->epoch_steps),
                       (size_t)(t->state.step % t->epoch_steps), error);
}

float *trainer_weights(trainer *t)
{
    const train_arrays *a = &t->state.arrays;
    return a->average ? a->average : a->weights;
}
