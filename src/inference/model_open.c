/* model_open - opens a trained model: from the files of a run, or from a configuration and
 * weights. */
#include "core/context.h"
#include "core/float_mode.h"
#include "core/sized.h"
#include "core/status.h"
#include "inference/model_file.h"
#include "inference/model_open_impl.h"
#include "io/field_json.h"
#include "io/json.h"
#include "io/text.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- settings of a run ----------------------------------------------------------------------- */

/* The model's configuration has its own file, in which unknown keys are refused. */
static ssm2d_status read_config(const ssm2d_context *context, const char *path,
                                model_config *config, ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (!status) status = model_config_from_json(path, root, NULL, config, error);
    cJSON_Delete(root);
    return status;
}

static const ssm2d_field loss_field = {.name = "loss",
                                       .kind = SSM2D_KIND_CHOICE,
                                       .default_value = "cross-entropy",
                                       .names = loss_names};

ssm2d_status model_read_settings(const char *name, const cJSON *root, ssm2d_model *m,
                                 ssm2d_error *error)
{
    const field_source from = {.where = text_path(name)};
    field_group groups[MAX_AUGMENTATIONS + 1] = {{0}};
    int loss = LOSS_CROSS_ENTROPY;
    ssm2d_status status = SSM2D_OK;
    if (!cJSON_IsObject(root))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not an object {..} of settings",
                    text_path(name));
    m->augment = augment_options_default();
    augment_options_groups(0, groups);
    for (const cJSON *item = root->child; item && !status; item = item->next) {
        void *config = &m->augment;
        const ssm2d_field *f = field_find_in(groups, item->string, &config);
        if (f) status = field_from_json(from, f, item, config, error);
        if (!strcmp(item->string, loss_field.name))
            status = field_from_json(from, &loss_field, item, &loss, error);
    }
    m->loss = (loss_kind)loss;
    return status;
}

static ssm2d_status read_settings(const char *path, ssm2d_model *m, ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read_regular(m->context, path, &root, error);
    if (!status) status = model_read_settings(path, root, m, error);
    cJSON_Delete(root);
    return status;
}

ssm2d_status model_check_run(const char *name, const model_parts *parts, const ssm2d_model *m,
                             ssm2d_error *error)
{
    const int channels = m->config.channels;
    const task *t = m->data.task;
    if (m->config.outputs != m->data.outputs)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"" OUTPUTS_KEY "\" of %s is %d, but %s names %d", text_path(name),
                    parts->config, m->config.outputs, parts->data, m->data.outputs);
    if (channels != 1 && channels != 3)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"channels\" of %s is %d: images have 1 or 3",
                    text_path(name), parts->config, channels);
    if (!task_allows_loss(t, m->loss))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: the task of %s is %s, for which \"loss\" of %s has to be %s",
                    text_path(name), parts->data, t->name, parts->settings,
                    loss_at(t->losses[0])->name);
    ssm2d_error why;
    const ssm2d_status status = augment_options_check(&m->augment, &why);
    return status ? fail(error, status, "%s: %s: %s", text_path(name), parts->settings, why.line)
                  : SSM2D_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A configuration may ask for any amount of memory. It is believed only if the file of weights is
 * large enough for it: an element takes at least one byte. Mixers and arrays for another grid,
 * which may differ from the file, are not counted. */
static ssm2d_status check_file_size(const ssm2d_model *m, const char *name, const char *path,
                                    ssm2d_error *error)
{
    struct stat info;
    size_t elements = 0;
    for (int i = 0; i < m->weights->count; i++) {
        const param_array *a = &m->weights->arrays[i];
        if (a->spec.part != PARAM_MIXER && (m->is_run || a->spec.resize == PARAM_KEEP))
            elements += a->count;
    }
    if (stat(path, &info) || !S_ISREG(info.st_mode) || (size_t)info.st_size >= elements)
        return SSM2D_OK; /* otherwise reading reports the error */
    return fail(
        error, SSM2D_ERROR_ARGUMENT,
        "%s: has %lld bytes, but the model of %s has at least %zu parameters: they do not belong "
        "together",
        text_path(path), (long long)info.st_size, text_path(name), elements);
}

ssm2d_status model_allocate_params(ssm2d_model *m, const char *name, const char *path,
                                   ssm2d_error *error)
{
    ssm2d_error why;
    ssm2d_status status = model_config_finish(&m->config, &why);
    if (!status) status = weights_create(m->context, &m->config, &m->weights, &why);
    if (status) return fail(error, status, "%s: %s", text_path(name), why.line);
    if (path && (status = check_file_size(m, name, path, error))) return status;
    m->params = mem_alloc(m->context, m->weights->total * sizeof *m->params);
    return m->params ? SSM2D_OK
                     : fail_memory(error, "%s: %zu parameters", text_path(name), m->weights->total);
}

/* Refuses files without the mixers' arrays: those mixers would be untrained. */
static ssm2d_status load_weights(ssm2d_model *m, const char *name, const char *path,
                                 const weights_options *options, weights_report *report,
                                 ssm2d_error *error)
{
    weights_report own;
    ssm2d_status status =
        weights_load(m->weights, path, options, m->params, report ? report : &own, error);
    if (!status && !report && own.new_mixer_arrays)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has no arrays of the mixer %s, which the model of %s has", text_path(path),
                    m->config.mixer.kind->name, text_path(name));
    return status;
}

ssm2d_status model_resize(ssm2d_model *m, const char *name, const int image[2], ssm2d_error *error)
{
    if (!image || !image[0] || (image[0] == m->config.image[0] && image[1] == m->config.image[1]))
        return SSM2D_OK;
    weights *old = m->weights;
    float *params = m->params;
    m->weights = NULL;
    m->params = NULL;
    ssm2d_status status = model_config_resize(&m->config, image, error);
    if (!status) status = model_allocate_params(m, name, NULL, error);
    if (!status) status = weights_resize(old, params, m->weights, m->params, error);
    for (int i = 0; !status && i < m->weights->count; i++) {
        const param_array *a = &m->weights->arrays[i], *before = weights_find(old, a->name);
        if (a->spec.resize == PARAM_KEEP) continue;
        m->resized |= memcmp(&a->spec.grid, &before->spec.grid, sizeof a->spec.grid) != 0;
    }
    mem_free(m->context, params);
    weights_destroy(old);
    return status;
}

static ssm2d_status begin(ssm2d_context *context, ssm2d_model **out, ssm2d_error *error)
{
    *out = mem_alloc(context, sizeof **out);
    if (!*out) return fail_memory(error, "model");
    (*out)->context = context;
    return SSM2D_OK;
}

/* The end of all functions that open a model: *out is a complete model, or NULL. */
static ssm2d_status finish(ssm2d_status status, ssm2d_model **out)
{
    if (!status) return status;
    ssm2d_model_close(*out);
    *out = NULL;
    return status;
}

static ssm2d_status open_run(ssm2d_model *m, const char *folder, run_file which, const int image[2],
                             ssm2d_error *error)
{
    char path[RUN_PATH];
    ssm2d_status status;
    static const model_parts parts = {"config.json", "data.json", "train.json"};
    if (!run_exists(folder)) return run_refuse(folder, error);
    m->is_run = 1;
    m->which = which;
    if ((status = run_path(folder, RUN_TRAIN, path, error))
        || (status = read_settings(path, m, error))
        || (status = run_path(folder, RUN_CONFIG, path, error))
        || (status = read_config(m->context, path, &m->config, error))
        || (status = run_data_read(m->context, folder, &m->data, error))
        || (status = model_check_run(folder, &parts, m, error))
        || (status = run_path(folder, which, path, error)))
        return status;
    if (access(path, F_OK))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: does not exist yet: it is written at the end of an epoch",
                    text_path(path));
    m->config.head = m->data.task->head;
    if ((status = model_allocate_params(m, folder, path, error))) return status;
    status = load_weights(m, folder, path, NULL, NULL, error);
    return status ? status : model_resize(m, folder, image, error);
}

ssm2d_status model_open_run(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], ssm2d_model **out, ssm2d_error *error)
{
    ssm2d_status status = begin(context, out, error);
    if (status) return status;
    status = model_file_is(folder) ? model_file_read(*out, folder, image, error)
                                   : open_run(*out, folder, which, image, error);
    return finish(status, out);
}

static ssm2d_status open_weights(ssm2d_model *m, const char *name, const char *path,
                                 const weights_options *options, weights_report *report,
                                 ssm2d_error *error)
{
    const ssm2d_status status = model_allocate_params(m, name, path, error);
    return status ? status : load_weights(m, name, path, options, report, error);
}

ssm2d_status model_open_weights(ssm2d_context *context, const char *name,
                                const model_config *config, const char *path,
                                const weights_options *options, weights_report *report,
                                ssm2d_model **out, ssm2d_error *error)
{
    ssm2d_status status = begin(context, out, error);
    if (status) return status;
    (*out)->config = *config;
    return finish(open_weights(*out, name, path, options, report, error), out);
}

ssm2d_status model_open_new(ssm2d_context *context, const model_config *config, uint64_t seed,
                            ssm2d_model **out, ssm2d_error *error)
{
    ssm2d_status status = begin(context, out, error);
    if (status) return status;
    (*out)->config = *config;
    status = model_allocate_params(*out, "model", NULL, error);
    if (!status) status = weights_init((*out)->weights, PARAM_ALL, seed, (*out)->params, error);
    return finish(status, out);
}

/* ---- the public functions -------------------------------------------------------------------- */

void ssm2d_model_options_init(ssm2d_model_options *options, size_t size)
{
    const ssm2d_model_options defaults = {0};
    sized_init(options, size, &defaults, sizeof defaults);
}

/* The context of a model has one thread; sessions have their own. */
static ssm2d_status start(const char *path, const ssm2d_model_options *options, ssm2d_model **out,
                          ssm2d_model_options *o, ssm2d_context **context, ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_model_options), 0};
    ssm2d_status status = SSM2D_OK;
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "model=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!path) return fail(error, SSM2D_ERROR_ARGUMENT, "the name of a file is NULL");
    *o = (ssm2d_model_options){0};
    if (options) status = sized_read(o, options, sizes, "model_options", error);
    if (status) return status;
    if (o->weights != SSM2D_MODEL_LAST && o->weights != SSM2D_MODEL_BEST)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "weights=%d: use SSM2D_MODEL_LAST or SSM2D_MODEL_BEST", (int)o->weights);
    const ssm2d_context_options c = {.size = sizeof c,
                                     .threads = 1,
                                     .cpu = o->cpu,
                                     .allocate = o->allocate,
                                     .release = o->release,
                                     .user = o->user};
    return ssm2d_context_create(&c, context, error);
}

/* Hands the context over to the model, or destroys it on failure. */
static ssm2d_status hand_over(ssm2d_status status, ssm2d_context *context, ssm2d_model *m)
{
    if (status)
        ssm2d_context_destroy(context);
    else
        m->owns_context = 1;
    return status;
}

static ssm2d_status open_folder(const char *folder, const ssm2d_model_options *options,
                                ssm2d_model **out, ssm2d_error *error)
{
    ssm2d_model_options o;
    ssm2d_context *context;
    ssm2d_status status = start(folder, options, out, &o, &context, error);
    if (status) return status;
    status = model_open_run(context, folder, o.weights == SSM2D_MODEL_BEST ? RUN_BEST : RUN_MODEL,
                            NULL, out, error);
    return hand_over(status, context, *out);
}

static ssm2d_status open_files(const char *config, const char *path,
                               const ssm2d_model_options *options, ssm2d_model **out,
                               ssm2d_error *error)
{
    ssm2d_model_options o;
    ssm2d_context *context;
    model_config c = {0};
    ssm2d_status status = start(path ? config : NULL, options, out, &o, &context, error);
    if (status) return status;
    status = read_config(context, config, &c, error);
    if (!status) status = model_open_weights(context, config, &c, path, NULL, NULL, out, error);
    return hand_over(status, context, *out);
}

ssm2d_status ssm2d_model_open(const char *folder, const ssm2d_model_options *options,
                              ssm2d_model **out, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = open_folder(folder, options, out, error);
    float_mode_restore(before);
    return status;
}

ssm2d_status ssm2d_model_open_files(const char *config, const char *path,
                                    const ssm2d_model_options *options, ssm2d_model **out,
                                    ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = open_files(config, path, options, out, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_model_close(ssm2d_model *m)
{
    if (!m) return;
    ssm2d_context *context = m->context, *own = m->owns_context ? context : NULL;
    weights_destroy(m->weights);
    mem_free(context, m->params);
    mem_free(context, m->card);
    mem_free(context, m->quantized);
    run_data_free(context, &m->data);
    mem_free(context, m);
    ssm2d_context_destroy(own);
}

/* ---- properties of a model ------------------------------------------------------------------- */

const char *ssm2d_model_version(void) { return SSM2D_VERSION; }

void ssm2d_model_info_get(const ssm2d_model *m, ssm2d_model_info *info)
{
    const model_config *c = &m->config;
    const model_family *family = c->model->family;
    const task *t = m->data.task ? m->data.task : &task_classification;
    const ssm2d_model_info i = {.model = c->model->name,
                                .family = family->name,
                                .mixer = c->mixer.kind->name,
                                .task = t->name,
                                .outputs = c->outputs,
                                .activation = loss_at(m->loss)->activation,
                                .rows = c->image[0],
                                .cols = c->image[1],
                                .channels = c->channels,
                                .parameters = m->weights->learned,
                                .blocks = family->tokens && family->depth ? family->depth(c) : 0,
                                .type = element_name(m->type),
                                .card = m->card};
    sized_init(info, info->size, &i, sizeof i);
}

const char *ssm2d_model_output_name(const ssm2d_model *m, int i)
{
    return i >= 0 && m->data.names && i < m->data.outputs ? m->data.names[i] : NULL;
}
