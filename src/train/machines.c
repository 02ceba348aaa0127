#include "train/machines.h"

#include "core/context.h"
#include "core/processors.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 256, MAX_MACHINES = 1000 };

static const char *const texts[] = {"ssm2d", "processor", "instruction_set", "system", "compiler"};
static const char *const counts[] = {"processors", "threads", "processes"};
enum { TEXTS = sizeof texts / sizeof *texts, COUNTS = sizeof counts / sizeof *counts };

/* ---- this machine ---------------------------------------------------------------------------- */

/* The first "model name" of /proc/cpuinfo, or the architecture. */
static void processor_name(const struct utsname *system, char text[TEXT])
{
    char line[TEXT];
    FILE *f;
    snprintf(text, TEXT, "%s", system->machine);
    if (file_open_regular("/proc/cpuinfo", &f, NULL)) return;
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(text, TEXT, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(f);
}

cJSON *machine_here(const ssm2d_context *context, int processes)
{
    struct utsname system = {.machine = "unknown"};
    char processor[TEXT], name[3 * TEXT];
    cJSON *here = cJSON_CreateObject();
    uname(&system);
    processor_name(&system, processor);
    snprintf(name, sizeof name, "%s %s %s", system.sysname, system.release, system.machine);
    if (here && cJSON_AddStringToObject(here, "ssm2d", ssm2d_version())
        && cJSON_AddStringToObject(here, "processor", processor)
        && cJSON_AddNumberToObject(here, "processors", processors_available())
        && cJSON_AddNumberToObject(here, "threads", ssm2d_context_threads(context))
        && cJSON_AddNumberToObject(here, "processes", processes)
        && cJSON_AddStringToObject(here, "instruction_set", cpu_names[context->cpu])
        && cJSON_AddStringToObject(here, "system", name)
        && cJSON_AddStringToObject(here, "compiler", __VERSION__))
        return here;
    cJSON_Delete(here);
    return NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

static const cJSON *field(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int is_count(const cJSON *object, const char *key)
{
    const cJSON *value = field(object, key);
    return cJSON_IsNumber(value) && value->valuedouble >= 0;
}

static int is_machine(const cJSON *object)
{
    int good = cJSON_IsObject(object) && is_count(object, "step") && is_count(object, "starts")
               && cJSON_IsString(field(object, "started"));
    for (int i = 0; i < TEXTS && good; i++) good = cJSON_IsString(field(object, texts[i]));
    for (int i = 0; i < COUNTS && good; i++) good = is_count(object, counts[i]);
    return good;
}

ssm2d_status machines_read(const ssm2d_context *context, const char *path, cJSON **list,
                           ssm2d_error *error)
{
    const cJSON *one;
    *list = NULL;
    if (access(path, F_OK)) return SSM2D_OK;
    ssm2d_status status = json_read_regular(context, path, list, error);
    if (status) return status;
    int good = cJSON_IsArray(*list);
    cJSON_ArrayForEach(one, *list) good = good && is_machine(one);
    if (good) return SSM2D_OK;
    cJSON_Delete(*list);
    *list = NULL;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: is not the list of machines that a run writes: rename it", text_path(path));
}

static int same_machine(const cJSON *one, const cJSON *two)
{
    int same = 1;
    for (int i = 0; i < TEXTS && same; i++)
        same = cJSON_Compare(field(one, texts[i]), field(two, texts[i]), 1);
    for (int i = 0; i < COUNTS && same; i++)
        same = cJSON_Compare(field(one, counts[i]), field(two, counts[i]), 1);
    return same;
}

/* Takes ownership of `here`. Returns 0 if out of memory. */
static int add(cJSON *list, cJSON *here, long step)
{
    char started[32];
    struct tm utc;
    const time_t now = time(NULL);
    cJSON *last = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
    if (last && same_machine(last, here)) {
        cJSON *starts = cJSON_GetObjectItemCaseSensitive(last, "starts");
        cJSON_SetNumberValue(starts, starts->valuedouble + 1);
        cJSON_Delete(here);
        return 1;
    }
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    /* limits the file of a run that a queue moves between machines for months */
    if (cJSON_GetArraySize(list) >= MAX_MACHINES) cJSON_DeleteItemFromArray(list, 1);
    if (cJSON_AddNumberToObject(here, "step", (double)step)
        && cJSON_AddNumberToObject(here, "starts", 1)
        && cJSON_AddStringToObject(here, "started", started))
        return json_add(list, NULL, here);
    cJSON_Delete(here);
    return 0;
}

ssm2d_status machines_add(const ssm2d_context *context, const char *path, long step, int processes,
                          ssm2d_error *error)
{
    cJSON *list = NULL;
    ssm2d_status status = machines_read(context, path, &list, error);
    if (status) return status;
    if (!list) list = cJSON_CreateArray();
    cJSON *here = machine_here(context, processes);
    if (!list || !here || !add(list, here, step)) {
        if (!list) cJSON_Delete(here);
        cJSON_Delete(list);
        return fail_memory(error, "writing %s", text_path(path));
    }
    return json_write(context, path, list, error);
}
