/* ssm2d train - trains a model on a data set, or resumes a run; the settings are those of
 * src/train/options.def. */
#include "core/status.h"
#include "io/text.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/model_names.h"
#include "tools/processes.h"
#include "tools/setting_hint.h"
#include "tools/stop_signals.h"
#include "train/training.h"
#include "run_name.h"
#include "train_values.h"
#include "train_view.h"

#include <stdio.h>
#include <string.h>

typedef train_values values;

_Static_assert(sizeof(values) <= COMMAND_VALUES, "COMMAND_VALUES is too small for the values");

/* Names of values in --help. */
#define TEXT   "TEXT"
#define INT    "N"
#define REAL   "X"
#define CHOICE "NAME"

static const option options[] = {
    {"out", OPTION_STRING, offsetof(values, out),
     "folder of the run: checkpoints, weights, metrics, curves (default: a new one, "
     "runs/DATA-MODEL-DATE)",
     .value = "RUN", .letter = 'o'},
    {"resume", OPTION_STRING, offsetof(values, resume),
     "resume this run with its settings, except --data (the new path of its images), --epochs (to "
     "make it longer), --workers, --memory and --bad-images",
     .value = "RUN"},
    {"overwrite", OPTION_FLAG, offsetof(values, overwrite),
     .help = "replace the run in --out, if there is one"},
    {"model", OPTION_STRING, offsetof(values, model),
     "a model, see ssm2d models (default: vit-mini)", .value = "NAME", .offers = model_name_at},
    {"mixer", OPTION_STRING, offsetof(values, mixer),
     "the mixer inside a block: ssm2d, s4nd, ema, conv or none (default: that of the model, marked "
     "by ssm2d models)",
     .value = "NAME", .offers = mixer_name_at},
    {"recipe", OPTION_STRING, offsetof(values, recipe),
     "a named list of settings, such as small or deit, which all other settings override",
     .value = "NAME", .offers = recipe_name_at},
    {"print-settings", OPTION_FLAG, offsetof(values, print_settings),
     .help = "print all settings and the origin of each, and do not train"},
    {"config", OPTION_STRING, offsetof(values, config),
     "JSON file of settings, which the options override", .value = "FILE"},
    {"set", OPTION_LIST, offsetof(values, set),
     "any setting, such as mixer.directions=2; may be repeated", .value = "KEY=VALUE"},
#define OPTION(kind, field, default_value, low, high, names, help)                                 \
    {#field,                                                                                       \
     OPTION_STRING,                                                                                \
     offsetof(values, text_##field),                                                               \
     help " (default: " default_value ")",                                                         \
     .value = kind,                                                                                \
     .fields = train_fields},
#include "train/options.def"
#undef OPTION
    {0}};

/* The options in groups, for --help=all. */
static const option_group groups[] = {{"run, model and settings", NULL},
                                      {NULL, "out"},
                                      {NULL, "resume"},
                                      {NULL, "overwrite"},
                                      {NULL, "model"},
                                      {NULL, "mixer"},
                                      {NULL, "recipe"},
                                      {NULL, "print-settings"},
                                      {NULL, "config"},
                                      {NULL, "set"},
#define GROUP(title)                                               {title, NULL},
#define OPTION(kind, field, default_value, low, high, names, help) {NULL, #field},
#include "train/options.def"
#undef OPTION
                                      {0}};

static const char *const usual[] = {
    "data",    "model",        "out",        "resume",         "epochs",
    "batch",   "lr",           "seed",       "mixer",          "recipe",
    "set",     "config",       "start",      "memory",         "overwrite",
    "workers", "val_fraction", "bad_images", "print-settings", "save_minutes",
    NULL};

#undef TEXT
#undef INT
#undef REAL
#undef CHOICE

/* ---- settings -------------------------------------------------------------------------------- */

/* Whether an option may be given with --resume. */
static int may_change(const char *field)
{
    return !strcmp(field, "data") || !strcmp(field, "epochs") || !strcmp(field, "workers")
           || !strcmp(field, "memory") || !strcmp(field, "bad_images");
}

static train_changes changes_of(const values *o)
{
    return (train_changes){.data = o->text_data,
                           .epochs = o->text_epochs,
                           .workers = o->text_workers,
                           .memory = o->text_memory,
                           .bad_images = o->text_bad_images};
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    train_settings s;
    const train_changes changes = changes_of(o);
    char name[OPTION_KEY], written[OPTION_KEY + 2];
    const char *other = o->out              ? "--out"
                        : o->config         ? "--config"
                        : o->recipe         ? "--recipe"
                        : o->model          ? "--model"
                        : o->mixer          ? "--mixer"
                        : o->set.count      ? "--set"
                        : o->overwrite      ? "--overwrite"
                        : o->print_settings ? "--print-settings"
                                            : NULL;
#define OPTION(kind, field, default_value, low, high, names, help)                                 \
    if (o->text_##field && !other && !may_change(#field)) {                                        \
        snprintf(written, sizeof written, "--%s", option_name(&(option){.name = #field}, name));   \
        other = written;                                                                           \
    }
#include "train/options.def"
#undef OPTION
    if (o->resume)
        return other ? fail(error, SSM2D_ERROR_ARGUMENT,
                            "%s cannot be combined with --resume: a run keeps its settings, except "
                            "--data, --epochs, --workers, --memory and --bad-images",
                            other)
                     : train_changes_check(&changes, error);
    if (o->overwrite && !o->out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--overwrite needs --out: name the run that it may replace");
    if (o->recipe && !recipe_find(o->recipe, error)) return SSM2D_ERROR_ARGUMENT;
    if (o->config) return SSM2D_OK; /* checked later, with the settings of that file */
    ssm2d_status status = train_values_settings(NULL, o, &s, error);
    return status ? status : train_options_check(&s.options, error);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Creates a folder for a run without --out. Only the first process uses it. */
static ssm2d_status name_folder(const train_settings *s, const run_control *hooks,
                                char folder[RUN_PATH], ssm2d_error *error)
{
    if (hooks->cluster->rank) {
        snprintf(folder, RUN_PATH, "runs");
        return SSM2D_OK;
    }
    const ssm2d_status status = run_name_make(s, folder, error);
    if (!status) printf("the folder of the run is %s; --out chooses another\n", folder);
    return status;
}

static ssm2d_status start(ssm2d_context *context, const values *o, run_control *hooks,
                          char folder[RUN_PATH], train_result *result, ssm2d_error *error)
{
    train_settings s;
    char checked[RUN_PATH];
    ssm2d_status status = train_values_settings(context, o, &s, error);
    if (!status) status = train_options_check(&s.options, error);
    stop_signals_catch(); /* not earlier: if --config is a pipe, reading it may never end */
    if (!status && o->out && !o->overwrite && hooks->cluster->rank == 0 && run_exists(o->out)
        && !run_not_begun(o->out))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: has a run already: --resume continues it, --overwrite replaces it",
                      text_path(o->out));
    if (!status && !o->out) status = name_folder(&s, hooks, folder, error);
    if ((status = cluster_agree(hooks->cluster, status, error))) return status;
    if (hooks->cluster->rank == 0 && dataset_format_of(s.options.data) == FORMAT_PHOTOS)
        hooks->checked = checked_images_path(s.options.data, checked);
    status =
        (o->overwrite ? train_replace : train_begin)(context, folder, &s, hooks, result, error);
    hooks->checked = NULL;
    if (!o->out && hooks->cluster->rank == 0) run_name_undo(folder);
    return status;
}

static ssm2d_status resume(ssm2d_context *context, const values *o, const run_control *hooks,
                           train_result *result, ssm2d_error *error)
{
    const train_changes changes = changes_of(o);
    stop_signals_catch();
    return train_resume_changed(context, o->resume, &changes, hooks, result, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    char folder[RUN_PATH] = "";
    const char *given = o->resume ? o->resume : o->out;
    if (given && snprintf(folder, sizeof folder, "%s", given) >= (int)sizeof folder)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name of the folder is too long",
                    text_path(given));
    if (o->print_settings) return train_values_print(context, o, error);
    train_view view;
    train_result result;
    train_view_open(&view, ssm2d_context_threads(context));
    view.processes = processes()->size;
    run_control hooks = {&view,
                         stop_requested,
                         train_view_start,
                         train_view_step,
                         train_view_testing,
                         train_view_epoch,
                         .checking = train_view_checking};
    if (processes()->rank) hooks = (run_control){.stop = stop_requested};
    hooks.cluster = processes();
    ssm2d_status status = o->resume ? resume(context, o, &hooks, &result, error)
                                    : start(context, o, &hooks, folder, &result, error);
    train_view_close(&view);
    if (status) return status;
    if (result.stopped && !result.begun)
        return stop_signals_end(error, "stopped by a signal before the run began");
    if (result.stopped)
        return stop_signals_end(
            error, "stopped by a signal; step %ld is saved: continue with ssm2d train --resume %s",
            result.step, text_path(folder));
    train_view_end(&view, folder, &result);
    return SSM2D_OK;
}

static const char brief[] =
    "Trains a vision transformer on images, and writes everything into the folder of the run. Your "
    "own images are a folder with a subfolder of images for each class:\n"
    "\n"
    "  ssm2d train --data photos\n"
    "  ssm2d predict runs/photos-vit-mini-2026-11-18 new.jpg more-photos\n"
    "  ssm2d train --resume runs/photos-vit-mini-2026-11-18\n"
    "\n"
    "Settings that are not given are chosen to fit the images; the first lines of output list "
    "them. Ctrl-C writes a checkpoint before it exits; --resume continues from it, as if there had "
    "been no interruption.";

static const char about[] =
    "Trains a vision transformer on a data set and writes everything into the folder of the "
    "run:\n"
    "\n"
    "  train.json, config.json, data.json   settings, model, data\n"
    "  last.safetensors                     latest checkpoint, for --resume\n"
    "  model.safetensors, best.safetensors  weights of the latest and the best epoch\n"
    "  metrics.jsonl, curves.svg            losses and metrics, and their curves\n"
    "  machines.json                        machines and versions that trained it\n"
    "\n"
    "A run that was interrupted, even killed, resumes from its last checkpoint and ends with "
    "the weights that it would have had without the interruption: the same seed gives the "
    "same weights to the bit, on any number of threads. Ctrl-C writes a checkpoint before it "
    "exits, with code 130 (SIGTERM: 143). A resumed run uses the settings in last.safetensors; "
    "train.json shows them.\n"
    "\n"
    "Settings are the options below; those of the augmentations at the end, which change the "
    "training images at random and help in longer runs, such as flip=true, crop_padding=4; "
    "and the keys of a model (dim, depth, pos_embed, drop_path, mixer.init, mixer.values ..: "
    "see ssm2d models --keys). A file for --config has them as keys of one JSON object, with "
    "_ in place of -, and those of the mixer in an object \"mixer\". Settings override earlier "
    "ones in this order: --recipe, --config, --model, --mixer, --set, other options. The model is "
    "chosen first, wherever its name is given; --print-settings shows the result.\n"
    "\n"
    "For image folders and idx files, settings that are not given are chosen to fit the data: a "
    "batch that gives 10 steps per epoch, and epochs for at least 300 steps; for image folders "
    "also flip=true, resized_crop and bad_images=few. Without test or validation images a tenth is "
    "held out. A recipe sets batch, epochs and augmentation, and named data sets keep the defaults "
    "below. The first lines of output list the chosen settings.\n"
    "\n"
    "Images are resized to the model's image size (image=32, or image=[24,40]). When not given, it "
    "is the size of the data's images if they all have the same size and it can be cut into "
    "patches; otherwise that of the model, as for image folders, whose images may have any size. "
    "Image folders have 3 channels unless channels=1 is given, and are normalised with ImageNet's "
    "mean and standard deviation; other data with their own. Images are rotated by their EXIF "
    "orientation, and transparent pixels become white. Non-image files in an image folder (ssm2d "
    "version lists the formats) are counted and ignored. Images that do not fill the last batch of "
    "an epoch are left out, different ones in each epoch.";

/* Lists data sets, recipes and augmentations. */
static void more_help(const help_page *page)
{
    const char *name, *help;
    const augmentation *a;
    help_heading(page, "names for --data");
    for (int i = 0; dataset_get(i, &name, &help); i++) help_entry(page, name, help);
    help_heading(page, "names for --recipe");
    for (int i = 0; recipe_at(i); i++) help_entry(page, recipe_at(i)->name, recipe_at(i)->help);
    help_heading(page, "augmentations, for --set and --config");
    for (int i = 0; (a = augmentation_at(i)); i++) help_fields(page, a->fields);
}

const command command_train = {.name = "train",
                               .summary = "train a model on images, or resume a run",
                               .about = about,
                               .options = options,
                               .check = check_values,
                               .run = run,
                               .more_help = more_help,
                               .setting = setting_of_run,
                               .several = SEVERAL_TOGETHER,
                               .brief = brief,
                               .usual = usual,
                               .groups = groups};
