#include "reproduce_data.h"

#include "core/status.h"
#include "core/suggest.h"
#include "data/dataset.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STAND_INS = 4 };

typedef struct known_data {
    const char *name, *help;
    size_t images;      /* published, to train on */
    const char *place;  /* of the data themselves, as NAME:FOLDER */
    const char *labels; /* how those that stand in differ in what is measured; NULL: they do not */
    const char *small[MAX_STAND_INS], *tiny[MAX_STAND_INS]; /* what may stand in, in this order */
} known_data;

#define FASHION "fashion-mnist"

static const known_data known[] = {
    {"cifar100",
     "\"CIFAR-100 binary version\" of its authors: --data cifar100=cifar100:FOLDER",
     50000,
     "cifar100:FOLDER",
     NULL,
     {"cifar10"},
     {"cifar10", FASHION}},
    {"cifar10",
     "ssm2d data get cifar10 FOLDER: --data cifar10=cifar10:FOLDER",
     50000,
     "cifar10:FOLDER",
     NULL,
     {"cifar100"},
     {"cifar100", FASHION}},
    {"lra-image",
     "the files of CIFAR-10, ssm2d data get cifar10 FOLDER: --data lra-image=lra-image:FOLDER",
     50000,
     "lra-image:FOLDER",
     NULL,
     {"cifar10"},
     {"cifar10", FASHION}},
    {"tiny-imagenet",
     "tiny-imagenet-200.zip of Stanford's CS231n: --data tiny-imagenet=tiny-imagenet:FOLDER",
     100000,
     "tiny-imagenet:FOLDER",
     NULL,
     {0},
     {0}},
    {"celeba",
     "from its authors, under their terms: --data celeba=celeba:FOLDER",
     162770,
     "celeba:FOLDER",
     "accuracies are those of one class per image, not means over attributes",
     {"cifar100", "cifar10"},
     {"cifar100", "cifar10", FASHION}},
    {"imagenet",
     "from its authors, under their terms, as train/CLASS and val/CLASS: "
     "--data imagenet=folder:FOLDER",
     1281167,
     "folder:FOLDER",
     NULL,
     {"tiny-imagenet", "cifar100", "cifar10"},
     {"tiny-imagenet", "cifar100", "cifar10", FASHION}},
    {"images",
     "any data with one class per image: ssm2d arena --data DATA, or --data images=DATA",
     0,
     "cifar10:FOLDER",
     NULL,
     {0},
     {FASHION}},
    {FASHION,
     "Debian: apt-get install dataset-fashion-mnist; else --data fashion-mnist=FOLDER",
     60000,
     FASHION,
     NULL,
     {0},
     {0}},
};
_Static_assert(sizeof known / sizeof *known == DATA_NAMES, "DATA_NAMES counts the known data");

int reproduce_data_index(const char *name)
{
    for (int i = 0; i < DATA_NAMES; i++)
        if (!strcmp(known[i].name, name)) return i;
    return -1;
}

static const known_data *find(const char *name)
{
    const int i = reproduce_data_index(name);
    return i < 0 ? NULL : &known[i];
}

const char *reproduce_data_at(int i, const char **help)
{
    if (i < 0 || i >= DATA_NAMES) return NULL;
    *help = known[i].help;
    return known[i].name;
}

ssm2d_status reproduce_data_check(const word_list *given, ssm2d_error *error)
{
    for (int i = 0; i < given->count; i++) {
        char key[OPTION_KEY], shown[OPTION_KEY];
        const char *value, *names[DATA_NAMES + 1] = {NULL};
        if (option_pair("--data", given->words[i], key, &value, NULL)) {
            char word[96];
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "--data %s: write it as NAME=DATA, such as cifar10=cifar10:FOLDER",
                        text_show(given->words[i], strlen(given->words[i]), word, sizeof word));
        }
        if (!*value || strlen(value) >= DATA_SPEC)
            return fail(error, SSM2D_ERROR_ARGUMENT, "--data %s=: %s",
                        text_show(key, strlen(key), shown, sizeof shown),
                        *value ? "the name of the folder is too long" : "give a folder after it");
        for (int k = 0; k < DATA_NAMES; k++) names[k] = known[k].name;
        const char *near = closest_name(key, names);
        if (find(key)) continue;
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--data %s=..: no experiment has data of this "
                    "name (ssm2d reproduce --help lists them)%s%s%s",
                    text_show(key, strlen(key), shown, sizeof shown), near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : "");
    }
    return SSM2D_OK;
}

/* The last that is given counts, as with other options. */
static const char *given_spec(const word_list *given, const char *name)
{
    const char *found = NULL, *value;
    char key[OPTION_KEY];
    for (int i = 0; i < given->count; i++)
        if (!option_pair("--data", given->words[i], key, &value, NULL) && !strcmp(key, name))
            found = value;
    return found;
}

/* What data are that are called `name`, when they are others than the wanted ones as far as is
 * known: data of one name may be given by another. */
static const char *stand_in_of(const char *wanted, const char *name, const char *spec)
{
    const char *kind = strcmp(name, wanted) ? name : dataset_kind(spec);
    return kind && find(kind) && strcmp(kind, wanted) ? find(kind)->name : NULL;
}

static ssm2d_status take(ssm2d_context *context, const data_search *search, const char *name,
                         const char *spec, data_choice *out, ssm2d_error *error)
{
    const data_facts *before = &search->before[reproduce_data_index(name)];
    dataset *d = NULL;
    const ssm2d_status status = dataset_open(context, spec, DATASET_TRAIN, &d, &out->gone);
    if (status && (status == SSM2D_ERROR_MEMORY || !before->images)) {
        *error = out->gone;
        return status;
    }
    out->name = name;
    snprintf(out->spec, sizeof out->spec, "%s", spec);
    out->stand_in = stand_in_of(out->wanted, name, spec);
    if (status) {
        out->facts = *before;
        return SSM2D_OK;
    }
    out->gone = (ssm2d_error){""};
    const dataset_info *info = dataset_about(d);
    out->facts = (data_facts){info->count, info->label_count, info->channels};
    dataset_close(d);
    return SSM2D_OK;
}

ssm2d_status reproduce_data_find(ssm2d_context *context, const data_search *search,
                                 const char *wanted, data_choice *out, ssm2d_error *error)
{
    const known_data *k = find(wanted);
    const char *spec = given_spec(search->given, wanted);
    *out = (data_choice){
        .wanted = k->name, .help = k->help, .published = k->images, .labels = k->labels};
    if (spec) return take(context, search, k->name, spec, out, error);
    const char *const *others = search->scale == SCALE_TINY    ? k->tiny
                                : search->scale == SCALE_SMALL ? k->small
                                                               : NULL;
    for (int i = 0; others && i < MAX_STAND_INS && others[i]; i++) {
        spec = given_spec(search->given, others[i]);
        if (spec) return take(context, search, find(others[i])->name, spec, out, error);
        if (strcmp(others[i], FASHION)) continue;
        /* it is installed rather than given, or not */
        const ssm2d_status status = take(context, search, FASHION, FASHION, out, error);
        if (!status || status == SSM2D_ERROR_MEMORY) return status;
        out->gone = (ssm2d_error){""};
    }
    if (!search->placeholder) return SSM2D_OK;
    out->is_placeholder = 1;
    out->name = k->name;
    snprintf(out->spec, sizeof out->spec, "%s", k->place);
    out->facts.images = k->images;
    return SSM2D_OK;
}
