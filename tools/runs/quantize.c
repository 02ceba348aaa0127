/* ssm2d quantize - writes the model of a run as one file, with smaller element types. */
#include "core/context.h"
#include "core/status.h"
#include "inference/model_file.h"
#include "io/file.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *run, *weights, *output, *type, *card;
    int force;
} values;

static const struct {
    const char *name;
    element_type type;
} types[] = {{"bf16", ELEMENT_BFLOAT16}, {"float32", ELEMENT_REAL}};
enum { TYPES = sizeof types / sizeof *types };

static const char *type_at(int i) { return i < TYPES ? types[i].name : NULL; }

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run, or a model file",
     .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "file to write: .ssm2d or .safetensors",
     .value = "FILE", .letter = 'o', .required = 1},
    {"type", OPTION_CHOICE, offsetof(values, type),
     "element type of the weights of linear layers: bf16 (bfloat16) or float32", .choice = type_at,
     .default_value = "bf16"},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "weights of the latest or the best epoch (last when not given)", .choice = run_weights_at},
    {"card", OPTION_STRING, offsetof(values, card),
     "text file that describes the model, UTF-8, which becomes part of the file", .value = "FILE"},
    {"force", OPTION_FLAG, offsetof(values, force), .help = "replace an existing file"},
    {0}};

enum { MAX_CARD = 1 << 20 };

static element_type type_of(const values *o)
{
    int i = 0;
    while (strcmp(types[i].name, o->type)) i++;
    return types[i].type;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (text_has_extension(o->output, ".ssm2d") || text_has_extension(o->output, ".safetensors"))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .ssm2d or .safetensors",
                text_path(o->output));
}

/* Reads the text of --card, which the caller frees with mem_free; NULL: there is none. */
static ssm2d_status read_card(ssm2d_context *context, const char *path, char **text,
                              ssm2d_error *error)
{
    size_t size;
    *text = NULL;
    if (!path) return SSM2D_OK;
    const ssm2d_status status = file_read_regular(context, path, MAX_CARD, text, &size, error);
    if (status) return status;
    for (const char *at = *text; at < *text + size; at += text_utf8(at))
        if (!*at || !text_utf8(at))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: byte %zu is not UTF-8 text",
                        text_path(path), (size_t)(at - *text));
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_model *m = NULL;
    run_file which;
    char *card = NULL;
    ssm2d_status status = written_check(o->output, o->force, error);
    if (!status) status = run_weights_choose(o->run, o->weights, &which, error);
    if (!status) status = read_card(context, o->card, &card, error);
    if (!status) status = model_open_run(context, o->run, which, NULL, &m, error);
    if (!status) status = model_file_write(m, o->output, type_of(o), card, error);
    if (!status)
        written_print(o->output, "%s, %zu parameters in %s", m->config.model->name,
                      m->weights->learned, element_name(type_of(o)));
    mem_free(context, card);
    ssm2d_model_close(m);
    return status;
}

static const char about[] =
    "Writes the model of a run as one file, which has all that is needed to use it: weights, "
    "configuration, names of the outputs, and how images are prepared. `predict`, `eval` (with "
    "--data), `run`, `export`, `kernels`, ssm2d_model_open in C and load_run in Python take it in "
    "place of the run's folder:\n"
    "\n"
    "  ssm2d quantize runs/demo -o demo.ssm2d\n"
    "  ssm2d predict demo.ssm2d photo.png\n"
    "\n"
    "The weights of linear layers are stored in the element type of --type, everything else in "
    "float32. The file is a safetensors file, and does not name the training data.";

const command command_quantize = {
    "quantize", "write a trained model as one small file", about, options, check_values, run, 0};
