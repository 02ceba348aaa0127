/* ssm2d zoo - the trained models that come with ssm2d. */
#include "tools/zoo_model.h"

#include "core/context.h"
#include "core/status.h"
#include "inference/trained_model.h"
#include "io/json.h"
#include "io/text.h"
#include "tools/command.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct values {
    const char *name;
    int json;
} values;

static const option options[] = {
    {"NAME", OPTION_STRING, offsetof(values, name),
     "print the card of this model: data, recipe, accuracy, licence, limits", .positional = 1,
     .optional = 1},
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print the list as JSON"},
    {0}};

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (!o->name || !o->json) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "--json: prints the list: leave out NAME");
}

/* The value of a line "- KEY: VALUE" of a card; "-" if there is none. */
enum { FACT = 96 };
static const char *fact(const char *card, const char *key, char text[FACT])
{
    const size_t length = strlen(key);
    for (const char *line = card; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "- ", 2) || strncmp(line + 2, key, length) || line[2 + length] != ':')
            continue;
        const char *value = line + 3 + length + (line[3 + length] == ' ');
        return text_show(value, strcspn(value, "\r\n"), text, FACT);
    }
    return "-";
}

static ssm2d_status print_card(const char *path, const ssm2d_model_info *info, ssm2d_error *error)
{
    if (!info->card)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the model has no card", text_path(path));
    /* line by line: text_print replaces control characters, which a file may contain */
    for (const char *line = info->card; *line;) {
        char text[1024];
        const size_t length = strcspn(line, "\n");
        text_print(stdout, text_show(line, length, text, sizeof text));
        putchar('\n');
        line += length + (line[length] == '\n');
    }
    return SSM2D_OK;
}

static int add_json(cJSON *list, const char *name, const char *path, long long bytes,
                    const ssm2d_model_info *info)
{
    char text[FACT];
    cJSON *o = cJSON_CreateObject();
    if (!o || !cJSON_AddItemToArray(list, o)) return 0;
    return cJSON_AddStringToObject(o, "name", name) && cJSON_AddStringToObject(o, "file", path)
           && cJSON_AddStringToObject(o, "data", fact(info->card, "data", text))
           && cJSON_AddStringToObject(o, "model", info->model)
           && cJSON_AddStringToObject(o, "mixer", info->mixer)
           && cJSON_AddStringToObject(o, "type", info->type)
           && cJSON_AddNumberToObject(o, "parameters", (double)info->parameters)
           && cJSON_AddNumberToObject(o, "bytes", (double)bytes)
           && cJSON_AddStringToObject(o, "accuracy", fact(info->card, "accuracy", text));
}

static void print_line(const char *name, long long bytes, const ssm2d_model_info *info)
{
    char data[FACT], accuracy[FACT], size[32];
    snprintf(size, sizeof size, "%.2f MB", (double)bytes / 1e6);
    printf("%-24s %-14s %-10s %-9s %8s  %s\n", name, fact(info->card, "data", data), info->model,
           info->type, size, fact(info->card, "accuracy", accuracy));
}

/* Opens a model, and prints its card or adds it to the list. */
static ssm2d_status show(ssm2d_context *context, const values *o, const char *name,
                         const char *path, cJSON *list, int *complete, ssm2d_error *error)
{
    ssm2d_model *m;
    struct stat file = {0};
    ssm2d_status status = model_open_run(context, path, RUN_MODEL, NULL, &m, error);
    if (status) return status;
    const ssm2d_model_info info = ssm2d_model_info_of(m);
    stat(path, &file);
    if (o->name)
        status = print_card(path, &info, error);
    else if (list)
        *complete &= add_json(list, name, path, (long long)file.st_size, &info);
    else
        print_line(name, (long long)file.st_size, &info);
    ssm2d_model_close(m);
    return status;
}

static ssm2d_status run_list(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + ZOO_NAME + 16];
    zoo_names found;
    ssm2d_error why;
    int bad = 0, complete = 1;
    ssm2d_status status = zoo_folder(folder, error);
    if (!status) status = zoo_list(folder, &found, error);
    if (status) return status;
    cJSON *list = o->json ? cJSON_CreateArray() : NULL;
    for (int i = 0; i < found.count; i++) {
        snprintf(path, sizeof path, "%s/%s.ssm2d", folder, found.names[i]);
        if (!show(context, o, found.names[i], path, list, &complete, &why)) continue;
        fflush(stdout);
        fprintf(stderr, "ssm2d zoo: %s\n", why.line);
        bad++;
    }
    if (o->json) status = result_print(list, list && complete, JSON_INDENTED, error);
    if (status || !bad) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%d of %d models cannot be opened", bad, found.count);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    char word[PATH_MAX];
    const char *path = word;
    if (!o->name) return run_list(context, o, error);
    snprintf(word, sizeof word, "%s%s", strncmp(o->name, "zoo:", 4) ? "zoo:" : "", o->name);
    const ssm2d_status status = zoo_resolve(&path, error);
    return status ? status : show(context, o, o->name, path, NULL, NULL, error);
}

static const char about[] =
    "Lists the trained models that come with ssm2d: name, data, model, element type of the weights "
    "of linear layers, size of the file, and accuracy. Every command that takes a run or a model "
    "file takes zoo:NAME:\n"
    "\n"
    "  ssm2d predict zoo:fashion-mnist photo.png\n"
    "  ssm2d zoo fashion-mnist\n"
    "\n"
    "The second command prints the model's card. The models are in the folder share/ssm2d/models "
    "beside the program's, or in the one that the environment variable SSM2D_MODELS names, which "
    "may have model files of yours (NAME.ssm2d, made by `ssm2d quantize`).";

const command command_zoo = {
    "zoo", "list trained models that come with ssm2d", about, options, check, run, 0};
